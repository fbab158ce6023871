import { readFileSync, statSync } from "node:fs";
import { type CharSet, type RegexTree, regexTree } from "../../regex/regex-tree.ts";
import { maskedModule } from "./mutants/mutate.ts";
import type { Subject } from "./subject.ts";

/** Longer texts are said, not looked for. */
const MOST_CHARACTERS = 60;
/** Longer ones are looked for by themselves, not beside others. */
const MOST_OF_WORD = 20;
const MOST_NUMBER = 20_000;
const MOST_TEXTS = 200;
const MOST_BYTES = 100_000;

/** What stands in a source as it is: nothing is worked out. */
interface Literals {
  readonly regexes: readonly { readonly source: string; readonly flags: string }[];
  readonly texts: readonly string[];
  readonly numbers: readonly number[];
}

/** Texts on both sides of each constant of a hook: of its texts, its numbers (as lengths) and its regular expressions. */
export function ownTexts(subject: Subject): readonly string[] {
  if (subject.kind === "prompt") return [];
  const read = subject.kind === "module" ? ofModule : ofText;
  const groups = sourcesOf(subject).flatMap((source) => aroundAll(read(source)));
  const longest = Math.max(0, ...groups.map((group) => group.length));
  // Something of each before more of any.
  const turns = Array.from({ length: longest }, (_, i) => groups.flatMap((group) => group[i] ?? []));
  return [...new Set(turns.flat())].slice(0, MOST_TEXTS);
}

/** What refuses, as hooks of any kind write it. */
const DENIALS: readonly RegExp[] = [
  /\b(?:deny|ask|halt)\(|["'](?:deny|block|ask|halt)\\?["']|\bBlock\s*:|permissionDecision/,
  /\bexit\s*\(?\s*2\b|\bexitCode\s*=\s*2\b|\baction:\s*(?:deny|ask|halt)\b/,
];

/** Whether the text of a hook, without its comments, config and examples, says how it denies. */
export function saysDenial(subject: Subject): boolean {
  if (subject.kind === "prompt" || subject.target.type === "definition") return false;
  return sourcesOf(subject).some((source) => {
    const { masked, texts } = subject.kind === "module"
      ? maskedModule(source)
      : { masked: withoutComments(source), texts: [] };
    const code = [masked, ...texts.map(([from, to]) => source.slice(from, to))].join("\n");
    return DENIALS.some((pattern) => pattern.test(code));
  });
}

function sourcesOf({ file, target, copies, runs }: Subject): string[] {
  const paths = file !== undefined
    ? [file]
    : target.type === "definition"
    ? [target.path]
    : copies.map(({ from }) => from);
  const read = paths.filter((path) => {
    const found = statSync(path, { throwIfNoEntry: false });
    return found?.isFile() && found.size < MOST_BYTES;
  }).map((path) => readFileSync(path, "utf8"));
  return file === undefined && runs !== undefined ? [...read, runs] : read;
}

const NUMBER = /(?<![\w.$-])\d+(?![\w.])/g;

function ofModule(source: string): Literals {
  const { masked, regexes, texts } = maskedModule(source);
  return {
    regexes: regexes.map(([from, to]) => {
      const [, body, flags] = /^\/(.*)\/([a-z]*)$/s.exec(source.slice(from, to))!;
      return { source: body!, flags: flags! };
    }),
    texts: texts.filter(([from]) => !/\b(?:from|import)\s*\(?$/.test(masked.slice(0, from)))
      .map(([from, to]) => plain(source.slice(from + 1, to - 1))),
    numbers: [...masked.matchAll(NUMBER)].map(Number),
  };
}

/** What is quoted, stands between stars in a pattern of the shell, or is the value of a rule. */
const QUOTED = /"((?:\\.|[^"\\\n])*)"|'((?:[^'\n])*)'|\*([^*|()\s"']+)\*|\bvalue:\s*([^\s"'].*)/g;

function ofText(source: string): Literals {
  const code = withoutComments(source);
  const texts = [...code.matchAll(QUOTED)].map((found) => plain(found.slice(1).find((text) => text !== undefined)!));
  // What holds a variable is not a constant.
  return {
    regexes: [],
    texts: texts.filter((text) => !/\$\w/.test(text)),
    numbers: [...code.matchAll(NUMBER)].map(Number),
  };
}

function withoutComments(source: string): string {
  return source.replaceAll(/(?<=^|\s)#[^\n]*/g, "");
}

function plain(text: string): string {
  return text.replaceAll(/\\(?=["'`\\])/g, "").replaceAll("\\n", "\n");
}

function aroundAll({ regexes, texts, numbers }: Literals): string[][] {
  // An answer, and what a template leaves open, is not looked for.
  const short = texts.filter((text) =>
    /^\s*[^\s{]/.test(text) && !text.includes("${") && text.length <= MOST_CHARACTERS
  );
  const written = short.filter((text) => /[\\^$|*[]/.test(text)).map((source) => ({ source, flags: "" }));
  const matched = [...regexes, ...written].map(aroundRegex);
  // What is asked for one after the other stands together in a command.
  const words = short.filter((text) => text.length <= MOST_OF_WORD);
  const together = [2, 3, 4].flatMap((n) =>
    words.flatMap((_, i) => i + n > words.length ? [] : [words.slice(i, i + n)])
  )
    .map((few) => [few.join(" ")]);
  const [first = ""] = [...matched, ...together, short].flat();
  const long = numbers.filter((n) => n > 1 && n <= MOST_NUMBER)
    .map((n) => ["", `${first} `].flatMap((text) => [n, n + 1, n - 1].map((length) => text.padEnd(length, "x"))));
  const single = short.map((text) => [text, `x ${text}`, `${text} x`, `x${text}`, `${text}x`, text.toUpperCase()]);
  return [...long, ...matched, ...together, ...single];
}

function aroundRegex({ source, flags }: Literals["regexes"][number]): string[] {
  try {
    const [usual = "", ...others] = spellings(regexTree(new RegExp(source, flags).source, flags));
    return [usual, ...others, `x ${usual}`, `${usual} x`, usual.toUpperCase(), usual.toLowerCase()];
  } catch {
    // It is not a regular expression after all.
    return [];
  }
}

/** A text that an expression matches, then others, each with one part of it on its other side. */
function spellings(tree: RegexTree): readonly string[] {
  switch (tree.kind) {
    case "set":
      return charactersOf(tree.set);
    case "choice":
      return tree.parts.flatMap(spellings);
    case "look":
      return ["", ...spellings(tree.body)];
    case "edge":
      return ["", tree.edge === "B" ? " " : "x"];
    case "back":
      return [""];
    case "sequence": {
      const parts = tree.parts.map(spellings);
      const usual = parts.map(([first = ""]) => first);
      const others = parts.flatMap((few, i) => few.slice(1).map((text) => usual.toSpliced(i, 1, text).join("")));
      return [usual.join(""), ...others];
    }
    case "loop": {
      const { min, max } = tree;
      const [usual = "", ...others] = spellings(tree.body);
      // One of as many as one likes: what is before and after it then stands apart.
      const counts = [max === Infinity ? Math.max(1, min) : min, min, min - 1, min + 1, max, max + 1]
        .filter((n) => n >= 0 && n <= MOST_CHARACTERS);
      const repeated = [...new Set(counts)].map((n) => usual.repeat(n));
      return [...repeated, ...others.map((text) => text + usual.repeat(Math.max(0, min - 1)))];
    }
  }
}

/** A character of a set; and one that is not in it, unless the set is a single character. */
function charactersOf(set: CharSet): readonly string[] {
  const isIn = (c: string) => set.some(([from, to]) => from <= c.charCodeAt(0) && c.charCodeAt(0) <= to);
  const inside = USUAL.find(isIn) ?? String.fromCharCode(set[0]?.[0] ?? 120);
  const outside = USUAL.find((c) => !isIn(c)) ?? "\n";
  return set.length === 1 && set[0]![0] === set[0]![1] ? [inside] : [inside, outside];
}

const USUAL = [..." x0-/;"];
