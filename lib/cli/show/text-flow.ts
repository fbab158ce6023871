import type { Colours } from "./colours.ts";
import { plainText } from "./text.ts";
import { chop, wrap } from "./width.ts";

/**
 * The text of a model while it streams: complete lines are returned as rows, the rest is the line being written. Prose
 * is wrapped between words; fenced code stays as it is, so that it can be copied.
 */
export class TextFlow {
  #rest = "";
  #fenced = false;
  /** Empty lines are held back until something follows them. */
  #empty = 0;
  #hasText = false;

  /** Takes more text; returns the rows that are complete. */
  take(text: string, columns: number, colours: Colours): string[] {
    const lines = (this.#rest + text).split("\n");
    this.#rest = lines.pop()!;
    return lines.flatMap((line) => this.#line(line, columns, colours));
  }

  /** The rest as rows, at the end of the text. */
  end(columns: number, colours: Colours): string[] {
    const rows = this.#rest === "" ? [] : this.#line(this.#rest, columns, colours);
    this.#rest = "";
    this.#fenced = false;
    this.#empty = 0;
    this.#hasText = false;
    return rows;
  }

  /** The last rows of the line that is being written, at most `most`. */
  now(columns: number, most: number, colours: Colours): string[] {
    const line = shown(this.#rest);
    if (line.trim() === "") return [];
    const rows = this.#fenced ? chop(line, columns) : wrap(line, columns).map((row) => styled(row, colours));
    return [...Array<string>(this.#empty).fill(""), ...rows].slice(-most);
  }

  #line(given: string, columns: number, colours: Colours): string[] {
    const line = shown(given).trimEnd();
    if (line === "") {
      if (this.#hasText) this.#empty++;
      return [];
    }
    const before = Array<string>(this.#empty).fill("");
    this.#empty = 0;
    this.#hasText = true;
    if (/^\s*(```|~~~)/.test(line)) {
      this.#fenced = !this.#fenced;
      return [...before, colours.dim(line)];
    }
    return this.#fenced ? [...before, line] : [...before, ...wrap(line, columns).map((row) => styled(row, colours))];
  }
}

function shown(line: string): string {
  return plainText(line).replaceAll("\t", "    ");
}

/** A little Markdown: only marks that a colour can replace. */
function styled(row: string, { coloured, bold, cyan }: Colours): string {
  if (!coloured) return row;
  if (/^#{1,6} /.test(row)) return bold(row.replace(/^#+ /, ""));
  return row.replace(/`([^`]+)`|\*\*(\S(?:[^*]*\S)?)\*\*/g, (_, code, strong) => code ? cyan(code) : bold(strong));
}
