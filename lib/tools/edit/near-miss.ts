/**
 * Differences a near miss can be named by, from the most to the least particular. Each fold makes two texts equal that
 * differ only so; folds work line by line and keep the number of lines, so that a match of folded text has a place in
 * the real one.
 */
const FOLDS = ["line endings", "trailing whitespace", "indentation", "punctuation", "unicode form"] as const;
export type Fold = typeof FOLDS[number];

const PUNCTUATION = new Map<string, string>([
  ...[..."‘’‚‛′"].map((c) => [c, "'"] as const),
  ...[..."“”„‟″«»"].map((c) => [c, '"'] as const),
  ...[..."‐‑‒–—―−"].map((c) => [c, "-"] as const),
  ...[..."\u00a0\u2002\u2003\u2007\u2009\u200a\u202f\u3000"].map((c) => [c, " "] as const),
  ["…", "..."],
]);
const TYPOGRAPHIC = new RegExp(`[${[...PUNCTUATION.keys()].join("")}]`, "g");

const BY_LINE: Record<Fold, (line: string) => string> = {
  "line endings": (line) => line, // the text was divided by them
  "trailing whitespace": (line) => line.trimEnd(),
  indentation: (line) => line.trimStart(),
  punctuation: (line) => line.replace(TYPOGRAPHIC, (c) => PUNCTUATION.get(c)!),
  "unicode form": (line) => line.normalize("NFC"),
};

/** The lines of a text: LF ends them, or CRLF with that fold, or CR in a text that has no LF. */
export function linesOf(text: string, anyBreak: boolean): string[] {
  if (!anyBreak) return text.split("\n");
  return text.includes("\n") ? text.replaceAll("\r\n", "\n").split("\n") : text.split("\r");
}

function foldLines(text: string, folds: ReadonlySet<Fold>): string[] {
  return linesOf(text, folds.has("line endings")).map((given) => {
    let line = given;
    for (const fold of FOLDS) if (folds.has(fold)) line = BY_LINE[fold](line);
    return line;
  });
}

function withoutLineNumbers(wanted: string): string {
  const lines = wanted.split("\n");
  const prefix = /^[ \t]{0,10}\d{1,9}(?:\t|→|: |\| ?)/;
  const numbered = lines.every((line, i) => prefix.test(line) || (line === "" && i === lines.length - 1));
  return numbered ? lines.map((line) => line.replace(prefix, "")).join("\n") : wanted;
}

/** A place that has the wanted text but for differences that can be named. */
export interface NearMiss {
  readonly folds: readonly Fold[];
  /** Whether the wanted text has the line numbers that Read shows. */
  readonly numbered: boolean;
  /** The lines there, as they are, and the number of the first. */
  readonly lines: readonly string[];
  readonly firstLine: number;
}

/** The first place with text that is `wanted` but for a nameable difference. Linear: the text is folded once. */
export function nearMiss(text: string, wanted: string): NearMiss | undefined {
  const all = new Set(FOLDS);
  const folded = foldLines(text, all).join("\n");
  for (const spelled of new Set([wanted, withoutLineNumbers(wanted)])) {
    const place = placeOf(folded, spelled, all);
    if (!place) continue;
    const lines = linesAt(text, place.firstLine, place.count);
    return { ...place, lines, folds: fewest(lines.join("\n"), spelled), numbered: spelled !== wanted };
  }
  return undefined;
}

/** The folds without which the wanted text is not in these lines: each is left out if the others do. */
function fewest(lines: string, wanted: string): Fold[] {
  const needed = new Set(FOLDS);
  for (const fold of FOLDS.toReversed()) {
    needed.delete(fold);
    if (!placeOf(foldLines(lines, needed).join("\n"), wanted, needed)) needed.add(fold);
  }
  return FOLDS.filter((fold) => needed.has(fold));
}

/** The first line and the number of lines of the place where the wanted text, folded too, is in a folded text. */
function placeOf(folded: string, wanted: string, folds: ReadonlySet<Fold>) {
  const lines = foldLines(wanted, folds);
  const bare = lines.join("\n");
  if (bare.trim() === "") return undefined;
  // Whitespace folded away at the edge of a line must have been at the edge of one: 'x' with indentation is not every x.
  const open = folds.has("indentation") && /^[ \t]/.test(wanted) ? "\n" : "";
  const close = folds.has("trailing whitespace") && /[ \t]$/.test(wanted) ? "\n" : "";
  // With a line break put before both, a match still starts where the wanted text does in the folded one.
  const at = (open + folded + close).indexOf(open + bare + close);
  return at < 0 ? undefined : { firstLine: folded.slice(0, at).split("\n").length, count: lines.length };
}

/** Lines as they are, so that joined by LF they are in the text: with the CR before a line break, and CR breaks kept. */
export function linesAt(text: string, firstLine: number, count: number): string[] {
  const at = firstLine - 1;
  return text.includes("\n")
    ? text.split("\n").slice(at, at + count)
    : [text.split("\r").slice(at, at + count).join("\r")];
}
