import { type Fold, foldLines, FOLDS, SPELLINGS } from "./folds.ts";

/** A place that has the wanted text but for differences that can be named. */
export interface NearMiss {
  readonly folds: readonly Fold[];
  /** What is different about how the wanted text was spelled; "" if that is not the difference. */
  readonly spelling: string;
  /** Only the amount of whitespace differs, within lines or between them. */
  readonly spacing: boolean;
  /** The lines there, as they are, and the number of the first. */
  readonly lines: readonly string[];
  readonly firstLine: number;
}

const ALL: ReadonlySet<Fold> = new Set(FOLDS);
/** Of this many places that will do, the one with the fewest differences is reported. */
const PLACES = 8;

/** Looks for text that is `wanted` but for a nameable difference. Linear: the text is folded once. */
export function nearMiss(text: string, wanted: string): NearMiss | undefined {
  const folded = foldLines(text, ALL).join("\n");
  for (const { says, of } of SPELLINGS) {
    const spelled = of(wanted);
    if (says !== "" && spelled === wanted) continue;
    const misses = placesOf(folded, spelled, ALL, PLACES).map(({ firstLine, count }) => {
      const lines = linesAt(text, firstLine, count);
      return { firstLine, lines, folds: fewest(lines.join("\n"), spelled), spelling: says, spacing: false };
    });
    if (misses.length > 0) return misses.reduce((best, miss) => miss.folds.length < best.folds.length ? miss : best);
  }
  return spacingMiss(text, wanted);
}

/** The folds without which the wanted text is not in these lines: each is left out if the others do. */
function fewest(lines: string, wanted: string): Fold[] {
  const needed = new Set(FOLDS);
  for (const fold of FOLDS.toReversed()) {
    needed.delete(fold);
    if (placesOf(foldLines(lines, needed).join("\n"), wanted, needed, 1).length === 0) needed.add(fold);
  }
  return FOLDS.filter((fold) => needed.has(fold));
}

/** The first line and number of lines of each place where the wanted text, folded too, is in a folded text. */
function placesOf(folded: string, wanted: string, folds: ReadonlySet<Fold>, most: number) {
  const lines = foldLines(wanted, folds);
  const bare = lines.join("\n");
  const places: { firstLine: number; count: number }[] = [];
  if (bare.trim() === "") return places;
  // Whitespace folded away at the edge of a line must have been at the edge of one: 'x' with indentation is not every x.
  const open = folds.has("indentation") && /^[ \t]/.test(wanted) ? "\n" : "";
  const close = folds.has("trailing whitespace") && /[ \t]$/.test(wanted) ? "\n" : "";
  // With a line break put before both, a match still starts where the wanted text does in the folded one.
  const hay = open + folded + close, needle = open + bare + close;
  let line = 1, counted = 0;
  for (let at = hay.indexOf(needle); at >= 0 && places.length < most; at = hay.indexOf(needle, at + 1)) {
    line += breaksBetween(folded, counted, at);
    counted = at;
    places.push({ firstLine: line, count: lines.length });
  }
  return places;
}

/** Lines as they are, so that joined by LF they are in the text: with the CR before a line break, and CR breaks kept. */
export function linesAt(text: string, firstLine: number, count: number): string[] {
  const at = firstLine - 1;
  return text.includes("\n")
    ? text.split("\n").slice(at, at + count)
    : [text.split("\r").slice(at, at + count).join("\r")];
}

function breaksBetween(text: string, start: number, end: number): number {
  let count = 0;
  for (let i = text.indexOf("\n", start); i >= 0 && i < end; i = text.indexOf("\n", i + 1)) count++;
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
