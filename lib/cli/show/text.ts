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
  const named = (char: string) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return text.replace(CONTROL, named).replace(TURNING, named).replaceAll("\t", "    ");
}

/** All of a text on one line. */
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
  return over +
    text.slice(over.length).replace(
      STEERING,
      (found) => found.length > 1 && found !== CONCEALED ? found : [...found].map(named).join(""),
    );
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

type Name = "bold" | "dim" | "red" | "green" | "yellow" | "magenta" | "cyan";

export type Colours = { readonly [name in Name]: (text: string) => string } & { readonly coloured: boolean };

const PLAIN: Colours = {
  bold: String,
  dim: String,
  red: String,
  green: String,
  yellow: String,
  magenta: String,
  cyan: String,
  coloured: false,
};

/** Colours on a terminal whose user has not turned them off. */
export function coloursFor(terminal: boolean, env: Readonly<Record<string, string | undefined>>): Colours {
  if (!terminal || env.NO_COLOR || env.TERM === "dumb") return PLAIN;
  // Importing picocolors reads process.stdout, which takes Bun 15 ms to make: not in a pipe.
  const { createColors } = process.getBuiltinModule("node:module").createRequire(import.meta.url)(
    "picocolors",
  ) as typeof picocolors;
  return { ...createColors(true), coloured: true };
}
