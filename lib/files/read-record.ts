import { createHash } from "node:crypto";
import { readFile, realpath } from "node:fs/promises";
import { resolve } from "node:path";

/** What tools of one agent share: see `ToolContext.state`. */
type State = Map<string, unknown>;

const KEY = "crochet.read-record";

interface Seen {
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

function recordOf(state: State): Map<string, Seen> {
  let record = state.get(KEY) as Map<string, Seen> | undefined;
  if (record === undefined) state.set(KEY, record = new Map());
  return record;
}

function seen(parts: Iterable<Uint8Array>): Seen {
  const hash = createHash("sha256");
  let size = 0;
  for (const part of parts) {
    hash.update(part);
    size += part.length;
  }
  return { size, hash: hash.digest("base64") };
}
