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
