import { createRequire } from "node:module";

export type FastCheck = typeof import("fast-check");

/** The installed one, else the bundled one. Loaded when it is asked for, at once: an arbitrary cannot be waited for. */
export function fastCheck(): FastCheck {
  const require = createRequire(import.meta.url);
  try {
    return require("fast-check");
  } catch {
    return require("../../../dist/fast-check-4.10.2.js");
  }
}
