/** Characters that take two columns: East Asian wide and full-width ones, and emoji. */
const WIDE =
  /^(?:\p{Emoji_Presentation}|[\u1100-\u115f\u231a\u231b\u2329\u232a\u2e80-\u303e\u3041-\u4dbf\u4e00-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{16fe0}-\u{18cff}\u{1b000}-\u{1b2ff}\u{1f200}-\u{1f2ff}\u{20000}-\u{3fffd}])/u;
const NONE = /^[\p{M}\p{Cf}\p{Cc}]/u;
// deno-lint-ignore no-control-regex
const STYLE = /\u001b\[[\d;]*m/g;
const PLAIN = /^[\u0020-\u007e]*$/;

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
  const bare = text.includes("\u001b") ? text.replace(STYLE, "") : text;
  if (PLAIN.test(bare)) return bare.length;
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
  for (const one of PLAIN.test(text) ? text : graphemes(text)) {
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

/**
 * One line of prose as rows of at most `columns` columns, split between words if possible. The rows after the first are
 * indented like its text, so that lists stay lists.
 */
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
