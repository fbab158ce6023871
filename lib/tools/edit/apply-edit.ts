import { isUtf8 } from "node:buffer";
import { ToolError } from "../../core/tool.ts";
import {
  applySplices,
  countLines,
  eachMatch,
  encode,
  type Encoding,
  encodingOf,
  endsAt,
  type Eol,
  hasCrlf,
  isAscii,
  isUniformCrlf,
  lfView,
  linesAfter,
  type Splice,
  toCrlf,
  toLf,
  unitOf,
  usesOnlyCrlf,
} from "../../files/text-bytes.ts";
import { checkEditCall, type EditCall, type EditCode, refuse } from "./edit-call.ts";
import { explainMiss } from "./explain-miss.ts";

export interface EditApplied {
  readonly ok: true;
  readonly bytes: Uint8Array;
  readonly replacements: number;
  /** The line on which each replacement starts, after the edit. */
  readonly lines: readonly number[];
  /** How the line breaks of the strings were taken. */
  readonly eol: Eol;
}

export interface EditRefused {
  readonly ok: false;
  readonly code: EditCode;
  readonly message: string;
}

/**
 * Applies one edit to the bytes of a file, or says why not. Pure: the same bytes and call give the same
 * answer, and every byte outside the matches is kept as it is, whatever the encoding.
 *
 * @example
 * ```ts
 * import { applyEdit } from "crochet/tools";
 *
 * const file = new TextEncoder().encode("let a = 1;\r\nlet b = a;\r\n");
 * const edited = applyEdit(file, { old_string: "let b = a;\n", new_string: "" });
 * if (edited.ok) console.log(JSON.stringify(new TextDecoder().decode(edited.bytes))); // "let a = 1;\r\n"
 * else console.log(edited.code, edited.message);
 * ```
 */
export function applyEdit(bytes: Uint8Array, edit: EditCall): EditApplied | EditRefused {
  try {
    const call = checkEditCall(edit);
    const { splices, encoding, eol, replacements } = planEdit(bytes, call);
    const lines = linesAfter(bytes, splices, encoding);
    return { ok: true, bytes: applySplices(bytes, splices), replacements, lines, eol };
  } catch (error) {
    if (!(error instanceof ToolError)) throw error;
    return { ok: false, code: error.code as EditCode, message: error.message };
  }
}

export interface EditPlan {
  readonly splices: readonly Splice[];
  readonly encoding: Encoding;
  readonly eol: Eol;
  readonly replacements: number;
}

/** What a checked call changes in these bytes, or a ToolError. Nothing is copied or written. */
export function planEdit(bytes: Uint8Array, call: Required<EditCall>): EditPlan {
  const encoding = encodingOf(bytes);
  if (encoding === "utf32") {
    throw refuse("not_utf8", "Cannot edit as the file is UTF-32, not valid UTF-8: convert it first");
  }
  const { matches, eol } = findMatches(bytes, call, encoding);
  if (matches.count === 0) throw refuse("not_found", `String not found${explainMiss(bytes, call, encoding)}`);
  if (matches.count > 1 && !call.replace_all) throw ambiguous(matches);
  const { splices } = matches;
  if (encoding === "bytes") refuseMixedEncodings(bytes, call, splices);
  return { splices, encoding, eol, replacements: splices.length };
}

interface Matches {
  /** Start positions, overlapping ones too: 'aa' is in 'aaa' twice, so it is not unique. */
  readonly count: number;
  readonly splices: readonly Splice[];
  readonly firstLines: () => number[];
}

function findMatches(bytes: Uint8Array, call: Required<EditCall>, encoding: Encoding): { matches: Matches; eol: Eol } {
  const { old_string: old, new_string: now, replace_all: all } = call;
  const literal = old.includes("\r") || now.includes("\r");
  if (!literal && (old.includes("\n") || now.includes("\n")) && isUniformCrlf(bytes, encoding)) {
    return { matches: matchesOf(bytes, toCrlf(old), toCrlf(now), all, encoding), eol: "crlf" };
  }
  const verbatim = matchesOf(bytes, old, now, all, encoding);
  const orphans = !literal && old.startsWith("\n") && !now.startsWith("\n") && splitsCrlf(bytes, verbatim, encoding);
  if (verbatim.count > 0 && !orphans) return { matches: verbatim, eol: "verbatim" };
  if (!literal && old.includes("\n") && hasCrlf(bytes, encoding)) {
    return { matches: matchesInMixed(bytes, call, encoding), eol: "mixed" };
  }
  if (old.includes("\r\n") && usesOnlyCrlf(old) && usesOnlyCrlf(now) && !hasCrlf(bytes, encoding)) {
    return { matches: matchesOf(bytes, toLf(old), toLf(now), all, encoding), eol: "lf" };
  }
  return { matches: verbatim, eol: "verbatim" };
}

/** Whether a replacement would leave the CR of a CRLF behind without its LF. */
function splitsCrlf(bytes: Uint8Array, { splices }: Matches, encoding: Encoding): boolean {
  const cr = encode("\r", encoding);
  return splices.some(({ start }) => endsAt(bytes, start, cr));
}

function matchesOf(bytes: Uint8Array, old: string, now: string, all: boolean, encoding: Encoding): Matches {
  const needle = encode(old, encoding), replacement = encode(now, encoding);
  const { count, starts } = countMatches(bytes, needle, all, encoding);
  return {
    count,
    splices: starts.map((start) => ({ start, end: start + needle.length, bytes: replacement })),
    firstLines: () => starts.slice(0, LINES_SHOWN).map((start) => 1 + countLines(bytes, encoding, 0, start)),
  };
}

/** Matches that take LF for either line break; the new text gets the style most breaks of its match have. */
function matchesInMixed(bytes: Uint8Array, call: Required<EditCall>, encoding: Encoding): Matches {
  const needle = encode(call.old_string, encoding);
  const { view, original } = lfView(bytes, encoding);
  const { count, starts } = countMatches(view, needle, call.replace_all, encoding);
  const lf = encode(call.new_string, encoding), crlf = encode(toCrlf(call.new_string), encoding);
  const splice = (at: number) => {
    const start = original(at), end = original(at + needle.length);
    const breaks = countLines(bytes, encoding, start, end);
    const widened = (end - start - needle.length) / unitOf(encoding);
    return { start, end, bytes: widened * 2 >= breaks ? crlf : lf };
  };
  return {
    count,
    splices: call.replace_all || count === 1 ? starts.map(splice) : [],
    firstLines: () => starts.slice(0, LINES_SHOWN).map((start) => 1 + countLines(view, encoding, 0, start)),
  };
}

const LINES_SHOWN = 10;

/** The number of matches, and the starts to replace or, if that is one too many, the first ones to report. */
function countMatches(hay: Uint8Array, needle: Uint8Array, all: boolean, encoding: Encoding) {
  let count = 0;
  const starts: number[] = [];
  eachMatch(hay, needle, (start) => {
    count++;
    if (all || starts.length < LINES_SHOWN) starts.push(start);
  }, { unit: unitOf(encoding), overlapping: !all });
  return { count, starts };
}

function ambiguous({ count, firstLines }: Matches): ToolError {
  const lines = firstLines();
  const more = count > lines.length ? ` and ${count - lines.length} more` : "";
  const at = `lines ${lines.join(", ")}${more}`;
  return refuse("ambiguous", `String appears ${count} times, use replace_all or add context: ${at}`);
}

/** In a legacy encoding a byte below 0x80 can be the second half of a character, and new non-ASCII text would be UTF-8. */
function refuseMixedEncodings(bytes: Uint8Array, call: EditCall, splices: readonly Splice[]): void {
  const ascii = isAscii(call.new_string);
  const halved = splices.find(({ start }) => start > 0 && bytes[start - 1]! >= 0x80 && bytes[start]! >= 0x40);
  if ((ascii && halved === undefined) || isUtf8(bytes)) return;
  const why = ascii
    ? `the match at byte ${halved!.start} may begin inside a character: begin old_string after an ASCII character`
    : "new_string is not ASCII: the file would mix two encodings";
  throw refuse("not_utf8", `Cannot edit as the file is not valid UTF-8 and ${why}`);
}
