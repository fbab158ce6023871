import { cut, displayWidth } from "./show/width.ts";

/** Rows under a head, each column as wide as its widest cell; the last one is as long as it is, and a row as `columns` allow. */
export function table(head: readonly string[], rows: readonly (readonly string[])[], columns = Infinity): string {
  const all = [head, ...rows].map((cells) => cells.map((cell) => cell.replace(/\r?\n/g, "⏎")));
  const widths = head.map((_, i) => Math.max(...all.map((cells) => displayWidth(cells[i]!))));
  const line = (cells: readonly string[]) =>
    cells.map((cell, i) => i === cells.length - 1 ? cell : cell + " ".repeat(widths[i]! - displayWidth(cell)))
      .join("  ").trimEnd();
  return all.map((cells) => `${cut(line(cells), columns)}\n`).join("");
}
