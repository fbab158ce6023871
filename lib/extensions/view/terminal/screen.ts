import { displayWidth, harmlessRow } from "../../../cli/show/text.ts";

/** The position of the cursor in the rows that change, where the user types. */
export interface Cursor {
  readonly row: number;
  readonly column: number;
}

interface ScreenOptions {
  readonly write: (text: string) => void;
  readonly columns: () => number;
  readonly rows: () => number;
}

/** Rows that stay, and below them a few that change, each time in one write. All of them are made harmless here. */
export class Screen {
  readonly #options: ScreenOptions;
  /** The rows below, as they were drawn. */
  #drawn: readonly string[] = [];
  #cursor: Cursor | undefined;
  #shown = "";

  constructor(options: ScreenOptions) {
    this.#options = options;
  }

  get columns(): number {
    return this.#options.columns();
  }

  /** Prints rows that stay, above those that change. */
  print(rows: readonly string[]): void {
    if (rows.length > 0) this.#draw(rows.map(harmlessRow), this.#drawn, this.#cursor);
  }

  /** Replaces the rows that change. Without a cursor it is hidden. */
  show(rows: readonly string[], cursor?: Cursor): void {
    const most = Math.max(1, this.#options.rows() - 1);
    const over = Math.max(0, rows.length - most);
    const kept = rows.slice(over).map(harmlessRow);
    const at = cursor && { row: Math.max(0, cursor.row - over), column: cursor.column };
    const sign = JSON.stringify([kept, at, this.columns]);
    if (sign === this.#shown) return;
    this.#draw([], kept, at);
    this.#shown = sign;
  }

  /** Removes the changing rows and shows the cursor again. */
  clear(): void {
    if (this.#drawn.length === 0 && this.#shown === "") return;
    this.#options.write(`${this.#erase()}${CURSOR_ON}`);
    this.#drawn = [];
    this.#cursor = undefined;
    this.#shown = "";
  }

  #draw(printed: readonly string[], rows: readonly string[], cursor: Cursor | undefined): void {
    const above = printed.map((row) => `${row}\r\n`).join("");
    const below = rows.join("\r\n");
    const text = `${this.#erase()}${above}${below}${this.#place(rows, cursor)}`;
    this.#drawn = rows;
    this.#cursor = cursor;
    this.#options.write(`${BEGIN}${text}${END}`);
  }

  /** Goes to the start of the changing rows and clears them, also if a narrower window has wrapped them. */
  #erase(): string {
    const { row } = this.#cursor ?? { row: Math.max(0, this.#drawn.length - 1) };
    const columns = Math.max(1, this.columns);
    const rowsOf = (text: string) => Math.max(1, Math.ceil(displayWidth(text) / columns));
    const above = this.#drawn.slice(0, row).reduce((sum, text) => sum + rowsOf(text), 0);
    const within = this.#cursor
      ? Math.floor(Math.min(this.#cursor.column, displayWidth(this.#drawn[row] ?? "")) / columns)
      : rowsOf(this.#drawn[row] ?? "") - 1;
    const up = above + within;
    return `\r${up > 0 ? `\u001b[${up}A` : ""}\u001b[J`;
  }

  #place(rows: readonly string[], cursor: Cursor | undefined): string {
    if (!cursor) return rows.length === 0 ? CURSOR_ON : CURSOR_OFF;
    const up = rows.length - 1 - cursor.row;
    const right = cursor.column > 0 ? `\u001b[${cursor.column}C` : "";
    return `\r${up > 0 ? `\u001b[${up}A` : ""}${right}${CURSOR_ON}`;
  }
}

/** Terminals that know these show everything between them at once. */
const BEGIN = "\u001b[?2026h";
const END = "\u001b[?2026l";
const CURSOR_ON = "\u001b[?25h";
const CURSOR_OFF = "\u001b[?25l";
