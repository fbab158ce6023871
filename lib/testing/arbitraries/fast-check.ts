import { createRequire } from "node:module";

export type FastCheck = typeof import("fast-check");

/** Loaded at the first use, without waiting: arbitraries are made synchronously. */
export function fastCheck(): FastCheck {
  return createRequire(import.meta.url)("fast-check");
}
