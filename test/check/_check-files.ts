import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { scratch } from "../_scratch.ts";

/** Real processes on a busy machine. */
export const SLOW = { timeout: 120_000 };

/** A folder of hook files that goes when the test ends; shell scripts are programs there. */
export function hookFiles(files: { readonly [name: string]: string }): { path: string } & Disposable {
  const folder = scratch();
  for (const [name, text] of Object.entries(files)) {
    const path = join(folder.path, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
    if (text.startsWith("#!")) chmodSync(path, 0o755);
  }
  return folder;
}

/** A shell script that has read its event. */
export const sh = (...lines: readonly string[]) => ["#!/bin/sh", "event=$(cat)", ...lines, ""].join("\n");

/** Settings of a host with one hook. */
export const settings = (event: string, hook: object, matcher?: string) =>
  JSON.stringify({ hooks: { [event]: [{ ...(matcher && { matcher }), hooks: [{ type: "command", ...hook }] }] } });
