import { Buffer } from "node:buffer";
import { readFile, unlink } from "node:fs/promises";
import { ToolError } from "../core/tool.ts";
import { absolute } from "../files/confine.ts";
import { asBuffer, pieces, type Splice, spliceBetween } from "../files/text-bytes.ts";
import { changeFile } from "../files/change-file.ts";
import { withFileLock } from "../files/lock.ts";
import { type UndoEntry, undoLog } from "../files/file-history.ts";
import { checkOptions } from "../input/options.ts";

interface UndoOptions {
  /** Undo the last change of this file, not the last change of all. */
  file_path?: string;
  /** What `file_path` is relative to. @default process.cwd() */
  cwd?: string;
  signal?: AbortSignal;
}

interface Undone {
  readonly path: string;
  /** A file that the change had made is removed again; the directories made for it stay. */
  readonly removed: boolean;
}

/**
 * Takes back the last change that Edit, MultiEdit or Write made with this `state`. Refuses, with a ToolError, if the
 * file no longer holds the bytes that change wrote: what came after would be lost.
 *
 * @example
 * ```ts
 * import { undo, write } from "crochet/tools";
 *
 * const state = new Map();
 * await write({ file_path: "notes.md", content: "a mistake" }, { state });
 * await undo(state);
 * ```
 */
export async function undo(state: Map<string, unknown>, options: UndoOptions = {}): Promise<Undone> {
  checkOptions(options, { file_path: "a text", cwd: "a text", signal: "an AbortSignal" }, "undo");
  const { file_path, cwd = process.cwd(), signal = new AbortController().signal } = options;
  const wanted = file_path === undefined ? undefined : absolute(file_path, cwd);
  const log = undoLog(state);
  const entry = log.findLast(({ path, real }) => wanted === undefined || path === wanted || real === wanted);
  if (entry === undefined) {
    throw new ToolError(`Cannot undo as no change ${wanted ? `of '${wanted}' ` : ""}is left in the undo log`, {
      code: "nothing_to_undo",
    });
  }
  const removed = await takeBack(entry, state, signal);
  log.splice(log.indexOf(entry), 1);
  return { path: entry.path, removed };
}

async function takeBack(entry: UndoEntry, state: Map<string, unknown>, signal: AbortSignal): Promise<boolean> {
  const { before, path, real, cwd, splices } = entry;
  if (before.kind === "dropped") {
    throw new ToolError(`Cannot undo the change of '${path}' as its old bytes were not kept: ${before.why}`, {
      code: "not_kept",
    });
  }
  if (before.kind === "absent") {
    await withFileLock(real, signal, async () => {
      const now = await readFile(real).catch(() => undefined);
      if (now === undefined || !isWritten(now, new Uint8Array(), splices)) throw changed(path);
      await unlink(real);
    });
    return true;
  }
  await changeFile(real, { cwd, state, signal }, {
    verb: "undo the change of",
    undoable: false,
    plan: (now) => {
      if (!isWritten(now!, before.bytes, splices)) throw changed(path);
      return { splices: spliceBetween(now!, before.bytes) };
    },
  });
  return false;
}

/** Whether the bytes are those the change wrote: the old ones with its splices. */
function isWritten(now: Uint8Array, old: Uint8Array, splices: readonly Splice[]): boolean {
  let at = 0;
  for (const piece of pieces(old, splices)) {
    if (Buffer.compare(asBuffer(now).subarray(at, at + piece.length), piece) !== 0) return false;
    at += piece.length;
  }
  return at === now.length;
}

function changed(path: string): ToolError {
  const why = "the file no longer holds what it wrote";
  return new ToolError(`Cannot undo the change of '${path}' as ${why}: edit it instead`, { code: "changed" });
}
