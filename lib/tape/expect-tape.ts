import { shown } from "../core/shown.ts";
import type { Tape } from "./tape.ts";

/** @throws {TypeError} where something else is given: most tests run without a check of their types */
export function expectTape(given: unknown, doing: string): void {
  if (Array.isArray((given as Tape | undefined)?.calls)) return;
  const what = given instanceof Promise ? "a promise" : shown(given);
  throw new TypeError(`Cannot ${doing} as ${what} is no tape: await readTape("fixtures/<name>")`);
}
