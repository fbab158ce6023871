import { createRequire } from "node:module";

export type FastCheck = typeof import("fast-check");

/** Loaded when it is asked for, at once: an arbitrary cannot be waited for, and not everybody has fast-check. */
export function fastCheck(): FastCheck {
  try {
    return createRequire(import.meta.url)("fast-check");
  } catch (cause) {
    throw new TypeError("Cannot make an arbitrary as 'fast-check' could not be loaded: install it", { cause });
  }
}
