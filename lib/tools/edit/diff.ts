import { Buffer } from "node:buffer";
import { decode } from "../../files/encoding.ts";
import { countLines } from "../../files/line-breaks.ts";
import { pieces, type Splice } from "../../files/splices.ts";

/** One hunk of a unified diff, in the shape of the `diff` package and of Claude Code's `structuredPatch`. */
export interface Hunk {
  oldStart: number;
  oldLines: number;
  newStart: number;
  newLines: number;
  lines: string[];
}

type DiffPackage = typeof import("diff");

/** More text than this around the changes is not a diff to read. */
const TEXT_LIMIT = 16 * 1024 * 1024;
/** With more changed lines than this a window is shown as all old lines, then all new ones: the search is quadratic. */
const MOST_EDITS = 400;

/**
 * The hunks of a change of UTF-8, from its splices: only windows around them are compared, so the time is linear in the
 * file. Undefined if the windows are too large to show.
 */
export function hunksOf(
  old: Uint8Array,
  splices: readonly Splice[],
  { context, diff }: { context: number; diff: DiffPackage },
): Hunk[] | undefined {
  const hunks: Hunk[] = [];
  let line = 0, counted = 0, size = 0, shift = 0;
  for (const { start, end, inside } of windows(old, splices, context)) {
    line += countLines(old, "bytes", counted, start);
    counted = start;
    const before = old.subarray(start, end);
    const after = Buffer.concat([...pieces(before, inside)]);
    size += before.length + after.length;
    if (size > TEXT_LIMIT) return undefined;
    const added = shift;
    for (const hunk of compare(decode(before, "bytes"), decode(after, "bytes"), context, diff)) {
      hunks.push({ ...hunk, oldStart: hunk.oldStart + line, newStart: hunk.newStart + line + added });
      shift += hunk.newLines - hunk.oldLines;
    }
  }
  return hunks;
}

function compare(old: string, now: string, context: number, { structuredPatch }: DiffPackage): Hunk[] {
  const options = { context, maxEditLength: MOST_EDITS };
  const patch = structuredPatch("", "", old, now, undefined, undefined, options);
  if (patch) return patch.hunks;
  const [removed, added] = [linesOf(old), linesOf(now)];
  const lines = [...shown("-", removed), ...shown("+", added)];
  return [{ oldStart: 1, oldLines: removed.length, newStart: 1, newLines: added.length, lines }];
}

function linesOf(text: string): string[] {
  return text.split(/(?<=\n)/).filter((line) => line !== "");
}

function shown(sign: "-" | "+", lines: readonly string[]): string[] {
  return lines.flatMap((line) =>
    line.endsWith("\n") ? sign + line.slice(0, -1) : [sign + line, "\\ No newline at end of file"]
  );
}

/** The hunks of one file as unified diff text. */
export function unifiedDiff(
  name: string,
  hunks: readonly Hunk[],
  { formatPatch, FILE_HEADERS_ONLY }: DiffPackage,
): string {
  const names = { oldFileName: `a/${name}`, newFileName: `b/${name}`, oldHeader: undefined, newHeader: undefined };
  return formatPatch({ ...names, hunks: [...hunks] }, FILE_HEADERS_ONLY);
}

/** Whole lines around the splices with their context; windows that meet are one. */
function windows(old: Uint8Array, splices: readonly Splice[], context: number) {
  const ranges: { start: number; end: number; inside: Splice[] }[] = [];
  let touched = -1;
  for (const splice of splices) {
    let range = ranges.at(-1);
    // Past the last touched line only: many matches in one long line must not each walk to its ends.
    if (range === undefined || splice.start > touched) {
      let start = lineStart(old, splice.start);
      for (let i = 0; i < context && start > 0; i++) start = lineStart(old, start - 1);
      if (range === undefined || start > range.end) ranges.push(range = { start, end: 0, inside: [] });
    }
    if (splice.end >= touched) {
      touched = range.end = lineEnd(old, splice.end);
      for (let i = 0; i < context && range.end < old.length; i++) range.end = lineEnd(old, range.end);
    }
    range.inside.push({ ...splice, start: splice.start - range.start, end: splice.end - range.start });
  }
  return ranges;
}

function lineStart(bytes: Uint8Array, at: number): number {
  return at === 0 ? 0 : bytes.lastIndexOf(10, at - 1) + 1;
}

/** Just after the line break that ends the line at `at`, or the end of the text. */
function lineEnd(bytes: Uint8Array, at: number): number {
  const lf = bytes.indexOf(10, at);
  return lf < 0 ? bytes.length : lf + 1;
}
