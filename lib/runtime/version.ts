import { readFileSync } from "node:fs";
import { quietly } from "../core/json.ts";
import { PACKAGE } from "./own-copy.ts";

/** The version of this package; unknown in a bundle. */
export function crochetVersion(): string {
  return quietly(() => JSON.parse(readFileSync(`${PACKAGE}/package.json`, "utf8")).version) ?? "bundled";
}

/** What it runs on: `bun 1.4.4`. */
export function runtimeVersion(): string {
  const { bun, deno, node } = process.versions;
  return bun ? `bun ${bun}` : deno ? `deno ${deno}` : `node ${node}`;
}
