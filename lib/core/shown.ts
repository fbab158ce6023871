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
