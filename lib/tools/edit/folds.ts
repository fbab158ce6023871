/**
 * Differences a near miss can be named by. Each fold makes two texts equal that differ only so; folds work line
 * by line and keep the number of lines, so that a match of folded text has a place in the real one.
 */
export type Fold =
  | "line endings"
  | "trailing whitespace"
  | "indentation"
  | "punctuation"
  | "unicode form"
  | "compatibility"
  | "case";

/** From the most to the least particular: a difference is named by the first of them that will do. */
export const FOLDS: readonly Fold[] = [
  "line endings",
  "trailing whitespace",
  "indentation",
  "punctuation",
  "unicode form",
  "compatibility",
  "case",
];

const PUNCTUATION = new Map<string, string>([
  ...[..."‘’‚‛′"].map((c) => [c, "'"] as const),
  ...[..."“”„‟″«»"].map((c) => [c, '"'] as const),
  ...[..."‐‑‒–—―−"].map((c) => [c, "-"] as const),
  ...[..."\u00a0\u2002\u2003\u2007\u2009\u200a\u202f\u3000"].map((c) => [c, " "] as const),
  ["…", "..."],
]);
const TYPOGRAPHIC = new RegExp(`[${[...PUNCTUATION.keys()].join("")}]`, "g");

const BY_LINE: Record<Exclude<Fold, "line endings">, (line: string) => string> = {
  "trailing whitespace": (line) => line.trimEnd(),
  indentation: (line) => line.trimStart(),
  punctuation: (line) => line.replace(TYPOGRAPHIC, (c) => PUNCTUATION.get(c)!),
  "unicode form": (line) => line.normalize("NFC"),
  compatibility: (line) => line.normalize("NFKC"),
  case: (line) => line.toLowerCase(),
};
/** Folds that leave ASCII as it is: most lines of most files can go without. */
const BEYOND_ASCII: ReadonlySet<Fold> = new Set<Fold>(["punctuation", "unicode form", "compatibility"]);

/** The lines of a text: LF ends them, or CRLF with that fold, or CR in a text that has no LF. */
export function linesOf(text: string, anyBreak: boolean): string[] {
  if (!anyBreak) return text.split("\n");
  return text.includes("\n") ? text.replaceAll("\r\n", "\n").split("\n") : text.split("\r");
}

export function foldLines(text: string, folds: ReadonlySet<Fold>): string[] {
  const used = FOLDS.filter((fold) => fold !== "line endings" && folds.has(fold));
  const plain = used.filter((fold) => !BEYOND_ASCII.has(fold));
  return linesOf(text, folds.has("line endings")).map((line) => {
    for (const fold of /[\u0080-\uffff]/.test(line) ? used : plain) line = BY_LINE[fold as keyof typeof BY_LINE](line);
    return line;
  });
}

/** Other ways the wanted text may have been written down, each with how to say it. */
export const SPELLINGS: readonly { readonly says: string; readonly of: (wanted: string) => string }[] = [
  { says: "", of: (wanted) => wanted },
  { says: "the line break at the end of old_string, which is not there", of: (wanted) => wanted.replace(/\r?\n$/, "") },
  { says: "the line-number prefix of Read, which is not in the file", of: withoutLineNumbers },
  { says: "escapes (old_string has them written out where the file has the characters)", of: unescape },
  { says: "escapes (the file has them written out where old_string has the characters)", of: escape },
  { says: "entities (old_string has them where the file has the characters)", of: (w) => replaceEach(w, ENTITIES) },
  { says: "entities (the file has them where old_string has the characters)", of: (w) => replaceEach(w, CHARACTERS) },
];

function withoutLineNumbers(wanted: string): string {
  const lines = wanted.split("\n");
  const prefix = /^[ \t]{0,10}\d{1,9}(?:\t|→|: |\| ?)/;
  const numbered = lines.every((line, i) => prefix.test(line) || (line === "" && i === lines.length - 1));
  return numbered ? lines.map((line) => line.replace(prefix, "")).join("\n") : wanted;
}

const ESCAPED: Record<string, string> = {
  n: "\n",
  t: "\t",
  r: "\r",
  '"': '"',
  "'": "'",
  "`": "`",
  "\\": "\\",
  "/": "/",
  $: "$",
};

function unescape(wanted: string): string {
  return wanted.replace(
    /\\(?:u([0-9a-fA-F]{4})|(["'`\\/$ntr]))/g,
    (_, hex: string | undefined, c: string) => hex !== undefined ? String.fromCharCode(parseInt(hex, 16)) : ESCAPED[c]!,
  );
}

function escape(wanted: string): string {
  const quoted = JSON.stringify(wanted).slice(1, -1);
  return quoted.replace(/[^\x20-\x7e]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

const ENTITIES: readonly (readonly [string, string])[] = [
  ["&lt;", "<"],
  ["&gt;", ">"],
  ["&quot;", '"'],
  ["&#39;", "'"],
  ["&apos;", "'"],
  ["&nbsp;", "\u00a0"],
  ["&amp;", "&"],
];
const CHARACTERS = [["&", "&amp;"], ["<", "&lt;"], [">", "&gt;"], ['"', "&quot;"], ["'", "&#39;"]] as const;

function replaceEach(text: string, pairs: readonly (readonly [string, string])[]): string {
  return pairs.reduce((t, [from, to]) => t.replaceAll(from, to), text);
}
