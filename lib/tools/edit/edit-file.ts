import { Buffer } from "node:buffer";
import { basename } from "node:path";
import { ToolError } from "../../core/tool.ts";
import { type Changed, changeFile, type FileContext } from "../../files/change-file.ts";
import { changedSinceRead, LARGE } from "../../files/file-history.ts";
import {
  applySplices,
  binaryWords,
  composeSplices,
  countLines,
  decode,
  type Encoding,
  encodingOf,
  type Eol,
  isBinary,
  linesAfter,
  pieces,
  type Splice,
  spliceBetween,
} from "../../files/text-bytes.ts";
import { type EditPlan, planEdit } from "./apply-edit.ts";
import type { EditCall } from "./edit-call.ts";

export interface EditReport extends ChangeReport {
  readonly replacements: number;
  /** How the line breaks of the strings were taken. */
  readonly eol: Eol;
}

export interface EditedFile {
  readonly report: EditReport;
  /** What the model reads. */
  readonly content: string;
  /** The old text for a structured result; worked out only when asked for. */
  readonly originalFile: () => { originalFile?: string };
}

/** Applies checked edits to one file, each to what the ones before it made, all or none. */
export async function editFile(
  path: string,
  calls: readonly Required<EditCall>[],
  context: FileContext,
): Promise<EditedFile> {
  const diff = await import("diff");
  let drawn: Drawn | undefined;
  const changed = await changeFile<EditPlan>(path, context, {
    verb: "edit",
    plan: (bytes, place) => {
      refuseBinary(bytes!, "edit", place.path);
      try {
        return planEdits(bytes!, calls);
      } catch (error) {
        const missed = error instanceof ToolError && (error.code === "not_found" || error.code === "ambiguous");
        throw missed && changedSinceRead(context.state, place.real, bytes!)
          ? withLine(error, "The file changed on disk since it was read: read it again")
          : error;
      }
    },
    meanwhile: (bytes, { splices, encoding }) => drawn = draw(bytes!, splices, encoding, diff),
  });
  const { eol, replacements, encoding } = changed.plan;
  const edited: EditReport = { ...report(changed, drawn!, diff), eol, replacements };
  return {
    report: edited,
    content: [confirmation(edited, changed), ...notesOn(changed, drawn!)].join("\n"),
    originalFile: () => originalFile(changed.before!, encoding),
  };
}

function planEdits(bytes: Uint8Array, calls: readonly Required<EditCall>[]): EditPlan {
  if (calls.length === 1) return planEdit(bytes, calls[0]!);
  let current = bytes, replacements = 0;
  let splices: readonly Splice[] = [], eol: Eol = "verbatim";
  for (const [i, call] of calls.entries()) {
    let plan: EditPlan;
    try {
      plan = planEdit(current, call);
    } catch (error) {
      if (!(error instanceof ToolError)) throw error;
      throw withLine(error, `This was edit ${i + 1} of ${calls.length}, and none was applied`);
    }
    splices = composeSplices(splices, current, plan.splices);
    current = applySplices(current, plan.splices);
    replacements += plan.replacements;
    if (plan.eol !== "verbatim") eol = plan.eol;
  }
  return { splices, encoding: encodingOf(bytes) as Encoding, eol, replacements };
}

function withLine({ message, code }: ToolError, line: string): ToolError {
  return new ToolError(`${message}\n${line}`, { code });
}

const LINES_SHOWN = 10;

const EOL_NOTE: Record<Eol, string> = {
  verbatim: "",
  crlf: "\n(line breaks were taken as CRLF, which all of the file has)",
  lf: "\n(CRLF was taken as LF, which all of the file has)",
  mixed: "\n(the file has LF and CRLF: the new text got the line breaks of the text it replaced)",
};

function confirmation({ path, replacements, lines, eol }: EditReport, { plan }: Changed<EditPlan>): string {
  const times = replacements === 1 ? "1 replacement" : `${replacements} replacements`;
  const shown = lines.slice(0, LINES_SHOWN).join(", ") + (lines.length > LINES_SHOWN ? " …" : "");
  const breaks = plan.splices.some(({ bytes }) => bytes.includes(10)) || eol === "mixed";
  return `The file ${path} has been updated: ${times} at ${lines.length === 1 ? "line" : "lines"} ${shown}${
    breaks ? EOL_NOTE[eol] : ""
  }`;
}

/** The result of a change, whichever tool made it. */
export interface ChangeReport extends Pick<Changed<unknown>, "changedSinceRead" | "hardLinked"> {
  /** The file's absolute path as it was asked for. */
  readonly path: string;
  /** The line on which each replacement starts, after the change. */
  readonly lines: readonly number[];
  /** The change as a unified diff of the bytes on disk; empty if the changed lines are too long to show. */
  readonly diff: string;
  readonly hunks: readonly Hunk[];
  /** Whether undo can take this back. */
  readonly undoable: boolean;
}

/** What can be worked out while the file is being written. */
interface Drawn {
  readonly lines: readonly number[];
  readonly hunks: readonly Hunk[] | undefined;
}

type DiffPackage = typeof import("diff");

/** Past 8 MiB the diff shows the changed lines alone. UTF-16 is shown as the UTF-8 it stands for. */
function draw(before: Uint8Array, splices: readonly Splice[], encoding: Encoding, diff: DiffPackage): Drawn {
  const lines = linesAfter(before, splices, encoding);
  const options = { context: before.length > LARGE ? 0 : 3, diff };
  if (encoding === "bytes") return { lines, hunks: hunksOf(before, splices, options) };
  const old = inUtf8(before, encoding), now = inUtf8(applySplices(before, splices), encoding);
  return { lines, hunks: hunksOf(old, spliceBetween(old, now), options) };
}

function inUtf8(bytes: Uint8Array, encoding: Encoding): Uint8Array {
  return Buffer.from(decode(bytes, encoding), "utf8");
}

function report(changed: Changed<unknown>, { lines, hunks = [] }: Drawn, diff: DiffPackage): ChangeReport {
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
function originalFile(before: Uint8Array, encoding: Encoding): { originalFile?: string } {
  return before.length > LARGE ? {} : { originalFile: decode(before, encoding) };
}

/** What the model should know beside that it worked; one line each. */
function notesOn({ changedSinceRead, hardLinked, notUndoable }: Changed<unknown>, { hunks }: Drawn): string[] {
  return [
    changedSinceRead &&
    "(note: the file had changed on disk since it was read, so it holds other changes you have not seen)",
    hardLinked && "(the file has several hard links, so it was written in place and not replaced at once)",
    hunks === undefined && "(no diff is shown: the changed lines are too long)",
    notUndoable !== undefined && `(undo cannot take this back: ${notUndoable})`,
  ].filter((note) => typeof note === "string");
}

function refuseBinary(bytes: Uint8Array, verb: string, path: string): void {
  if (isBinary(bytes)) throw new ToolError(binaryWords(verb, path), { code: "binary" });
}

/** Writes a whole file, and draws what changed. Loaded by the first call of Write. */
export async function writeFile(
  { file_path, content }: { readonly file_path: string; readonly content: string },
  context: FileContext,
) {
  const diff = await import("diff");
  const bytes = Buffer.from(content, "utf8");
  let drawn: Drawn | undefined;
  const changed = await changeFile<{ readonly splices: readonly Splice[] }>(file_path, context, {
    verb: "write",
    create: true,
    known: true,
    plan: (before, place) => {
      if (before) refuseBinary(before, "write", place.path);
      return { splices: before ? spliceBetween(before, bytes) : [{ start: 0, end: 0, bytes }] };
    },
    meanwhile: (before, { splices }) => drawn = drawWrite(before ?? new Uint8Array(), bytes, splices, diff),
  });
  const type = changed.before === undefined ? "create" as const : "update" as const;
  return {
    written: { ...report(changed, drawn!, diff), type },
    content: [
      `The file ${changed.place.path} has been ${type}d`,
      ...overwriteNotes(changed),
      ...notesOn(changed, drawn!),
    ].join("\n"),
    original: () =>
      changed.before ? originalFile(changed.before, textEncoding(changed.before)) : { originalFile: null },
  };
}

/** A file in another encoding becomes UTF-8, so the two are compared as text. */
function drawWrite(before: Uint8Array, now: Uint8Array, splices: readonly Splice[], diff: DiffPackage): Drawn {
  const encoding = textEncoding(before);
  if (encoding === "bytes") return draw(before, splices, "bytes", diff);
  const text = inUtf8(before, encoding);
  return draw(text, spliceBetween(text, now), "bytes", diff);
}

function textEncoding(bytes: Uint8Array): Encoding {
  const encoding = encodingOf(bytes);
  return encoding === "utf32" ? "bytes" : encoding;
}

function overwriteNotes({ before, changedSinceRead }: Changed<unknown>): string[] {
  if (before === undefined) return [];
  return [
    changedSinceRead === undefined &&
    "(note: the file was there and had not been read; its old content is gone from the disk)",
    textEncoding(before) !== "bytes" && "(note: the file was UTF-16 and is UTF-8 now)",
  ].filter((note) => note !== false);
}

/** One hunk of a unified diff, in the shape of the `diff` package and of Claude Code's `structuredPatch`. */
export interface Hunk {
  oldStart: number;
  oldLines: number;
  newStart: number;
  newLines: number;
  lines: string[];
}

/** More text than this around the changes is not a diff to read. */
const TEXT_LIMIT = 16 * 1024 * 1024;
/** With more changed lines than this a window is shown as all old lines, then all new ones: the search is quadratic. */
const MOST_EDITS = 400;

/** The hunks of a change of UTF-8, by windows around its splices, in linear time; undefined if these are too large. */
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
