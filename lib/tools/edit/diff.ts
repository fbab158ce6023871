import { Buffer } from "node:buffer";
import { decode, encode, type Encoding, unitOf } from "../../files/encoding.ts";
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
 * The hunks of a change, from its splices: only windows around them are compared, so the time is linear in the file.
 * Undefined if the windows are too large to show.
 */
export function hunksOf(
  old: Uint8Array,
  splices: readonly Splice[],
  { encoding, context, diff }: { encoding: Encoding; context: number; diff: DiffPackage },
): Hunk[] | undefined {
  const hunks: Hunk[] = [];
  let line = 0, counted = 0, size = 0, shift = 0;
  for (const { start, end, inside } of windows(old, splices, encoding, context)) {
    line += countLines(old, encoding, counted, start);
    counted = start;
    const before = old.subarray(start, end);
    const after = Buffer.concat([...pieces(before, inside)]);
    size += before.length + after.length;
    if (size > TEXT_LIMIT) return undefined;
    const added = shift;
    for (const hunk of compare(decode(before, encoding), decode(after, encoding), context, diff)) {
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
function windows(old: Uint8Array, splices: readonly Splice[], encoding: Encoding, context: number) {
  const lines = new Lines(old, encoding);
  const ranges: { start: number; end: number; inside: Splice[] }[] = [];
  let touched = -1;
  for (const splice of splices) {
    let range = ranges.at(-1);
    // Past the last touched line only: many matches in one long line must not each walk to its ends.
    if (range === undefined || splice.start > touched) {
      const start = lines.back(lines.startOf(splice.start), context);
      if (range === undefined || start > range.end) ranges.push(range = { start, end: 0, inside: [] });
    }
    if (splice.end >= touched) {
      touched = lines.endOf(splice.end);
      range.end = lines.forward(touched, context);
    }
    range.inside.push({ ...splice, start: splice.start - range.start, end: splice.end - range.start });
  }
  return ranges;
}

/** Where the lines of a text lie in its bytes. */
class Lines {
  readonly bytes: Uint8Array;
  readonly #unit: 1 | 2;
  readonly #lf: Buffer;

  constructor(bytes: Uint8Array, encoding: Encoding) {
    this.bytes = bytes;
    this.#unit = unitOf(encoding);
    this.#lf = encode("\n", encoding);
  }

  #isBreak(at: number): boolean {
    return this.bytes[at] === this.#lf[0] && (this.#unit === 1 || this.bytes[at + 1] === this.#lf[1]);
  }

  startOf(at: number): number {
    while (at > 0 && !this.#isBreak(at - this.#unit)) at -= this.#unit;
    return Math.max(0, at);
  }

  /** Just after the line break that ends the line at `at`, or the end of the text. */
  endOf(at: number): number {
    while (at < this.bytes.length && !this.#isBreak(at)) at += this.#unit;
    return Math.min(this.bytes.length, at + this.#unit);
  }

  back(at: number, lines: number): number {
    while (lines-- > 0 && at > 0) at = this.startOf(at - this.#unit);
    return at;
  }

  forward(at: number, lines: number): number {
    while (lines-- > 0 && at < this.bytes.length) at = this.endOf(at);
    return at;
  }
}
