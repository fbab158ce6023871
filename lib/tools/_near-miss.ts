import { type Fold, foldLines, FOLDS, SPELLINGS } from "./_folds.ts";

/** A place that has the wanted text but for differences that can be named. */
export interface NearMiss {
  readonly folds: readonly Fold[];
  /** What is different about how the wanted text was spelled; "" where it is not that. */
  readonly spelling: string;
  /** Only the amount of whitespace differs, within lines or between them. */
  readonly spacing: boolean;
  /** The lines there, as they are, and the number of the first. */
  readonly lines: readonly string[];
  readonly firstLine: number;
}

/** Looks for text that is `wanted` but for a nameable difference. Each try is one linear pass. */
export function nearMiss(text: string, wanted: string): NearMiss | undefined {
  const all = new Set(FOLDS);
  for (const { says, of } of SPELLINGS) {
    const spelled = of(wanted);
    if (says !== "" && spelled === wanted) continue;
    if (placeOf(text, spelled, all) === undefined) continue;
    const folds = fewest(text, spelled);
    return {
      folds: FOLDS.filter((fold) => folds.has(fold)),
      spelling: says,
      spacing: false,
      ...placeOf(text, spelled, folds)!,
    };
  }
  return spacingMiss(text, wanted);
}

/** The folds without which the text is not found: each is left out if the others do. */
function fewest(text: string, wanted: string): Set<Fold> {
  const needed = new Set(FOLDS);
  for (const fold of FOLDS.toReversed()) {
    needed.delete(fold);
    if (placeOf(text, wanted, needed) === undefined) needed.add(fold);
  }
  return needed;
}

type Place = Pick<NearMiss, "lines" | "firstLine">;

function placeOf(text: string, wanted: string, folds: ReadonlySet<Fold>): Place | undefined {
  const folded = foldLines(wanted, folds);
  let needle = folded.join("\n");
  if (needle.trim() === "") return undefined;
  // Whitespace folded away at the edge of a line must have been at the edge of one: 'x' with indentation is not every x.
  const open = folds.has("indentation") && /^[ \t]/.test(wanted);
  const close = folds.has("trailing whitespace") && /[ \t]$/.test(wanted);
  if (open) needle = `\n${needle}`;
  if (close) needle = `${needle}\n`;
  const joined = foldLines(text, folds).join("\n");
  // With the line break put before it, a place in `hay` is one further than in the text, as is the needle's own.
  const at = `${open ? "\n" : ""}${joined}${close ? "\n" : ""}`.indexOf(needle);
  if (at < 0) return undefined;
  const firstLine = 1 + breaksBefore(joined, at);
  return { firstLine, lines: linesAt(text, firstLine, folded.length) };
}

/** Lines as they are, so that joined by LF they are in the text: with the CR before a line break, and CR breaks kept. */
export function linesAt(text: string, firstLine: number, count: number): string[] {
  const at = firstLine - 1;
  return text.includes("\n")
    ? text.split("\n").slice(at, at + count)
    : [text.split("\r").slice(at, at + count).join("\r")];
}

function breaksBefore(text: string, end: number): number {
  let count = 0;
  for (let i = text.indexOf("\n"); i >= 0 && i < end; i = text.indexOf("\n", i + 1)) count++;
  return count;
}

function spacingMiss(text: string, wanted: string): NearMiss | undefined {
  const needle = wanted.replaceAll(/\s+/g, "");
  if (needle.length < 2) return undefined;
  const at = text.replaceAll(/\s+/g, "").indexOf(needle);
  if (at < 0) return undefined;
  let line = 1, firstLine = 1, seen = 0;
  for (let i = 0; i < text.length; i++) {
    const c = text[i]!;
    if (c === "\n") line++;
    if (c.trim() === "") continue;
    if (seen === at) firstLine = line;
    if (++seen === at + needle.length) break;
  }
  return { folds: [], spelling: "", spacing: true, firstLine, lines: linesAt(text, firstLine, line - firstLine + 1) };
}
