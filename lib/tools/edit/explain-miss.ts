import { isUtf8 } from "node:buffer";
import { decode, type Encoding, hasCrlf, toLf } from "../../files/text-bytes.ts";
import type { EditCall } from "./edit-call.ts";

/** Past this size no similar text is looked for: the error must not take longer than the edit. */
const LIMIT = 4 * 1024 * 1024;

/**
 * What follows `String not found`: the difference if one can be named, and the lines that come closest, as they
 * are. Nothing here decides what is written; a near miss is never applied.
 */
export function explainMiss(bytes: Uint8Array, call: EditCall, encoding: Encoding): string {
  if (bytes.length === 0) return ": the file is empty";
  if (bytes.length > LIMIT) return ": no similar text was looked for in a file over 4 MiB";
  const { old_string: wanted, new_string } = call;
  // The edit takes LF for CRLF if neither string has a CR, so that is not a difference then.
  const translated = !wanted.includes("\r") && !new_string.includes("\r") && hasCrlf(bytes, encoding);
  const decoded = decode(bytes, encoding);
  const text = translated ? toLf(decoded) : decoded;
  const miss = nearMiss(text, wanted);
  const help = miss ? explain(miss, wanted, encoding === "bytes" && !isUtf8(bytes)) : closest(text, wanted);
  return help + alreadyThere(text, new_string);
}

function explain(miss: NearMiss, wanted: string, invalid: boolean): string {
  const there = miss.lines.join("\n");
  const named = [
    ...(miss.numbered ? ["the line-number prefix of Read, which is not in the file"] : []),
    ...miss.folds.map((fold) => fold === "indentation" ? indentation(there, wanted) : NAMES[fold]),
  ];
  if (named.length === 0) {
    const why = invalid ? "has bytes that are not valid UTF-8, which old_string cannot name" : "has other bytes";
    return `: the file ${why}, at line ${miss.firstLine}`;
  }
  return `: the text at line ${miss.firstLine} differs in ${named.join(" and ")}${show(miss.firstLine, miss.lines)}`;
}

const NAMES: Record<Exclude<Fold, "indentation">, string> = {
  "line endings": "line endings (LF, CRLF or CR)",
  "trailing whitespace": "trailing whitespace",
  punctuation: "typographic punctuation (curly quotes, dashes, an ellipsis or a no-break space on one side)",
  "unicode form": "Unicode form (composed or decomposed characters, NFC or NFD)",
};

function indentation(there: string, wanted: string): string {
  const kind = (text: string) => /^ *\t/m.test(text) ? "tabs" : /^ /m.test(text) ? "spaces" : "none";
  return kind(there) === kind(wanted)
    ? "indentation (its depth)"
    : `indentation (the file has ${kind(there)}, old_string has ${kind(wanted)})`;
}

function closest(text: string, wanted: string): string {
  const lines = linesOf(text, true), wantedLines = linesOf(wanted, true);
  const first = nearestLine(lines, wantedLines);
  if (first === undefined) return ": nothing in the file is similar, read it again";
  return `: the closest text is at line ${first}${show(first, linesAt(text, first, wantedLines.length))}`;
}

function alreadyThere(text: string, new_string: string): string {
  if (new_string.trim().length < 3) return "";
  const at = text.indexOf(new_string);
  if (at < 0) return "";
  return `\nnew_string is in the file already, at line ${
    text.slice(0, at).split("\n").length
  }: the edit may have been made before`;
}

const LINES_SHOWN = 12;
const LINE_LENGTH = 240;

/** As JSON strings, because models write those: tabs, trailing spaces and invisible characters can be seen and copied. */
function show(first: number, lines: readonly string[]): string {
  const shown = lines.slice(0, LINES_SHOWN).map((line, i) => {
    const cut = line.length > LINE_LENGTH ? `${line.slice(0, LINE_LENGTH)}…` : line;
    const visible = JSON.stringify(cut).replace(
      /[\u0300-\u036f\u00a0\u00ad\u1680\u2000-\u200f\u2028-\u202f\u205f-\u2064\u3000\ufeff]/g,
      (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`,
    );
    return `\n${first + i}: ${visible}`;
  });
  const more = lines.length > LINES_SHOWN ? `\n(${lines.length - LINES_SHOWN} more lines)` : "";
  return `; the file has there, each line as a JSON string:${shown.join("")}${more}`;
}

/** A word on more lines than this does not show where a text belongs. */
const COMMON = 16;

/** The line (from 1) at which `wanted` fits best by the rare words it shares with the text; undefined if it shares none. */
function nearestLine(lines: readonly string[], wanted: readonly string[]): number | undefined {
  const places = new Map<string, number[]>();
  const wantedWords = wanted.map((line) => new Set(wordsOf(line)));
  for (const words of wantedWords) for (const word of words) places.set(word, []);
  lines.forEach((line, i) => {
    for (const word of wordsOf(line)) {
      const at = places.get(word);
      if (at !== undefined && at.length <= COMMON && at.at(-1) !== i) at.push(i);
    }
  });
  const votes = new Map<number, number>();
  wantedWords.forEach((words, j) => {
    for (const word of words) {
      const at = places.get(word)!;
      if (at.length > COMMON) continue;
      for (const i of at) votes.set(i - j, (votes.get(i - j) ?? 0) + 1 / at.length);
    }
  });
  const [best] = [...votes].sort(([, a], [, b]) => b - a);
  return best && best[1] >= 0.5 ? Math.max(0, best[0]) + 1 : undefined;
}

function wordsOf(line: string): string[] {
  return line.match(/[\p{L}\p{N}_]+/gu) ?? [];
}

/**
 * Differences a near miss can be named by, from the most to the least particular. Each fold makes two texts equal that
 * differ only so; folds work line by line and keep the number of lines, so that a match of folded text has a place in
 * the real one.
 */
const FOLDS = ["line endings", "trailing whitespace", "indentation", "punctuation", "unicode form"] as const;
type Fold = typeof FOLDS[number];

const PUNCTUATION = new Map<string, string>([
  ...[..."‘’‚‛′"].map((c) => [c, "'"] as const),
  ...[..."“”„‟″«»"].map((c) => [c, '"'] as const),
  ...[..."‐‑‒–—―−"].map((c) => [c, "-"] as const),
  ...[..."\u00a0\u2002\u2003\u2007\u2009\u200a\u202f\u3000"].map((c) => [c, " "] as const),
  ["…", "..."],
]);
const TYPOGRAPHIC = new RegExp(`[${[...PUNCTUATION.keys()].join("")}]`, "g");

const BY_LINE: Record<Fold, (line: string) => string> = {
  "line endings": (line) => line, // the text was divided by them
  "trailing whitespace": (line) => line.trimEnd(),
  indentation: (line) => line.trimStart(),
  punctuation: (line) => line.replace(TYPOGRAPHIC, (c) => PUNCTUATION.get(c)!),
  "unicode form": (line) => line.normalize("NFC"),
};

/** The lines of a text: LF ends them, or CRLF with that fold, or CR in a text that has no LF. */
function linesOf(text: string, anyBreak: boolean): string[] {
  if (!anyBreak) return text.split("\n");
  return text.includes("\n") ? text.replaceAll("\r\n", "\n").split("\n") : text.split("\r");
}

function foldLines(text: string, folds: ReadonlySet<Fold>): string[] {
  return linesOf(text, folds.has("line endings")).map((given) => {
    let line = given;
    for (const fold of FOLDS) if (folds.has(fold)) line = BY_LINE[fold](line);
    return line;
  });
}

function withoutLineNumbers(wanted: string): string {
  const lines = wanted.split("\n");
  const prefix = /^[ \t]{0,10}\d{1,9}(?:\t|→|: |\| ?)/;
  const numbered = lines.every((line, i) => prefix.test(line) || (line === "" && i === lines.length - 1));
  return numbered ? lines.map((line) => line.replace(prefix, "")).join("\n") : wanted;
}

/** A place that has the wanted text but for differences that can be named. */
interface NearMiss {
  readonly folds: readonly Fold[];
  /** Whether the wanted text has the line numbers that Read shows. */
  readonly numbered: boolean;
  /** The lines there, as they are, and the number of the first. */
  readonly lines: readonly string[];
  readonly firstLine: number;
}

/** The first place with text that is `wanted` but for a nameable difference. Linear: the text is folded once. */
function nearMiss(text: string, wanted: string): NearMiss | undefined {
  const all = new Set(FOLDS);
  const folded = foldLines(text, all).join("\n");
  for (const spelled of new Set([wanted, withoutLineNumbers(wanted)])) {
    const place = placeOf(folded, spelled, all);
    if (!place) continue;
    const lines = linesAt(text, place.firstLine, place.count);
    return { ...place, lines, folds: fewest(lines.join("\n"), spelled), numbered: spelled !== wanted };
  }
  return undefined;
}

/** The folds without which the wanted text is not in these lines: each is left out if the others do. */
function fewest(lines: string, wanted: string): Fold[] {
  const needed = new Set(FOLDS);
  for (const fold of FOLDS.toReversed()) {
    needed.delete(fold);
    if (!placeOf(foldLines(lines, needed).join("\n"), wanted, needed)) needed.add(fold);
  }
  return FOLDS.filter((fold) => needed.has(fold));
}

/** The first line and the number of lines of the place where the wanted text, folded too, is in a folded text. */
function placeOf(folded: string, wanted: string, folds: ReadonlySet<Fold>) {
  const lines = foldLines(wanted, folds);
  const bare = lines.join("\n");
  if (bare.trim() === "") return undefined;
  // Whitespace folded away at the edge of a line must have been at the edge of one: 'x' with indentation is not every x.
  const open = folds.has("indentation") && /^[ \t]/.test(wanted) ? "\n" : "";
  const close = folds.has("trailing whitespace") && /[ \t]$/.test(wanted) ? "\n" : "";
  // With a line break put before both, a match still starts where the wanted text does in the folded one.
  const at = (open + folded + close).indexOf(open + bare + close);
  return at < 0 ? undefined : { firstLine: folded.slice(0, at).split("\n").length, count: lines.length };
}

/** Lines as they are, so that joined by LF they are in the text: with the CR before a line break, and CR breaks kept. */
function linesAt(text: string, firstLine: number, count: number): string[] {
  const at = firstLine - 1;
  return text.includes("\n")
    ? text.split("\n").slice(at, at + count)
    : [text.split("\r").slice(at, at + count).join("\r")];
}
