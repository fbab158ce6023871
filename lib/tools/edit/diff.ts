import { Buffer } from "node:buffer";
import { asBuffer, decode, encode, type Encoding, unitOf } from "../../files/encoding.ts";
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

/** More text than this in changed lines is no diff to read. */
const TEXT_LIMIT = 16 * 1024 * 1024;
/** Past these sizes a changed range is shown whole: finding what it keeps takes quadratic time. */
const REFINE_LINES = 4000;
const REFINE_EDITS = 400;

/**
 * The hunks of a change, from its splices: only the lines they touch are looked at, so the time is linear where
 * comparing two whole texts is not. Undefined where the changed lines are too long to show.
 */
export function hunksOf(
  old: Uint8Array,
  splices: readonly Splice[],
  options: { encoding: Encoding; context: number; diff: DiffPackage },
): Hunk[] | undefined {
  const text = new Lines(old, options.encoding);
  const changes: Change[] = [];
  let line = 0, counted = 0, size = 0;
  for (const { start, end, inside } of touchedLines(text, splices)) {
    line += countLines(old, options.encoding, counted, start);
    counted = start;
    const now = Buffer.concat([...pieces(old.subarray(start, end), inside)]);
    size += end - start + now.length;
    if (size > TEXT_LIMIT) return undefined;
    changes.push(
      ...changesOf(text.split(old.subarray(start, end)), text.split(now), { line, offset: start }, options.diff),
    );
  }
  return group(changes, options.context).map(hunkMaker(text, options.context));
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

/** Removed and added lines at one place of the old text; lines are raw bytes as latin1, with their line break. */
interface Change {
  readonly line: number;
  readonly offset: number;
  readonly removed: readonly string[];
  readonly added: readonly string[];
}

const lengthOf = (lines: readonly string[]) => lines.reduce((sum, line) => sum + line.length, 0);
const endOf = (change: Change) => change.offset + lengthOf(change.removed);

/** Whole lines around the splices; lines that follow each other are one range, so that a diff shows the old ones first. */
function touchedLines(text: Lines, splices: readonly Splice[]) {
  const ranges: { start: number; end: number; inside: Splice[] }[] = [];
  for (const splice of splices) {
    let range = ranges.at(-1);
    // Looked for only past the last range: many matches in one long line must not each walk to its ends.
    if (range === undefined || splice.start > range.end) {
      const start = text.startOf(splice.start);
      if (range === undefined || start > range.end) ranges.push(range = { start, end: 0, inside: [] });
    }
    if (splice.end >= range.end) range.end = text.endOf(splice.end);
    range.inside.push({ ...splice, start: splice.start - range.start, end: splice.end - range.start });
  }
  return ranges;
}

function changesOf(
  old: string[],
  now: string[],
  at: { line: number; offset: number },
  { diffArrays }: DiffPackage,
): Change[] {
  const shorter = Math.min(old.length, now.length);
  let head = 0, tail = 0;
  while (head < shorter && old[head] === now[head]) head++;
  while (tail < shorter - head && old[old.length - 1 - tail] === now[now.length - 1 - tail]) tail++;
  const offset = at.offset + lengthOf(old.slice(0, head));
  const removed = old.slice(head, old.length - tail), added = now.slice(head, now.length - tail);
  if (removed.length === 0 && added.length === 0) return [];
  const whole = [{ line: at.line + head, offset, removed, added }];
  const small = removed.length > 0 && added.length > 0 && removed.length + added.length <= REFINE_LINES;
  const parts = small && removed.length + added.length > 2
    ? diffArrays(removed, added, { maxEditLength: REFINE_EDITS })
    : undefined;
  if (parts === undefined) return whole;
  const changes: { line: number; offset: number; removed: string[]; added: string[] }[] = [];
  let line = at.line + head, byte = offset, open = false;
  for (const { value, added: isNew, removed: isOld } of parts) {
    if (!open && (isNew || isOld)) changes.push({ line, offset: byte, removed: [], added: [] });
    open = isNew || isOld;
    if (isNew) changes.at(-1)!.added.push(...value);
    else {
      if (isOld) changes.at(-1)!.removed.push(...value);
      line += value.length;
      byte += lengthOf(value);
    }
  }
  return changes;
}

/** Changes so near to each other that their context meets go into one hunk. */
function group(changes: readonly Change[], context: number): Change[][] {
  const groups: Change[][] = [];
  for (const change of changes) {
    const last = groups.at(-1)?.at(-1);
    if (last !== undefined && change.line - (last.line + last.removed.length) <= 2 * context) {
      groups.at(-1)!.push(change);
    } else groups.push([change]);
  }
  return groups;
}

function hunkMaker(text: Lines, context: number): (changes: readonly Change[]) => Hunk {
  let shift = 0;
  return (changes) => {
    const first = changes[0]!, last = changes.at(-1)!;
    const before = text.split(text.bytes.subarray(text.back(first.offset, context), first.offset));
    const after = text.split(text.bytes.subarray(endOf(last), text.forward(endOf(last), context)));
    const start = first.line - before.length + 1;
    const hunk: Hunk = { oldStart: start, oldLines: 0, newStart: start + shift, newLines: 0, lines: [] };
    const put = (sign: " " | "-" | "+", lines: readonly string[]) => {
      for (const raw of lines) hunk.lines.push(...text.show(sign, raw));
      if (sign !== "+") hunk.oldLines += lines.length;
      if (sign !== "-") hunk.newLines += lines.length;
    };
    put(" ", before);
    changes.forEach((change, i) => {
      if (i > 0) put(" ", text.split(text.bytes.subarray(endOf(changes[i - 1]!), change.offset)));
      put("-", change.removed);
      put("+", change.added);
    });
    put(" ", after);
    shift += hunk.newLines - hunk.oldLines;
    return hunk;
  };
}

/** Where the lines of a text lie in its bytes. */
class Lines {
  readonly bytes: Uint8Array;
  readonly #encoding: Encoding;
  readonly #unit: 1 | 2;
  readonly #lf: Buffer;

  constructor(bytes: Uint8Array, encoding: Encoding) {
    this.bytes = bytes;
    this.#encoding = encoding;
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

  split(bytes: Uint8Array): string[] {
    const all = asBuffer(bytes), unit = this.#unit, [first, second] = this.#lf;
    const lines: string[] = [];
    let from = 0;
    for (let at = 0; at < all.length; at += unit) {
      if (all[at] !== first || (unit === 2 && all[at + 1] !== second)) continue;
      lines.push(all.toString("latin1", from, at + unit));
      from = at + unit;
    }
    if (from < all.length) lines.push(all.toString("latin1", from));
    return lines;
  }

  show(sign: string, raw: string): string[] {
    const bytes = Buffer.from(raw, "latin1");
    const ended = bytes.length >= this.#unit && bytes.subarray(-this.#unit).equals(this.#lf);
    const line = sign + decode(ended ? bytes.subarray(0, -this.#unit) : bytes, this.#encoding);
    return ended ? [line] : [line, "\\ No newline at end of file"];
  }
}
