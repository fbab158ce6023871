import type { DiffHunk } from "../shape.ts";
import { chop, type Colours, cut, openText } from "../../../cli/show/text.ts";

/** How many rows of a change are shown by default. */
const MOST_ROWS = 24;

interface DiffOptions {
  readonly columns: number;
  readonly colours: Colours;
  /** How many rows at most. @default 24 */
  readonly most?: number;
  /** Long lines continue in the next row instead of being cut: for a change that a person must approve. @default false */
  readonly whole?: boolean;
}

/** What an edit did to a file, as rows with line numbers: removed lines in red, added ones in green. */
export function diffRows(
  hunks: readonly DiffHunk[],
  { columns, colours, most = MOST_ROWS, whole = false }: DiffOptions,
): string[] {
  const digits = String(Math.max(...hunks.map((h) => Math.max(h.oldStart, h.newStart) + h.lines.length), 1));
  const rows = hunks.flatMap((hunk, i) => {
    let { oldStart: old, newStart: now } = hunk;
    const shown = hunk.lines.filter((line) => !line.startsWith("\\")).flatMap((line) => {
      const [sign, text] = [line[0], openText(line.slice(1)).trimEnd()];
      const number = String(sign === "-" ? old : now).padStart(digits.length);
      if (sign !== "+") old++;
      if (sign !== "-") now++;
      const before = `    ${number} ${sign} `;
      const room = Math.max(4, columns - before.length);
      const parts = whole ? chop(text, room) : [cut(text, room)];
      const tone = sign === "-" ? colours.red : sign === "+" ? colours.green : colours.dim;
      return parts.map((part, n) => tone(`${n === 0 ? before : " ".repeat(before.length)}${part}`));
    });
    return i === 0 ? shown : [colours.dim(`    ${"⋮".padStart(digits.length)}`), ...shown];
  });
  if (rows.length <= most) return rows;
  const hidden = rows.length - most + 1;
  return [...rows.slice(0, most - 1), colours.dim(`    … ${hidden} more lines`)];
}

/** The change between two texts; loads the package at first use. */
export async function hunksBetween(before: string, after: string): Promise<DiffHunk[]> {
  const { structuredPatch } = await import("diff");
  return structuredPatch("", "", before, after, "", "", { context: 2 })?.hunks ?? [];
}
