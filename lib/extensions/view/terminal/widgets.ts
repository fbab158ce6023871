import type { Cursor } from "./screen.ts";
import { cut, wrap } from "../../../cli/show/text.ts";
import type { Key } from "./keys.ts";
import { LineEditor } from "./line-editor.ts";
import type { Stage } from "./stage.ts";

/** Something on the screen that takes the keys until it is answered. */
export interface Widget {
  shown(columns: number): { rows: string[]; cursor?: Cursor };
  press(key: Key): void;
}

type Head = (columns: number) => readonly string[];

export interface Option {
  readonly label: string;
  readonly note?: string;
  readonly letter?: string;
}

/** Has a person choose an option, or several of `many`; gives their indexes, undefined if they interrupted. */
export function choose(
  stage: Stage,
  { head, options, many = false }: { head: Head; options: readonly Option[]; many?: boolean },
  signal: AbortSignal,
): Promise<readonly number[] | undefined> {
  const { cyan, bold, dim } = stage.colours;
  const keys = many ? "Space selects, Enter confirms" : "Enter or a number";
  const chosen = new Set<number>();
  let at = 0;
  const rowsOf = ({ label, note }: Option, i: number, columns: number) => {
    const box = many ? (chosen.has(i) ? "◉ " : "○ ") : "";
    // Never cut: what a person agrees to is what they read.
    const rows = wrap(`${i + 1} ${box}${label}`, Math.max(8, columns - 2), 2);
    const about = note ? wrap(note, Math.max(8, columns - 4)) : [];
    return [
      ...rows.map((row, n) => i === at ? `${n === 0 ? cyan("›") : " "} ${bold(row)}` : `  ${row}`),
      ...about.map((row) => `    ${dim(row)}`),
    ];
  };
  return stage.ask<readonly number[]>((done) => {
    const type = (char: string) => {
      const numbered = options[Number(char) - 1] ? Number(char) - 1 : -1;
      const meant = char === " "
        ? at
        : numbered < 0
        ? options.findIndex((o) => o.letter === char.toLowerCase())
        : numbered;
      if (meant < 0) return;
      at = meant;
      if (many) chosen.delete(at) || chosen.add(at);
      else if (char !== " ") done([at]);
    };
    return {
      shown: (columns) => ({
        rows: [
          ...head(columns),
          ...options.flatMap((option, i) => rowsOf(option, i, columns)),
          dim(cut(`  ${keys} · Esc interrupts`, columns)),
        ],
      }),
      press({ name, text }) {
        if (name === "up") at = (at + options.length - 1) % options.length;
        else if (name === "down" || name === "tab") at = (at + 1) % options.length;
        else if (name === "enter") done(chosen.size > 0 ? [...chosen].sort((a, b) => a - b) : [at]);
        else if (name === "text") { for (const char of text) type(char); }
      },
    };
  }, signal);
}

/** Has a person write something; Enter gives it, alone too unless it is needed. Undefined if they interrupted. */
export function write(stage: Stage, head: Head, signal: AbortSignal, needed = false): Promise<string | undefined> {
  const line = new LineEditor();
  return stage.ask<string>((done) => ({
    shown(columns) {
      const above = head(columns);
      const { rows, cursor } = line.shown("› ", columns, 6);
      return { rows: [...above, ...rows], cursor: { row: above.length + cursor.row, column: cursor.column } };
    },
    press(key) {
      const text = line.text.trim();
      if (key.name !== "enter") line.press(key);
      else if (text !== "" || !needed) done(text);
    },
  }), signal);
}
