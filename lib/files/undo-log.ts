import type { Splice } from "./splices.ts";

/** Past this size a pre-image is not held in memory. */
export const LARGE = 8 * 1024 * 1024;
/** What all pre-images of one agent may take in memory; the oldest go first. */
const TOTAL = 64 * 1024 * 1024;

/** The old bytes of a change; those of a large file are not kept. */
type PreImage =
  | { readonly kind: "bytes"; readonly bytes: Uint8Array }
  | { readonly kind: "absent" }
  | { readonly kind: "dropped"; readonly why: string };

/** One change a tool made, with what is needed to take it back. The new bytes follow from the old and the splices. */
export interface UndoEntry {
  readonly path: string;
  readonly real: string;
  readonly cwd: string;
  before: PreImage;
  readonly splices: readonly Splice[];
}

const KEY = "crochet.undo";

/** The changes of one agent that were not undone, oldest first. */
export function undoLog(state: Map<string, unknown>): UndoEntry[] {
  let log = state.get(KEY) as UndoEntry[] | undefined;
  if (log === undefined) state.set(KEY, log = []);
  return log;
}

export function logChange(state: Map<string, unknown>, entry: UndoEntry): void {
  const log = undoLog(state);
  log.push(entry);
  let held = 0;
  for (const kept of log.toReversed()) {
    if (kept.before.kind !== "bytes") continue;
    held += kept.before.bytes.length;
    if (held > TOTAL) kept.before = { kind: "dropped", why: "later edits took its place in the undo log" };
  }
}

/** What is kept of a file that is about to change. */
export function preImageOf(bytes: Uint8Array | undefined): PreImage {
  if (bytes === undefined) return { kind: "absent" };
  return bytes.length <= LARGE ? { kind: "bytes", bytes } : { kind: "dropped", why: "the file is over 8 MiB" };
}
