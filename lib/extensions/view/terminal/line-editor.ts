import type { Cursor } from "./screen.ts";
import { chop, displayWidth, graphemes } from "../../../cli/show/text.ts";
import type { Key } from "./keys.ts";

/** A text that a person writes, of one or many lines, with its cursor. */
export class LineEditor {
  #text = "";
  #at = 0;

  get text(): string {
    return this.#text;
  }

  get cursor(): number {
    return this.#at;
  }

  set(text: string): void {
    this.#text = text;
    this.#at = text.length;
  }

  /** Does what a key means for the text; says whether it meant anything. */
  press({ name, text }: Key): boolean {
    if (name === "up" || name === "down") return this.#vertical(name === "up" ? -1 : 1);
    const insert = (more: string) => this.#replace(this.#at, this.#at, more);
    const remove = () => this.#replace(this.#at, this.#after(), "");
    const actions: { readonly [name in Key["name"]]?: () => void } = {
      text: () => insert(text),
      paste: () => insert(text),
      newline: () => insert("\n"),
      backspace: () => this.#replace(this.#before(), this.#at, ""),
      delete: remove,
      "ctrl-d": remove,
      left: () => this.#at = this.#before(),
      right: () => this.#at = this.#after(),
      "word-left": () => this.#at = this.#wordBefore(),
      "word-right": () => this.#at += /^\s*\S*/.exec(this.#text.slice(this.#at))![0].length,
      home: () => this.#at = this.#lineStart(),
      end: () => this.#at = this.#lineEnd(),
      "delete-before": () => this.#replace(this.#lineStart(), this.#at, ""),
      "delete-after": () => this.#replace(this.#at, this.#lineEnd(), ""),
      "delete-word": () => this.#replace(this.#wordBefore(), this.#at, ""),
    };
    actions[name]?.();
    return name in actions;
  }

  /** The text as rows behind a mark, and the cursor's place; a long text is shown around the cursor. */
  shown(mark: string, columns: number, most: number): { rows: string[]; cursor: Cursor } {
    const indent = displayWidth(mark);
    const width = Math.max(2, columns - indent);
    const rows: string[] = [];
    let cursor = { row: 0, column: indent };
    let offset = 0;
    for (const line of this.#text.split("\n")) {
      // A character for a character, so that the cursor stays in place.
      const pieces = chop(line.replaceAll("\t", "→"), width);
      if (displayWidth(pieces.at(-1)!) >= width) pieces.push("");
      for (const [i, piece] of pieces.entries()) {
        const end = offset + piece.length;
        const isLast = i === pieces.length - 1;
        if (this.#at >= offset && (this.#at < end || (isLast && this.#at === end))) {
          cursor = { row: rows.length, column: indent + displayWidth(piece.slice(0, this.#at - offset)) };
        }
        rows.push(`${rows.length === 0 ? mark : " ".repeat(indent)}${piece}`);
        offset = end;
      }
      offset += 1;
    }
    const from = Math.max(0, Math.min(cursor.row - Math.floor(most / 2), rows.length - most));
    return { rows: rows.slice(from, from + most), cursor: { row: cursor.row - from, column: cursor.column } };
  }

  #replace(from: number, to: number, text: string): void {
    this.#text = this.#text.slice(0, from) + text + this.#text.slice(to);
    this.#at = from + text.length;
  }

  /** Where the character before the cursor begins: what a person sees as one is one. */
  #before(): number {
    const head = this.#text.slice(Math.max(0, this.#at - 40), this.#at);
    return this.#at - ([...graphemes(head)].at(-1)?.length ?? 0);
  }

  #after(): number {
    const tail = this.#text.slice(this.#at, this.#at + 40);
    const [first = ""] = graphemes(tail);
    return this.#at + first.length;
  }

  #wordBefore(): number {
    let at = this.#text.slice(0, this.#at).trimEnd().length;
    while (at > 0 && /\S/.test(this.#text[at - 1]!)) at--;
    return at;
  }

  #lineStart(): number {
    return this.#text.lastIndexOf("\n", this.#at - 1) + 1;
  }

  #lineEnd(): number {
    const end = this.#text.indexOf("\n", this.#at);
    return end < 0 ? this.#text.length : end;
  }

  /** Moves to the line above or below; false at the first and last line, where the key means something else. */
  #vertical(step: -1 | 1): boolean {
    const start = this.#lineStart();
    const column = this.#at - start;
    if (step === -1 ? start === 0 : this.#lineEnd() === this.#text.length) return false;
    this.#at = step === -1 ? start - 1 : this.#lineEnd() + 1;
    const from = this.#lineStart();
    this.#at = Math.min(from + column, this.#lineEnd());
    return true;
  }
}
