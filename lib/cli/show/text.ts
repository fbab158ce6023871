import type picocolors from "picocolors";

/**
 * A complete escape sequence: colours, cursor moves, titles, links. Of one that never ends only the first character
 * counts, so that no text after it is lost.
 */
const SEQUENCE =
  // deno-lint-ignore no-control-regex
  /(?:\u001b\[|\u009b)[0-?]*[ -/]*[@-~]|(?:\u001b[\]PX^_]|[\u0090\u0098\u009d-\u009f])[^\u0007\u001b\u0090\u0098\u009c-\u009f]*(?:\u0007|\u001b\\|\u009c)|\u001b[ -/]*[0-Z\\^-~]/g;
// deno-lint-ignore no-control-regex
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;
/** Characters that change the direction of reading: a line would not be what it looks like. */
const TURNING = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** Text of a model, a tool or a hook without anything that controls the terminal. Line breaks and tabs stay. */
export function plainText(text: string): string {
  return withoutOverwritten(text.replace(SEQUENCE, "")).replace(CONTROL, "").replace(TURNING, "");
}

/** Of a line that was overwritten, as progress is, only the last text stays. */
function withoutOverwritten(text: string): string {
  if (!text.includes("\r")) return text;
  return text.split("\n").map((line) => {
    let end = line.length;
    while (line[end - 1] === "\r") end--;
    return line.slice(line.lastIndexOf("\r", end - 1) + 1, end);
  }).join("\n");
}

/** Like `plainText`, but hidden characters are written out: for text that a person decides about. */
export function openText(text: string): string {
  return text.replace(CONTROL, named).replace(TURNING, named).replaceAll("\t", "    ");
}

export function oneLine(text: string): string {
  return plainText(text).replace(/\s+/g, " ").trim();
}

/** The first line that is not empty. */
export function firstLine(text: string): string {
  return oneLine(plainText(text).trimStart().split("\n", 1)[0]!);
}

/** The last line that is not empty. */
export function lastLine(text: string): string {
  return oneLine(plainText(text).trimEnd().split("\n").at(-1)!);
}

/** How long something took. */
export function elapsed(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 59_950) return `${(ms / 1000).toFixed(1)} s`;
  return clock(ms);
}

/** Like `elapsed`, for what still runs: whole seconds, so that it does not flicker. */
export function clock(ms: number): string {
  const seconds = Math.floor(ms / 1000);
  if (seconds < 60) return `${seconds} s`;
  return `${Math.floor(seconds / 60)} min ${String(seconds % 60).padStart(2, "0")} s`;
}

/** A count as a person reads it: 840, 4.1k, 1.2M. */
export function count(n: number): string {
  if (n < 1000) return String(n);
  if (n < 999_500) return `${(n / 1000).toFixed(n < 9950 ? 1 : 0)}k`;
  return `${(n / 1_000_000).toFixed(1)}M`;
}

export function dollars(cost: number | undefined): string {
  return cost === undefined ? "cost unknown" : `$${cost.toFixed(4)}`;
}

/** One thing, two things. */
export function several(n: number, one: string, more = `${one}s`): string {
  return `${n} ${n === 1 ? one : more}`;
}

/** What steers a terminal or reverses the direction of reading; colours and ends of lines are matched whole, to be kept. */
const STEERING =
  // deno-lint-ignore no-control-regex
  /\u001b\[\d{0,3}m|\r\n|[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** What writes over a line of progress: kept only at the very beginning, which is always our own text. */
// deno-lint-ignore no-control-regex
const OVER = /^\r\u001b\[2?K/;

/** A text that is safe to print: everything that steers a terminal, but for colours, is escaped. */
export function harmless(text: string): string {
  const [over = ""] = OVER.exec(text) ?? [];
  const safe = (found: string) => found.length > 1 && found !== CONCEALED ? found : [...found].map(named).join("");
  return over + text.slice(over.length).replace(STEERING, safe);
}

/** The same of one row of a terminal, which an end of line would make two of. */
export function harmlessRow(row: string): string {
  return harmless(row).replace(/[\r\n]/g, named);
}

/** The style that hides what follows. */
const CONCEALED = "\u001b[8m";

function named(char: string): string {
  return /[ -~]/.test(char) ? char : `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

const NAMES = ["bold", "dim", "red", "green", "yellow", "magenta", "cyan"] as const;

type Styles = { readonly [name in typeof NAMES[number]]: (text: string) => string };
export type Colours = Styles & { readonly coloured: boolean };

const PLAIN: Colours = { ...Object.fromEntries<any>(NAMES.map((name) => [name, String])) as Styles, coloured: false };

/** Colours on a terminal whose user has not turned them off. */
export function coloursFor(terminal: boolean, env: Readonly<Record<string, string | undefined>>): Colours {
  if (!terminal || env.NO_COLOR || env.TERM === "dumb") return PLAIN;
  // Importing picocolors reads process.stdout, which takes Bun 15 ms to make: not in a pipe.
  const require = process.getBuiltinModule("node:module").createRequire(import.meta.url);
  const { createColors } = require("picocolors") as typeof picocolors;
  return { ...createColors(true), coloured: true };
}

/** Characters that take two columns: East Asian wide and full-width ones, and emoji. */
const WIDE =
  /^(?:\p{Emoji_Presentation}|[\u1100-\u115f\u231a\u231b\u2329\u232a\u2e80-\u303e\u3041-\u4dbf\u4e00-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{16fe0}-\u{18cff}\u{1b000}-\u{1b2ff}\u{1f200}-\u{1f2ff}\u{20000}-\u{3fffd}])/u;
const NONE = /^[\p{M}\p{Cf}\p{Cc}]/u;
// deno-lint-ignore no-control-regex
const STYLES = /\u001b\[[\d;]*m/g;
const ASCII = /^[\u0020-\u007e]*$/;

let segmenter: Intl.Segmenter | undefined;

/** The characters of a text as a person sees them, one by one. */
export function* graphemes(text: string): Generator<string> {
  segmenter ??= new Intl.Segmenter(undefined, { granularity: "grapheme" });
  for (const { segment } of segmenter.segment(text)) yield segment;
}

function widthOfOne(grapheme: string): number {
  if (NONE.test(grapheme)) return 0;
  return WIDE.test(grapheme) || grapheme.includes("\ufe0f") ? 2 : 1;
}

/** How many columns of a terminal a text takes, without our own styling. */
export function displayWidth(text: string): number {
  const bare = text.includes("\u001b") ? text.replace(STYLES, "") : text;
  if (ASCII.test(bare)) return bare.length;
  let width = 0;
  for (const one of graphemes(bare)) width += widthOfOne(one);
  return width;
}

/** The text in at most `columns` columns, with a mark if it was cut. For text without styling. */
export function cut(text: string, columns: number): string {
  if (displayWidth(text) <= columns) return text;
  if (columns < 1) return "";
  const [head = ""] = pieces(text.slice(0, 32 * columns), () => columns - 1);
  return displayWidth(head) < columns ? `${head}…` : "…";
}

/** The text in rows of full width: nothing is left out, and words are split anywhere. */
export function chop(text: string, columns: number): string[] {
  return pieces(text, () => columns);
}

/** Splits a text in one pass into rows as wide as they may be; a row too narrow for a wide character still takes it. */
function pieces(text: string, columnsOf: (row: number) => number): string[] {
  const rows: string[] = [];
  let [from, at, width] = [0, 0, 0];
  for (const one of ASCII.test(text) ? text : graphemes(text)) {
    const more = widthOfOne(one);
    if (width + more > columnsOf(rows.length) && (at > from || columnsOf(rows.length) < 1)) {
      rows.push(text.slice(from, at));
      [from, width] = [at, 0];
    }
    at += one.length;
    width += more;
  }
  return [...rows, text.slice(from)];
}

/** One line of prose as rows, split between words if possible, and indented like its text, so that lists stay lists. */
export function wrap(line: string, columns: number, indent?: number): string[] {
  if (displayWidth(line) <= columns) return [line];
  const [lead] = /^\s*(?:(?:[-*+•>]|\d+[.)])\s+)?/.exec(line)!;
  const hang = " ".repeat(Math.min(indent ?? displayWidth(lead), Math.floor(columns / 2)));
  const rows: string[] = [];
  let row = line.slice(0, Math.min(line.length - line.trimStart().length, Math.floor(columns / 2)));
  let width = displayWidth(row);
  let isEmpty = true;
  for (const [, gap, word] of line.trimStart().matchAll(/(\s*)(\S+)/g)) {
    const part = isEmpty ? word! : `${gap}${word}`;
    const more = displayWidth(part);
    if (width + more <= columns) {
      row += part;
      width += more;
    } else {
      if (!isEmpty) rows.push(row);
      const parts = broken(word!, isEmpty ? row : hang, hang, columns);
      rows.push(...parts.slice(0, -1));
      row = parts.at(-1)!;
      width = displayWidth(row);
    }
    isEmpty = false;
  }
  return isEmpty ? rows : [...rows, row];
}

/** A word on rows of its own, after their indent if that leaves room. */
function broken(word: string, first: string, hang: string, columns: number): string[] {
  const begin = (row: number) => {
    const start = row === 0 ? first : hang;
    return columns - displayWidth(start) < 2 ? "" : start;
  };
  return pieces(word, (row) => columns - displayWidth(begin(row))).map((piece, row) => begin(row) + piece);
}

/** Rows under a head, each column as wide as its widest cell; the last one is as long as it is, and a row as `columns` allow. */
export function table(head: readonly string[], rows: readonly (readonly string[])[], columns = Infinity): string {
  const all = [head, ...rows].map((cells) => cells.map((cell) => cell.replace(/\r?\n/g, "⏎")));
  const widths = head.map((_, i) => Math.max(...all.map((cells) => displayWidth(cells[i]!))));
  const line = (cells: readonly string[]) =>
    cells.map((cell, i) => i === cells.length - 1 ? cell : cell + " ".repeat(widths[i]! - displayWidth(cell)))
      .join("  ").trimEnd();
  return all.map((cells) => `${cut(line(cells), columns)}\n`).join("");
}
