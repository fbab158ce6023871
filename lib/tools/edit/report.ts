import { basename } from "node:path";
import { type Hunk, hunksOf, unifiedDiff } from "./diff.ts";
import { decode, type Encoding } from "../../files/encoding.ts";
import type { Changed } from "../../files/change-file.ts";
import { linesAfter, type Splice } from "../../files/splices.ts";
import { LARGE } from "../../files/undo-log.ts";

/** What a change came to, whichever tool made it. */
export interface ChangeReport {
  /** The file's absolute path as it was asked for. */
  readonly path: string;
  /** The line on which each replacement starts, after the change. */
  readonly lines: readonly number[];
  /** The change as a unified diff of the bytes on disk; empty if the changed lines are too long to show. */
  readonly diff: string;
  readonly hunks: readonly Hunk[];
  /** Whether the bytes were other than those last read; undefined if the file was never read. */
  readonly changedSinceRead: boolean | undefined;
  /** The file has several names, so it was written in place, where a crash could have damaged it. */
  readonly hardLinked: boolean;
  /** Whether undo can take this back. */
  readonly undoable: boolean;
}

/** What can be worked out while the file is being written. */
export interface Drawn {
  readonly lines: readonly number[];
  readonly hunks: readonly Hunk[] | undefined;
}

type DiffPackage = typeof import("diff");

/** Past 8 MiB the diff shows the changed lines alone. */
export function draw(before: Uint8Array, splices: readonly Splice[], encoding: Encoding, diff: DiffPackage): Drawn {
  const context = before.length > LARGE ? 0 : 3;
  return { lines: linesAfter(before, splices, encoding), hunks: hunksOf(before, splices, { encoding, context, diff }) };
}

export function report(changed: Changed<unknown>, { lines, hunks = [] }: Drawn, diff: DiffPackage): ChangeReport {
  const { place, changedSinceRead, hardLinked, notUndoable } = changed;
  return {
    path: place.path,
    lines,
    diff: hunks.length === 0 ? "" : unifiedDiff(basename(place.path), hunks, diff),
    hunks,
    changedSinceRead,
    hardLinked,
    undoable: notUndoable === undefined,
  };
}

/** The old text for hooks that want it: left out of results for a file over 8 MiB. */
export function originalFile(before: Uint8Array, encoding: Encoding): { originalFile?: string } {
  return before.length > LARGE ? {} : { originalFile: decode(before, encoding) };
}

/** What the model should know beside that it worked; one line each. */
export function notesOn(changed: Changed<unknown>, drawn: Drawn): string[] {
  const notes: string[] = [];
  if (changed.changedSinceRead === true) {
    notes.push("(note: the file had changed on disk since it was read, so it holds other changes you have not seen)");
  }
  if (changed.hardLinked) {
    notes.push("(the file has several hard links, so it was written in place and not replaced at once)");
  }
  if (drawn.hunks === undefined) notes.push("(no diff is shown: the changed lines are too long)");
  if (changed.notUndoable !== undefined) notes.push(`(undo cannot take this back: ${changed.notUndoable})`);
  return notes;
}
