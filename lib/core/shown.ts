import { quietly } from "./json.ts";

/** What a message may show of a value. */
const MOST = 80;

/** A value as an error message shows it: short, and whatever it is, without throwing. */
export function shown(value: unknown): string {
  const text = quietly(() => typeof value === "bigint" ? `${value}n` : JSON.stringify(value) ?? String(value)) ??
    Object.prototype.toString.call(value);
  return text.length > MOST ? `${text.slice(0, MOST - 1)}…` : text;
}

/** A word as a shell reads it back. */
export function shellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/** The words of whatever was thrown. Anything can be thrown, and reading it must not throw again. */
export function thrownWords(error: unknown): string {
  return quietly(() => error instanceof Error ? String(error.message || error.name) : String(error)) ??
    "it threw something that cannot be shown";
}

/** What was thrown as an error, which it mostly is already; never throws. */
export function asError(error: unknown): Error {
  // A proxy may throw at any look.
  return quietly(() => error instanceof Error && typeof error.message === "string")
    ? error as Error
    : new Error(thrownWords(error));
}
