import { readFile, realpath } from "node:fs/promises";
import { resolve } from "node:path";
import { getOrMake } from "../core/maps.ts";
import { sha256 } from "../runtime/sha256.ts";
import type { Splice } from "./text-bytes.ts";

/** What tools of one agent share: see `ToolContext.state`. */
type State = Map<string, unknown>;

const READ = "crochet.read-record";

interface ReadState {
  readonly size: number;
  readonly hash: string;
}

/** Remembers the bytes of a file as the model has seen them, by their hash. `real` is the file's real path. */
export function recordRead(state: State, real: string, bytes: Uint8Array | Iterable<Uint8Array>): void {
  recordOf(state).set(real, seen(bytes instanceof Uint8Array ? [bytes] : bytes));
}

/** Whether the bytes are other than those last seen; undefined if the file was never read. */
export function changedSinceRead(state: State, real: string, bytes: Uint8Array): boolean | undefined {
  const last = recordOf(state).get(real);
  if (last === undefined) return undefined;
  return last.size !== bytes.length || last.hash !== seen([bytes]).hash;
}

/** Looks again at a file that a tool has just written: hooks may have changed it since, which is expected. */
export async function refreshRead(
  { file_path }: { file_path: string },
  { cwd, state }: { cwd: string; state: State },
): Promise<void> {
  const real = await realpath(resolve(cwd, file_path)).catch(() => undefined);
  if (real === undefined || !recordOf(state).has(real)) return;
  const bytes = await readFile(real).catch(() => undefined);
  if (bytes === undefined) recordOf(state).delete(real);
  else recordRead(state, real, bytes);
}

function recordOf(state: State): Map<string, ReadState> {
  return getOrMake(state, READ, () => new Map()) as Map<string, ReadState>;
}

function seen(parts: Iterable<Uint8Array>): ReadState {
  const hash = sha256();
  let size = 0;
  for (const part of parts) {
    hash.update(part);
    size += part.length;
  }
  return { size, hash: hash.digest("hex") };
}

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

const CHANGED = "crochet.undo";

/** The changes of one agent that were not undone, oldest first. */
export function undoLog(state: State): UndoEntry[] {
  return getOrMake(state, CHANGED, () => []) as UndoEntry[];
}

export function logChange(state: State, entry: UndoEntry): void {
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
