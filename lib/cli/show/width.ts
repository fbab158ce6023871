/** Characters that take two columns: East Asian wide and full-width ones, and emoji. */
const WIDE =
  /^(?:\p{Emoji_Presentation}|[\u1100-\u115f\u231a\u231b\u2329\u232a\u2e80-\u303e\u3041-\u4dbf\u4e00-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{16fe0}-\u{18cff}\u{1b000}-\u{1b2ff}\u{1f200}-\u{1f2ff}\u{20000}-\u{3fffd}])/u;
const NONE = /^[\p{M}\p{Cf}\p{Cc}]/u;
// deno-lint-ignore no-control-regex
const STYLE = /\u001b\[[\d;]*m/g;
const PLAIN = /^[\u0020-\u007e]*$/;

let segmenter: Intl.Segmenter | undefined;

function graphemes(text: string): string[] {
  if (PLAIN.test(text)) return text.split("");
  segmenter ??= new Intl.Segmenter(undefined, { granularity: "grapheme" });
  return Array.from(segmenter.segment(text), ({ segment }) => segment);
}

function widthOfOne(grapheme: string): number {
  if (NONE.test(grapheme)) return 0;
  return WIDE.test(grapheme) || grapheme.includes("\ufe0f") ? 2 : 1;
}

/** How many columns of a terminal a text takes; our own styling takes none. */
export function displayWidth(text: string): number {
  const bare = text.includes("\u001b") ? text.replace(STYLE, "") : text;
  if (PLAIN.test(bare)) return bare.length;
  return graphemes(bare).reduce((sum, one) => sum + widthOfOne(one), 0);
}

/** The text in at most so many columns; what is cut off is marked. For text without styling. */
export function cut(text: string, columns: number): string {
  if (displayWidth(text) <= columns) return text;
  return columns < 1 ? "" : `${split(text, columns - 1)[0]}…`;
}

/** The text parted after as many columns as fit. */
function split(text: string, columns: number): [head: string, rest: string] {
  if (columns === Infinity) return [text, ""];
  let width = 0;
  let at = 0;
  for (const one of graphemes(text)) {
    width += widthOfOne(one);
    if (width > columns) break;
    at += one.length;
  }
  return [text.slice(0, at), text.slice(at)];
}

/** The rows of a text that fill their columns: nothing is left out, words are parted anywhere. */
export function chop(text: string, columns: number): string[] {
  const rows: string[] = [];
  let rest = text;
  do {
    const [head, more] = split(rest, columns);
    // A column too narrow for a wide character still takes it: there must be an end.
    const taken = head === "" && more !== "" ? graphemes(more)[0]! : head;
    rows.push(taken);
    rest = rest.slice(taken.length);
  } while (rest !== "");
  return rows;
}

/**
 * One line of prose as rows of at most so many columns, parted between words where that can be. The rows after the first
 * are indented as its text is, so that lists stay lists.
 */
export function wrap(line: string, columns: number, indent?: number): string[] {
  if (displayWidth(line) <= columns) return [line];
  const [lead] = /^\s*(?:(?:[-*+•>]|\d+[.)])\s+)?/.exec(line)!;
  const hang = " ".repeat(Math.min(indent ?? displayWidth(lead), Math.floor(columns / 2)));
  const rows: string[] = [];
  let row = split(/^\s*/.exec(line)![0], Math.floor(columns / 2))[0];
  let isEmpty = true;
  for (const [, gap, word] of line.trimStart().matchAll(/(\s*)(\S+)/g)) {
    const part = isEmpty ? word! : `${gap}${word}`;
    if (displayWidth(row) + displayWidth(part) <= columns) row += part;
    else {
      if (!isEmpty) rows.push(row);
      const pieces = broken(word!, isEmpty ? row : hang, hang, columns);
      rows.push(...pieces.slice(0, -1));
      row = pieces.at(-1)!;
    }
    isEmpty = false;
  }
  return isEmpty ? rows : [...rows, row];
}

/** A word on rows of its own, behind what they begin with; where not even a character fits behind it, without. */
function broken(word: string, first: string, hang: string, columns: number): string[] {
  const rows: string[] = [];
  let start = first;
  for (let rest = word; rest !== "" || rows.length === 0;) {
    let [head, more] = split(rest, columns - displayWidth(start));
    if (head === "") {
      head = graphemes(rest)[0]!;
      more = rest.slice(head.length);
      start = "";
    }
    rows.push(start + head);
    [start, rest] = [hang, more];
  }
  return rows;
}
