import type { Cursor } from "../show/screen.ts";
import { type Colours, cut, wrap } from "../show/text.ts";
import type { Key } from "./keys.ts";
import { LineEditor } from "./line-editor.ts";
import type { Stage } from "./stage.ts";

/** Something on the screen that takes the keys until it is answered. */
export interface Widget {
  shown(columns: number): { rows: string[]; cursor?: Cursor };
  press(key: Key): void;
}

export interface Option {
  readonly label: string;
  readonly note?: string;
  /** A letter that chooses it. */
  readonly letter?: string;
}

interface ChoiceOptions {
  readonly head: (columns: number) => readonly string[];
  readonly options: readonly Option[];
  /** Whether several can be chosen. */
  readonly many?: boolean;
  readonly colours: Colours;
}

/** Has a person choose: the indexes of what they chose, undefined if they interrupted. */
export function choose(
  stage: Stage,
  given: Omit<ChoiceOptions, "colours">,
  signal: AbortSignal,
): Promise<readonly number[] | undefined> {
  const { colours } = stage;
  return stage.ask<readonly number[]>((done) => new Choice({ ...given, colours }, done), signal);
}

/** Options under each other: arrows and Enter, or the number, or the letter. */
class Choice implements Widget {
  readonly #given: ChoiceOptions;
  readonly #done: (chosen: readonly number[]) => void;
  readonly #chosen = new Set<number>();
  #at = 0;

  constructor(given: ChoiceOptions, done: (chosen: readonly number[]) => void) {
    this.#given = given;
    this.#done = done;
  }

  shown(columns: number): { rows: string[] } {
    const { head, options, many, colours: { cyan, bold, dim } } = this.#given;
    const rows = options.flatMap(({ label, note }, i) => {
      const here = i === this.#at;
      const box = many ? (this.#chosen.has(i) ? "◉ " : "○ ") : "";
      // Never cut: what a person agrees to is what they read.
      const [first = "", ...more] = wrap(`${i + 1} ${box}${label}`, Math.max(8, columns - 2), 2);
      const about = note ? wrap(note, Math.max(8, columns - 4)).map((row) => `    ${dim(row)}`) : [];
      const rest = more.map((row) => `  ${here ? bold(row) : row}`);
      return [here ? `${cyan("›")} ${bold(first)}` : `  ${first}`, ...rest, ...about];
    });
    const keys = many ? "Space selects, Enter confirms" : "Enter or a number";
    return { rows: [...head(columns), ...rows, dim(cut(`  ${keys} · Esc interrupts`, columns))] };
  }

  press({ name, text }: Key): void {
    const { options } = this.#given;
    if (name === "up" || name === "ctrl-p") this.#at = (this.#at + options.length - 1) % options.length;
    else if (name === "down" || name === "ctrl-n" || name === "tab") this.#at = (this.#at + 1) % options.length;
    else if (name === "enter") this.#done(this.#chosen.size > 0 ? [...this.#chosen].sort((a, b) => a - b) : [this.#at]);
    else if (name === "text") { for (const one of text) this.#type(one); }
  }

  #type(char: string): void {
    const { options, many } = this.#given;
    if (char === " ") return this.#toggle(this.#at);
    const byNumber = /^[1-9]$/.test(char) ? Number(char) - 1 : -1;
    const chosen = options[byNumber] ? byNumber : options.findIndex((o) => o.letter === char.toLowerCase());
    if (chosen < 0) return;
    this.#at = chosen;
    if (many) this.#toggle(chosen);
    else this.#done([chosen]);
  }

  #toggle(i: number): void {
    if (!this.#given.many) return;
    if (!this.#chosen.delete(i)) this.#chosen.add(i);
  }
}

/** A line to write; Enter gives it. */
export class Entry implements Widget {
  readonly #head: (columns: number) => readonly string[];
  readonly #done: (text: string) => void;
  readonly #needed: boolean;
  readonly #line = new LineEditor();

  constructor(
    head: (columns: number) => readonly string[],
    done: (text: string) => void,
    { needed = false }: { readonly needed?: boolean } = {},
  ) {
    this.#head = head;
    this.#needed = needed;
    this.#done = done;
  }

  shown(columns: number): { rows: string[]; cursor: Cursor } {
    const head = this.#head(columns);
    const { rows, cursor } = this.#line.shown("› ", columns, 6);
    return { rows: [...head, ...rows], cursor: { row: head.length + cursor.row, column: cursor.column } };
  }

  press(key: Key): void {
    const text = this.#line.text.trim();
    if (key.name !== "enter") this.#line.press(key);
    else if (text !== "" || !this.#needed) this.#done(text);
  }
}
