/** What a message may show of a value. */
const MOST = 80;

/** A value as an error message shows it: short, and whatever it is, without throwing. */
export function shown(value: unknown): string {
  const text = written(value);
  return text.length > MOST ? `${text.slice(0, MOST - 1)}…` : text;
}

function written(value: unknown): string {
  try {
    return typeof value === "bigint" ? `${value}n` : JSON.stringify(value) ?? String(value);
  } catch {
    return Object.prototype.toString.call(value);
  }
}

/** A word as a shell reads it back. */
export function shellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/** The words of whatever was thrown. Anything can be thrown, and reading it must not throw again. */
export function thrownWords(error: unknown): string {
  try {
    return error instanceof Error ? String(error.message || error.name) : String(error);
  } catch {
    return "it threw something that cannot be shown";
  }
}

/** What was thrown as an error, which it mostly is already; never throws. */
export function asError(error: unknown): Error {
  try {
    if (error instanceof Error && typeof error.message === "string") return error;
  } catch { /* a proxy */ }
  return new Error(thrownWords(error));
}
