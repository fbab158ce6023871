import { bashOnly, literal, peek, type Reader, Unreadable } from "./reader.ts";
import { readBodies } from "./redirects.ts";
import { readWord, skipBlanks } from "./words.ts";

const DO = new Set(["do"]);
const IN = new Set(["in"]);
const ESAC = new Set(["esac"]);

/** Reads a for loop up to and with its `do`. */
export function readFor(r: Reader): void {
  skipBlanks(r);
  if (peek(r) === "(" && peek(r, 1) === "(") {
    bashOnly(r, "'for (('");
    const end = r.text.indexOf("))", r.at);
    const inside = r.text.slice(r.at + 2, end);
    // Anything beyond plain counting is left to a person.
    if (end < 0 || !/^[\w\s=+\-*/%<>!,;]*$/.test(inside)) {
      throw new Unreadable("a for loop counts in a way that is not read");
    }
    r.doubts.add("arithmetic evaluates what variables hold");
    r.at = end + 2;
  } else {
    const name = literal(readWord(r));
    if (name === undefined || !/^[a-z_]\w*$/.test(name)) {
      throw new Unreadable("a for loop sets a variable that programs may read");
    }
    skipLines(r);
    if (reserved(r, IN)) {
      r.at += 2;
      for (skipBlanks(r); readWord(r); skipBlanks(r));
    }
  }
  skipBlanks(r);
  if (peek(r) === ";" && peek(r, 1) !== ";") r.at++;
  skipLines(r);
  expectReserved(r, DO);
}

/** Reads a case up to its end; `list` reads the commands of a branch. */
export function readCase(r: Reader, list: (until: ReadonlySet<string>) => void): void {
  skipBlanks(r);
  readWord(r);
  skipLines(r);
  if (!reserved(r, IN)) throw new Unreadable("a case has no 'in'");
  r.at += 2;
  while (true) {
    skipLines(r);
    if (reserved(r, ESAC)) break;
    if (peek(r) === "(") r.at++;
    do {
      if (peek(r) === "|") r.at++;
      skipBlanks(r);
      if (!readWord(r)) throw new Unreadable("a case has no pattern");
      skipBlanks(r);
    } while (peek(r) === "|");
    expectOperator(r, ")");
    list(ESAC);
    if (reserved(r, ESAC)) break;
    expectOperator(r, ";;");
    if (peek(r) === "&") throw new Unreadable("a case falls through");
  }
  r.at += 4;
}

/** `[[ … ]]` runs only what is substituted in it, unless it calculates. */
export function readTest(r: Reader): void {
  bashOnly(r, "'[['");
  if (r.bodies.length > 0) throw new Unreadable("'[[' stands behind a here-document");
  while (true) {
    if (/^[ \t]*#/.test(r.text.slice(r.at))) throw new Unreadable("'[[' holds a '#'");
    skipBlanks(r);
    const c = peek(r);
    if (c === "") throw new Unreadable("'[[' is not closed");
    if ("()<>|&!\n".includes(c) && !/^[<>]\(/.test(r.text.slice(r.at, r.at + 2))) {
      r.at++;
      continue;
    }
    const word = readWord(r);
    if (!word) throw new Unreadable("'[[' holds what is not read");
    if (/^-(?:eq|ne|lt|le|gt|ge|v)$/.test(word.source)) r.doubts.add("'[[' evaluates what variables hold");
    if (word.source === "=~") throw new Unreadable("'[[' holds a regular expression");
    if (word.source === "]]") return;
  }
}

export function skipLines(r: Reader): void {
  for (skipBlanks(r); peek(r) === "\n"; skipBlanks(r)) {
    r.at++;
    readBodies(r);
  }
}

/** The reserved word at the reader, if it is one of `words`: unquoted, and ended like a word. */
export function reserved(r: Reader, words: ReadonlySet<string>): string | undefined {
  const word = /^(?:[a-z]+|\[\[|[{}!])(?=$|[ \t\n;&|<>()])/.exec(r.text.slice(r.at, r.at + 12))?.[0];
  return word !== undefined && words.has(word) ? word : undefined;
}

export function expectReserved(r: Reader, words: ReadonlySet<string>): string {
  const word = reserved(r, words);
  if (word === undefined) throw new Unreadable(`'${[...words].join("' or '")}' is missing`);
  r.at += word.length;
  return word;
}

export function expectOperator(r: Reader, operator: string): void {
  skipBlanks(r);
  if (!r.text.startsWith(operator, r.at)) throw new Unreadable(`'${operator}' is missing`);
  r.at += operator.length;
}
