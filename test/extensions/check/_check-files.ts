import assert from "node:assert/strict";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { checkHook, type CheckReport } from "../../../lib/testing/index.ts";
import { scratch } from "../../_scratch.ts";

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

type Options = Parameters<typeof checkHook>[1];

/** The codes that are found of each hook in a folder, by its name. */
export async function codes(files: { readonly [name: string]: string }, options: Options = {}) {
  const { hooks } = await checked(files, options);
  return Object.fromEntries(hooks.map(({ hook, findings }) => [hook, findings.map(({ code }) => code).join()]));
}

export async function checked(files: { readonly [name: string]: string }, options: Options = {}): Promise<CheckReport> {
  using folder = hookFiles(files);
  return await checkHook(folder.path, {
    runs: 8,
    seed: 1,
    timeout: 20,
    time: 600,
    rounds: 10,
    cwd: folder.path,
    ...options,
  });
}

/** What the law finds of each hook of a folder: the code and the message. */
export async function races(files: { readonly [name: string]: string }, seed = 1): Promise<Record<string, string>> {
  using folder = hookFiles(files);
  const options = { runs: 0, seed, laws: ["concurrent"] as const, timeout: 20, time: 600, cwd: folder.path };
  const { hooks, problems } = await checkHook(folder.path, options);
  assert.deepEqual(problems, []);
  return Object.fromEntries(hooks.map(({ hook, findings, unchecked }) => [
    hook,
    [unchecked, ...findings.map(({ severity, code, message }) => `${severity} ${code}: ${message}`)].join(""),
  ]));
}
