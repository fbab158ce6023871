import { isUtf8 } from "node:buffer";
import { decode, type Encoding } from "../../files/encoding.ts";
import { hasCrlf, toLf } from "../../files/line-breaks.ts";
import type { EditCall } from "./edit-call.ts";
import { type Fold, linesAt, linesOf, type NearMiss, nearMiss } from "./near-miss.ts";

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

/**
 * The line (from 1) at which `wanted` fits best by the rare words it shares with the text, or undefined if it
 * shares none. Linear: each word of the wanted text votes for at most a few places.
 */
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
