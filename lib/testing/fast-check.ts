import { createRequire } from "node:module";

export type FastCheck = typeof import("fast-check");

/** Loaded at the first use, without waiting: arbitraries are made synchronously. */
export function fastCheck(): FastCheck {
  return createRequire(import.meta.url)("fast-check");
}

/** Not below 0, as `--seed -1` would read as a flag. */
export function newSeed(): number {
  return Math.floor(Math.random() * 0x7fff_ffff);
}
