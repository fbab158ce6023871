/** A part of a word that only the shell will know; `many` = it may become no word at all, or several. */
export interface Hole {
  readonly many: boolean;
}

/** A shell word after quote removal: literal text and what expands when it runs. */
export interface Word {
  readonly parts: readonly (string | Hole)[];
  readonly source: string;
  /** No quotes and no escapes in it: only such a word can be reserved, a number of a redirection or an assignment. */
  readonly bare: boolean;
}

/** What cannot be read safely. What was read before it still counts: a shell runs line by line. */
export class Unreadable extends Error {
  override name = "Unreadable";
}

/** A here-document that was announced; its body comes with the next newline. */
export interface Body {
  readonly end: string;
  readonly tabs: boolean;
  readonly expands: boolean;
}

/** A place in a command line, and what was found so far. */
export interface Reader {
  readonly text: string;
  at: number;
  depth: number;
  readonly bodies: Body[];
  /** Only what bash and a POSIX shell read alike may pass: the script is for `sh`. */
  readonly posix: boolean;
  /** Constructs that are read, but evaluate data as code: such a command is never allowed by a pattern. */
  readonly doubts: Set<string>;
  /** Reads the commands of `$(…)`, `<(…)` up to the closing bracket. */
  readonly list: (reader: Reader) => void;
  /** Reads a whole script that stands inside another text. */
  readonly script: (text: string, reader: Reader) => void;
}

export const ONE: Hole = { many: false };
export const MANY: Hole = { many: true };

/** The text of a word that holds no expansion, or undefined. */
export function literal(word: Word | undefined): string | undefined {
  if (word === undefined || word.parts.some((p) => typeof p !== "string")) return undefined;
  return word.parts.join("");
}

/** What a word begins with, whatever its expansions become. */
export function beginning(word: Word | undefined): string {
  return word === undefined ? "" : word.parts.slice(0, firstHole(word)).join("");
}

/** Which part of a word is the first that only the shell knows; how many there are where it knows none. */
export function firstHole({ parts }: Word): number {
  const at = parts.findIndex((part) => typeof part !== "string");
  return at < 0 ? parts.length : at;
}

/** Whether the word may expand to nothing, so that the next word takes its place. */
export function mayVanish(word: Word): boolean {
  return literal(word) === undefined && word.parts.every((p) => typeof p === "string" ? p === "" : p.many);
}

export function peek(r: Reader, ahead = 0): string {
  return r.text[r.at + ahead] ?? "";
}

export function bashOnly(r: Reader, what: string): void {
  if (r.posix) throw new Unreadable(`${what} means something else to sh`);
}

/** `<(` and `>(` are a word of their own kind, not a redirection. */
export function opensProcess(r: Reader): boolean {
  return (peek(r) === "<" || peek(r) === ">") && peek(r, 1) === "(";
}
