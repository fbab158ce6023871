import type { HookFile } from "../../../hooks/discover.ts";
import type { Survivor } from "../check-report.ts";

export interface Mutant extends Pick<Survivor, "line" | "was" | "is"> {
  readonly text: string;
}

/** A change of a text: the characters from `from` to `to` become `by`. */
interface Edit {
  readonly from: number;
  readonly to: number;
  readonly by: string;
}

/** Every small change of a hook that may change what it answers; none for kinds that are not text of ours to read. */
export function mutantsOf({ kind, text, name }: Pick<HookFile, "kind" | "text" | "name">): readonly Mutant[] {
  const edits = kind === "module"
    ? moduleEdits(text)
    : kind === "rules"
    ? rulesEdits(text)
    : /\.(?:ba|z|da)?sh$/.test(name) || /^#!.*\b(?:ba|z|da)?sh\b/.test(text)
    ? shellEdits(text)
    : [];
  return edits.sort((a, b) => a.from - b.from).map((edit) => mutant(text, edit));
}

const AROUND = 50;

function mutant(text: string, { from, to, by }: Edit): Mutant {
  const begin = text.lastIndexOf("\n", from - 1) + 1;
  const at = text.indexOf("\n", to);
  const end = at < 0 ? text.length : at;
  const [first, last] = [Math.max(begin, from - AROUND), Math.min(end, to + AROUND)];
  const shown = (middle: string) =>
    `${first > begin ? "…" : ""}${text.slice(first, from)}${middle}${text.slice(to, last)}${last < end ? "…" : ""}`
      .trim().replaceAll(/\s*\n\s*/g, " ");
  return {
    text: text.slice(0, from) + by + text.slice(to),
    line: text.slice(0, from).split("\n").length,
    was: shown(text.slice(from, to)),
    is: shown(by),
  };
}

type Mutator = readonly [pattern: RegExp, by: string | ((...found: string[]) => string)];

/** All places of a masked text at which a mutator applies. */
function applied(masked: string, mutators: readonly Mutator[]): Edit[] {
  return mutators.flatMap(([pattern, by]) =>
    [...masked.matchAll(pattern)].map((found): Edit => ({
      from: found.index,
      to: found.index + found[0].length,
      by: typeof by === "string" ? by : by(...found),
    }))
  );
}

const ONE_MORE: Mutator = [/(?<![\w.$>&])\d+(?![\w.>&])/g, (n) => String(Number(n) + 1)];

const CODE: readonly Mutator[] = [
  [/===/g, "!=="],
  [/!==/g, "==="],
  [/&&/g, "||"],
  [/\|\|/g, "&&"],
  [/(?<= )>=(?= )/g, ">"],
  [/(?<= )>(?= )/g, ">="],
  [/(?<= )<=(?= )/g, "<"],
  [/(?<= )<(?= )/g, "<="],
  [/(?<![\w)\]!])!(?![=!])/g, ""],
  [/\btrue\b/g, "false"],
  [/\bfalse\b/g, "true"],
  [/\.some(?=\()/g, ".every"],
  [/\.every(?=\()/g, ".some"],
  [/\.startsWith(?=\()/g, ".endsWith"],
  [/\.endsWith(?=\()/g, ".startsWith"],
  [/\.(?:trim|trimStart|trimEnd|toLowerCase|toUpperCase)\(\)/g, ""],
  [/(?<= )\+(?= \d)/g, "-"],
  [/(?<= )-(?= \d)/g, "+"],
  [/\breturn (?!undefined;)(?=\S)[^;{}]*(?:\{[^{}]*\}[^;{}]*)*;/g, "return;"],
  ONE_MORE,
];

function moduleEdits(text: string): Edit[] {
  const { masked, regexes } = maskedModule(text);
  return [
    ...applied(masked, CODE),
    ...conditions(masked),
    ...regexes.flatMap(([from, to]) => {
      const [, flags = ""] = /\/([a-z]*)$/.exec(text.slice(from, to))!;
      const at = to - flags.length + flags.indexOf("i");
      const flag = flags.includes("i") ? [{ from: at, to: at + 1, by: "" }] : [];
      return [...regexEdits(text.slice(from + 1, to - flags.length - 1), from + 1), ...flag];
    }),
  ];
}

const TRIVIA = /\/\/[^\n]*|\/\*[^]*?\*\/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\[^]|[^`\\])*`/y;
const REGEX = /\/(?![/*])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n[])+\/[a-z]*/y;

interface Masked {
  readonly masked: string;
  readonly regexes: readonly [number, number][];
  readonly texts: readonly [number, number][];
}

/** A module with spaces for comments, texts and regular expressions, and for what does not decide its answers. */
export function maskedModule(text: string): Masked {
  const regexes: [number, number][] = [];
  const texts: [number, number][] = [];
  let masked = "";
  while (masked.length < text.length) {
    const at = masked.length;
    TRIVIA.lastIndex = REGEX.lastIndex = at;
    // A slash after a value divides.
    const isRegex = text[at] === "/" && /(?:^|[(,=:[!&|?{};>]|\breturn)\s*$/.test(masked.slice(-200));
    const trivia = TRIVIA.exec(text);
    const regex = trivia || !isRegex ? null : REGEX.exec(text);
    if (regex) regexes.push([at, at + regex[0].length]);
    if (trivia && text[at] !== "/") texts.push([at, at + trivia[0].length]);
    masked += blank((trivia ?? regex)?.[0] ?? "") || text[at];
  }
  const apart = [...masked.matchAll(/^export const (?:examples|config)\b[^=\n]*=\s*/gm)]
    .map(({ 0: head, index }) => [index, closing(masked, index + head.length)] as const);
  for (const [from, to] of apart) masked = masked.slice(0, from) + blank(masked.slice(from, to)) + masked.slice(to);
  const decides = ([at]: [number, number]) => !apart.some(([from, to]) => from <= at && at < to);
  return { masked, regexes: regexes.filter(decides), texts: texts.filter(decides) };
}

function blank(text: string): string {
  return text.replaceAll(/[^\n]/g, " ");
}

/** The place after the bracket that closes the one at `open`. */
function closing(masked: string, open: number): number {
  let depth = 0;
  for (let i = open; i < masked.length; i++) {
    if ("([{".includes(masked[i]!)) depth++;
    if (")]}".includes(masked[i]!) && --depth === 0) return i + 1;
  }
  return masked.length;
}

function conditions(masked: string): Edit[] {
  return [...masked.matchAll(/\bif \(/g)].flatMap(({ 0: head, index }) => {
    const open = index + head.length - 1;
    const to = closing(masked, open);
    return ["(true)", "(false)"].map((by) => ({ from: open, to, by }));
  });
}

const SHELL: readonly Mutator[] = [
  [/(?<=\[ )-n\b/g, "-z"],
  [/(?<=\[ )-z\b/g, "-n"],
  [/(?<=\[ )(?=-[a-mo-y] )/g, "! "],
  [/&&/g, "||"],
  [/\|\|/g, "&&"],
  [/(?<= )=(?= )/g, "!="],
  [/(?<= )!=(?= )/g, "="],
  [/\bexit 0\b/g, "exit 2"],
  [/\bexit [1-9]\d*/g, "exit 0"],
  [/\bif (?!!)/g, "if ! "],
  [/(?<=^\s*)(?:echo|printf)\b/gm, ": echo"],
  ONE_MORE,
];

/** Edits of a shell script, but not in comments and single-quoted text, which the shell does not expand. */
function shellEdits(text: string): Edit[] {
  const exits = (edit: Edit) => /\bexit $/.test(text.slice(0, edit.from));
  return applied(text.replaceAll(/(?<=^|\s)#[^\n]*|'[^']*'/g, blank), SHELL).filter((edit) => !exits(edit));
}

const RULES: readonly Mutator[] = [
  [/(?<=(?:\baction:|->)\s*)deny\b/g, "ask"],
  [/(?<=(?:\baction:|->)\s*)(?:ask|allow)\b/g, "deny"],
  [/\bcontains\b(?=\s)/g, "equals"],
  [/\bequals\b(?=\s)/g, "contains"],
  [/\band\b(?=[\s:])/g, "or"],
  [/\bor\b(?=[\s:])/g, "and"],
  [/\bnot\s+(?=\S)/g, ""],
];

const COMPARED = /(?<=\bvalue:\s*')(?:[^'\n]|'')*(?=')|(?<=\bmatches\s+")(?:\\.|[^"\\\n])*(?=")/g;

function rulesEdits(text: string): Edit[] {
  // Only the words of rules: a reason or a compared text may hold any of them.
  const masked = text.replaceAll(/^\s*#[^\n]*|"(?:\\.|[^"\\\n])*"|'(?:[^'\n]|'')*'|(?<=\breason:)[^\n]*/gm, blank);
  const compared = [...text.matchAll(COMPARED)];
  return [...applied(masked, RULES), ...compared.flatMap(({ 0: source, index }) => regexEdits(source, index))];
}

const QUANTIFIER = /(?:[*+?]|\{\d+(?:,\d*)?\})\??/y;
const OPENED = /\((?:\?(?::|=|!|<=|<!|<[^>]*>))?/y;

/** Changes of a regular expression: a part of it is left out, or turned into its opposite. */
function regexEdits(source: string, offset: number): Edit[] {
  const edits: Edit[] = [];
  const edit = (from: number, to: number, by = "") => edits.push({ from: from + offset, to: to + offset, by });
  /** The places after `(` and each `|` of the groups that are open. */
  const open: number[][] = [[0]];
  const close = (end: number) => {
    const starts = open.pop()!;
    if (starts.length < 2) return;
    for (const [i, start] of starts.entries()) {
      const last = i === starts.length - 1;
      edit(last ? start - 1 : start, last ? end : starts[i + 1]!);
    }
  };
  let i = /^\(\?[a-z]+\)/.exec(source)?.[0].length ?? 0;
  if (i > 0) edit(0, i);
  while (i < source.length) {
    const from = i;
    OPENED.lastIndex = QUANTIFIER.lastIndex = i;
    const [opened] = OPENED.exec(source) ?? [];
    const [often] = QUANTIFIER.exec(source) ?? [];
    if (source[i] === "\\") {
      i += 2;
      if (/[bB]/.test(source[from + 1] ?? "")) edit(from, i);
    } else if (source[i] === "[") {
      i += /^\[(?:\\.|[^\]\\])*\]?/.exec(source.slice(i))![0].length;
      if (source[from + 1] === "^") edit(from + 1, from + 2);
    } else if (opened !== undefined) {
      i += opened.length;
      open.push([i]);
      if (/[=!]$/.test(opened)) edit(i - 1, i, opened.endsWith("=") ? "!" : "=");
    } else if (often !== undefined) {
      i += often.length;
      edit(from, i);
    } else {
      i++;
      if (source[from] === "|") open.at(-1)!.push(i);
      if (source[from] === ")" && open.length > 1) close(from);
      if (source[from] === "^" || source[from] === "$") edit(from, i);
    }
  }
  close(source.length);
  return edits;
}
