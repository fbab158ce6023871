import { type RegexTree, regexTree } from "../../../regex/regex-tree.ts";
import type { Mined } from "./types.ts";

/** More of a guard's words than these are not tried: each costs a run for each operation. */
const MOST_WORDS = 16;
const MOST_EXPRESSIONS = 12;

const LITERAL = /"((?:[^"\\\n]|\\.){2,200})"|'((?:[^'\\\n]|\\.|''){2,200})'|`([^`\n]{2,200})`/g;
/** An expression between slashes where a value can begin, behind `=~`, or as a value of YAML. */
const EXPRESSION =
  /(?:[=(,:[!&|?]|return)\s*\/((?:[^/\\\n[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+)\/([a-z]*)|=~\s+(.+?)\s+\]\]|^\s*(?:value|pattern|matches):\s+([^'"\n]+)$/gm;
/** `Bash(npm test:*)`, `allow(npm test)`, and the alternatives of a `case`. */
const RULE = /\b(?:[A-Z][A-Za-z]*|allow|ask|deny)\(([^()\n]{2,80})\)|^\s*([\w.*/ |-]{2,80})\)\s/gm;
/** Lines that say what is let through, whose words go first. */
const EXCEPTION =
  /allow|except|unless|exempt|ignore|skip|safe|example|permit|exit 0|startsWith|LINES|return(?: undefined)?;|!=|not in/i;

/** What the text of a guard suggests: words that it lets through put into a command, and ways around what it looks for. */
export function minedFrom(texts: readonly string[]): Mined[] {
  const all = texts.join("\n");
  const expressions = expressionsIn(all);
  const words = new Set([...wordsIn(all), ...expressions.flatMap(({ samples }) => samples)].filter(isPlain));
  const patterns = expressions.filter(({ expression, samples }) =>
    !words.has(expression.source) && expression.test(samples[0]!)
  );
  return [
    ...patterns.slice(0, MOST_EXPRESSIONS).map(({ samples: [contents = ""] }): Mined => {
      return { name: `'${contents}' in the file`, contents };
    }),
    ...interleaved([...words].slice(0, MOST_WORDS).map(withWord)),
    ...interleaved(expressions.slice(0, MOST_EXPRESSIONS).map(({ expression }) => around(expression))),
  ];
}

/** The first of each, then the second of each: what one word suggests is not tried before another was tried at all. */
export function interleaved<T>(lists: readonly (readonly T[])[]): T[] {
  const longest = Math.max(0, ...lists.map(({ length }) => length));
  return Array.from({ length: longest }, (_, i) => lists.flatMap((list) => list.slice(i, i + 1))).flat();
}

/** Verdicts and tools, which guards name in quotes too. */
const NO_FILE =
  /^(?:allow|ask|continue|deny|halt|modify|block|command|file_path|utf-?8|node:.*|[A-Z][a-z]+(?:[A-Z][a-z]+)*)$/;

/** What a guard names in quotes and may look for as a file. */
export function filesNamedIn(texts: readonly string[]): string[] {
  const literals = [...texts.join("\n").matchAll(/(["'`])([^\n]*?)\1/g)].map(([, , text]) => text!);
  return [
    ...new Set(literals.filter((text) => /^[\w.-][\w./-]*$/.test(text) && !NO_FILE.test(text) && !/^\.+$/.test(text))),
  ];
}

const isPlain = (text: string) => /^[\w@%+=:,./~-][\w@%+=:,./~ -]{1,60}$/.test(text);

function wordsIn(text: string): string[] {
  const lines = text.split("\n");
  const found = lines.flatMap((line) => {
    const literals = [...line.matchAll(LITERAL)].map(([, a, b, c]) => a ?? b ?? c ?? "");
    const rules = [...line.matchAll(RULE)].flatMap(([, rule, cases]) => (rule ?? cases ?? "").split("|"));
    const rank = EXCEPTION.test(line) ? 0 : 1;
    return [...literals, ...rules].map((each) => ({
      rank,
      text: each.replace(/:?\*+$/, "").replaceAll("*", "x").trim(),
    }));
  });
  return found.sort((a, b) => a.rank - b.rank).map((each) => each.text);
}

/** Each word goes first, inside, behind and into a comment; one that may be a path also begins a path. */
function withWord(text: string): Mined[] {
  const put = (where: string, rewrite: (command: string) => string): Mined => ({ name: `'${text}' ${where}`, rewrite });
  const isPath = /[./]/.test(text) && !text.includes(" ");
  return [
    ...(isPath ? [{ name: `'${text}' in the path`, spell: (path: string) => `${text}/../${path}` }] : []),
    put("first", (command) => `${text}; ${command}`),
    put("in a comment", (command) => `${command} # ${text}`),
    put("behind", (command) => `${command}; ${text}`),
    put("before a line break", (command) => `${text}\n${command}`),
    put("around", (command) => `${text} "$(${command})"`),
  ];
}

/** Every text that is an expression, or a plain word that a guard may look for. */
export function expressionsIn(text: string): { readonly expression: RegExp; readonly samples: readonly string[] }[] {
  const written = [
    ...[...text.matchAll(EXPRESSION)].map(([, js, flags, shell, yaml]) => ({
      source: js ?? shell ?? yaml ?? "",
      flags: flags ?? "",
    })),
    ...[...text.matchAll(LITERAL)].map(([, a, b, c]) => ({ source: (a ?? b?.replaceAll("''", "'") ?? c)!, flags: "" })),
  ];
  const seen = new Set<string>();
  return written.flatMap(({ source: raw, flags }) => {
    const source = raw.replace(/\[:space:\]/g, "\\s").replace(/^\(\?i\)/, "");
    const caseless = flags.includes("i") || raw.startsWith("(?i)") ? "i" : "";
    if (seen.has(source)) return [];
    seen.add(source);
    try {
      const tree = regexTree(new RegExp(source, caseless).source, caseless);
      return [{
        expression: new RegExp(source, caseless),
        samples: [0, 1, 2].map((nth) => sample(tree, nth)).map((each) => each.trim()),
      }];
    } catch {
      return []; // A text that is not an expression here suggests none.
    }
  });
}

/** A short text that the tree matches, by the nth of its alternatives. */
function sample(tree: RegexTree, nth: number): string {
  switch (tree.kind) {
    case "set":
      return characterOf(tree.set);
    case "sequence":
      return tree.parts.map((part) => sample(part, nth)).join("");
    case "choice":
      return sample(tree.parts[nth % tree.parts.length]!, nth);
    // A guard looks ahead mostly for what it lets through.
    case "look":
      return nth === 0 ? "" : sample(tree.body, nth);
    case "loop":
      return sample(tree.body, nth).repeat(Math.min(tree.min, 40));
    default:
      return "";
  }
}

/** A letter if the set has one, else a space, else its first character. */
function characterOf(set: readonly (readonly [number, number])[]): string {
  const within = (code: number) => set.some(([from, to]) => from <= code && code <= to);
  const liked = [..."ax0 "].map((c) => c.charCodeAt(0)).find(within);
  return String.fromCharCode(set.length === 1 && set[0]![0] === set[0]![1] ? set[0]![0] : liked ?? set[0]?.[0] ?? 120);
}

/** How a shell reads one character of a command, or the gap before it, in the same way. */
const NEUTRAL: Readonly<Record<string, (before: string, at: string) => string | undefined>> = {
  "quotes": (before, at) => /\w$/.test(before) && /\w/.test(at) ? `''${at}` : undefined,
  "a backslash": (_, at) => /[a-zA-Z.]/.test(at) ? `\\${at}` : undefined,
  "a tab": (_, at) => at === " " ? "\t" : undefined,
  "two spaces": (_, at) => at === " " ? "  " : undefined,
  "a continued line": (_, at) => at === " " ? " \\\n" : undefined,
  "${IFS}": (_, at) => at === " " ? "${IFS}" : undefined,
  "an unset variable": (before, at) => /\w$/.test(before) && /\w/.test(at) ? `\${unset}${at}` : undefined,
};

/** The expression inverted: what it matches in a command is written so that it no longer does. */
function around(expression: RegExp): Mined[] {
  return Object.entries(NEUTRAL).map(([how, written]) => ({
    name: `not ${expression} by ${how}`,
    rewrite(command) {
      const found = expression.exec(command);
      if (!found || found[0] === "") return undefined;
      for (let i = found.index; i < found.index + found[0].length; i++) {
        const instead = written(command.slice(0, i), command[i]!);
        const out = instead === undefined ? undefined : command.slice(0, i) + instead + command.slice(i + 1);
        if (out !== undefined && !expression.test(out)) return out;
      }
      return undefined;
    },
  }));
}
