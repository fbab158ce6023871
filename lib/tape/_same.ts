import { comparable, unmarked } from "./canonical.ts";
import type { TapeRequest } from "./tape.ts";

/** Whether two values of JSON are the same, at a glance: false also where a closer look could find them the same. */
export function isSame(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Array.isArray(a)) {
    if (!Array.isArray(b) || a.length !== b.length) return false;
    for (let i = 0; i < a.length; i++) if (!isSame(a[i], b[i])) return false;
    return true;
  }
  let keys = 0;
  for (const key in a) {
    if (!isSame((a as { [key: string]: unknown })[key], (b as { [key: string]: unknown })[key])) return false;
    keys++;
  }
  for (const _ in b) keys--;
  return keys === 0;
}

/** Whether two requests are the same to a tape, at a glance. */
export function isSameRequest(a: TapeRequest, b: TapeRequest): boolean {
  return a.model === b.model && isSame(a.params, b.params) && isSame(a.system.map(unmarked), b.system.map(unmarked)) &&
    isSame(a.tools.map(unmarked), b.tools.map(unmarked)) && a.messages.length === b.messages.length &&
    a.messages.every((message, i) => isSame(comparable(message), comparable(b.messages[i]!)));
}
