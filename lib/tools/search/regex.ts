import { codeUnits, LONGER } from "./code-units.ts";
import {
  MOST_NESTED,
  parseClass,
  type RegexReader,
  regexReader,
  singleEscape,
  SURROGATES,
  WORD,
} from "./regex-class.ts";

/** A pattern of ripgrep's (Rust) dialect as a JavaScript one. */
export interface TranslatedRegex {
  readonly regex: RegExp;
  /** An expression without the flag `v` that repeats as this one does: what it repeats can be judged by it. */
  readonly judged: RegExp;
  /** Whether a match can hold or touch a line break, so that lines cannot be looked at one by one. */
  readonly spansLines: boolean;
}

/** A part of the pattern, for the search and for the judge. */
interface Piece {
  readonly source: string;
  readonly judged: string;
}

const NOTHING: Piece = { source: "", judged: "" };

interface Flags {
  readonly ignoreCase: boolean;
  readonly dotAll: boolean;
}

interface Translation extends RegexReader {
  readonly multiline: boolean;
  readonly ignoreCase: boolean;
  readonly groupNames: Set<string>;
  /** Whether something is repeated that is more than one character, or many are: else there is nothing to judge. */
  readonly repeatsMore: boolean;
  /** Whether a set has none but characters of two code units. */
  onlyLonger: boolean;
  spansLines: boolean;
}

const LINE_START = "(?:^|(?<=\\n))";
const LINE_END = "(?:$|(?=\\n))";

/** What only denies holds in V8 also between the two halves of a character: there, no whole one lies behind. */
const BETWEEN = "(?:^|(?<=[^]))";

const ASSERTIONS: Record<string, string> = {
  b: `(?:(?<=${WORD})(?!${WORD})|(?<!${WORD})(?=${WORD}))`,
  B: `${BETWEEN}(?:(?<=${WORD})(?=${WORD})|(?<!${WORD}|${SURROGATES})(?!${WORD}|${SURROGATES}))`,
  "<": `(?:(?<!${WORD})(?=${WORD}))`,
  ">": `(?:(?<=${WORD})(?!${WORD}))`,
  "b{start}": `(?:(?<!${WORD})(?=${WORD}))`,
  "b{end}": `(?:(?<=${WORD})(?!${WORD}))`,
  "b{start-half}": `${BETWEEN}(?<!${WORD})`,
  "b{end-half}": `${BETWEEN}(?!${WORD})`,
};

/**
 * Translates a pattern as ripgrep reads it, so that a search without ripgrep finds the same: `.` is anything but a
 * line break, `\d \w \s \b` know Unicode, no look-around, no back-references. A throw says what is wrong with it.
 */
export function translateRegex(
  pattern: string,
  options: { readonly ignoreCase: boolean; readonly multiline: boolean },
): TranslatedRegex {
  const repeatsMore = /[)*+?}][*+{]|(?:[*+?{][^*+?{]*){10}/.test(pattern);
  const reader: Translation = {
    ...regexReader(pattern),
    ...options,
    groupNames: new Set(),
    repeatsMore,
    onlyLonger: false,
    spansLines: false,
  };
  const { source, judged } = alternation(reader, { ignoreCase: options.ignoreCase, dotAll: options.multiline }, 0);
  const regex = new RegExp(source, options.ignoreCase ? "giv" : "gv");
  // Nearly all large sets have some of the longer characters, also those that exclude each other.
  const apart = reader.onlyLonger ? judged : judged.replaceAll(LONGER, "");
  return { regex, judged: new RegExp(apart), spansLines: options.multiline && reader.spansLines };
}

function alternation(reader: Translation, given: Flags, depth: number): Piece {
  let flags = given;
  const branches: Piece[] = [];
  let branch = NOTHING;
  let atom: Piece | undefined;
  let isSet = false;
  const push = (next: Piece | undefined) => {
    if (atom) branch = { source: branch.source + atom.source, judged: branch.judged + atom.judged };
    atom = next;
    isSet = false;
  };
  for (;;) {
    const c = reader.peek();
    if (c === undefined) {
      if (depth > 0) reader.fail("unclosed group");
      break;
    }
    if (c === ")") {
      if (depth === 0) reader.fail("unopened group");
      break;
    }
    if (c === "|") {
      reader.next();
      push(undefined);
      branches.push(branch);
      branch = NOTHING;
    } else if (c === "*" || c === "+" || c === "?" || c === "{") {
      if (atom === undefined) return reader.fail("repetition operator missing expression");
      const times = quantifier(reader);
      // A repeated set is left bare: engines run out of stack sooner on a repeated group.
      const source = isSet ? atom.source : `(?:${atom.source})`;
      atom = { source: source + times, judged: `(?:${atom.judged})${times}` };
      isSet = false;
    } else if (reader.rest().startsWith("(?") && !/^\(\?(P?<[^=!]|:)/.test(reader.rest())) {
      const changed = flagGroup(reader, flags);
      if (reader.next() === ")") {
        push(undefined);
        flags = changed;
      } else push(group(reader, changed, depth));
    } else if (c === "(") {
      const [opening, name] = /^\((?:\?(?:P?<([^>]*)>|:))?/.exec(reader.rest())!;
      if (name !== undefined) {
        if (!/^[_\p{Alphabetic}][\p{Alphabetic}\p{N}_.\[\]]*$/v.test(name)) {
          reader.fail("invalid capture group character");
        }
        if (reader.groupNames.has(name)) reader.fail("duplicate capture group name");
        reader.groupNames.add(name);
      }
      reader.skip(opening);
      push(group(reader, flags, depth));
    } else {
      push(single(reader, flags));
      isSet = !atom!.source.startsWith("(");
    }
  }
  push(undefined);
  branches.push(branch);
  return {
    source: branches.map(({ source }) => source).join("|"),
    judged: branches.map(({ judged }) => judged).join("|"),
  };
}

function group(reader: Translation, flags: Flags, depth: number): Piece {
  if (depth >= MOST_NESTED) reader.fail(`groups are nested more than ${MOST_NESTED} deep`);
  const { source, judged } = alternation(reader, flags, depth + 1);
  reader.next();
  return { source: `(?:${source})`, judged: `(?:${judged})` };
}

/** Reads `(?flags` up to the ':' or ')' that follows, which it leaves. */
function flagGroup(reader: Translation, flags: Flags): Flags {
  const text = reader.rest();
  if (/^\(\?<?[=!]/.test(text)) reader.fail("look-around, including look-ahead and look-behind, is not supported");
  const match = /^\(\?([a-zA-Z]*)(-[a-zA-Z]+)?(?=[:)])/.exec(text);
  if (!match) return reader.fail(/^\(\?[a-zA-Z-]*$/.test(text) ? "unclosed group" : "unrecognized flag");
  reader.skip(match[0]);
  let changed = flags;
  for (const [on, letters] of [[true, match[1]!], [false, (match[2] ?? "").slice(1)]] as const) {
    for (const letter of letters) {
      if (letter === "i") changed = { ...changed, ignoreCase: on };
      else if (letter === "s") changed = { ...changed, dotAll: on };
      else if (!(on && (letter === "m" || letter === "u"))) {
        reader.fail(`the flag ${on ? "" : "-"}${letter} is not supported without ripgrep`);
      }
    }
  }
  return changed;
}

function quantifier(reader: Translation): string {
  let text = reader.next()!;
  if (text === "{") {
    const match = /^\s*(\d+)\s*(,\s*(\d*)\s*)?\}/.exec(reader.rest());
    if (!match) return reader.fail("repetition quantifier expects a valid decimal: write '\\{' for a brace");
    reader.skip(match[0]);
    const [, from, comma, to] = match;
    if (to && Number(to) < Number(from)) reader.fail("invalid repetition count range, the start must be <= the end");
    text = `{${from}${comma ? `,${to}` : ""}}`;
  }
  if (reader.peek() === "?") text += reader.next();
  return text;
}

/** One character, class or assertion, wrapped where its case folding differs from the whole pattern's. */
function single(reader: Translation, flags: Flags): Piece {
  const c = reader.peek()!;
  if (c === "^" || c === "$") {
    reader.next();
    reader.spansLines = true;
    return { ...NOTHING, source: c === "^" ? LINE_START : LINE_END };
  }
  if (c === "\\") {
    const assertion = /^\\(b\{(?:start|end)(?:-half)?\}|[bB<>Az])/.exec(reader.rest());
    if (assertion) {
      reader.skip(assertion[0]);
      const name = assertion[1]!;
      if (name !== "A" && name !== "z") return { ...NOTHING, source: ASSERTIONS[name]! };
      reader.spansLines = true;
      return { ...NOTHING, source: name === "A" ? "(?:^)" : "(?:$)" };
    }
  }
  const set = c === "."
    ? (reader.next(), flags.dotAll ? `[^${SURROGATES}]` : `[^\\n${SURROGATES}]`)
    : c === "["
    ? parseClass(reader)
    : c === "\\"
    ? singleEscape(reader)
    : reader.literal(reader.next()!);
  if (new RegExp(set, "v").test("\n")) {
    if (!reader.multiline && set === reader.literal("\n")) {
      reader.fail('the literal "\\n" is not allowed in a regex: set multiline to match across lines');
    }
    reader.spansLines = true;
  }
  const judged = reader.repeatsMore ? codeUnits(set, flags.ignoreCase) : "";
  reader.onlyLonger ||= judged === `[${LONGER}]`;
  if (flags.ignoreCase === reader.ignoreCase) return { source: set, judged };
  return { source: `(?${flags.ignoreCase ? "" : "-"}i:${set})`, judged };
}
