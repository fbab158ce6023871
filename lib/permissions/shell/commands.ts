import { expectOperator, expectReserved, readCase, readFor, readTest, reserved, skipLines } from "./compounds.ts";
import { readArithmetic } from "./expansions.ts";
import { bashOnly, peek, type Reader, Unreadable, type Word } from "./reader.ts";
import { readBodies, readRedirect, type Redirect } from "./redirects.ts";
import { readWord, skipBlanks } from "./words.ts";

/** One command that would be executed, wherever in the line it stands. */
export interface Command {
  readonly words: readonly Word[];
  readonly assignments: readonly Word[];
  readonly redirects: readonly Redirect[];
  readonly source: string;
  /** It runs in a shell that need not be bash. */
  readonly posix: boolean;
}

/** Everything a command line may execute, read without executing any of it. */
export interface CommandLine {
  readonly commands: readonly Command[];
  /** Why it could not be read to its end: then it may run anything. */
  readonly unreadable?: string;
  /** Why data in it may be evaluated as code. */
  readonly doubts: readonly string[];
}

/** Reads a command line of bash, or (`posix`) of a shell that need not be bash. */
export function readCommandLine(text: string, options: { posix?: boolean; depth?: number } = {}): CommandLine {
  const commands: Command[] = [];
  const doubts = new Set<string>();
  const start = (source: string, posix: boolean, depth: number): Reader => ({
    text: source,
    at: 0,
    depth,
    posix,
    doubts,
    bodies: [],
    list: (outer) => {
      const inner: Reader = { ...outer, bodies: [] };
      readList(inner, commands, NO_WORD);
      expectOperator(inner, ")");
      if (inner.bodies.length > 0) throw new Unreadable("a here-document has no body");
      expectOneLine(outer, outer.text.slice(outer.at, inner.at));
      outer.at = inner.at;
    },
    script: (inside, outer) => {
      expectOneLine(outer, inside);
      readAll(start(inside, outer.posix, outer.depth + 1), commands);
    },
  });
  try {
    readAll(start(text, options.posix ?? false, options.depth ?? 0), commands);
    return { commands, doubts: [...doubts] };
  } catch (error) {
    // A RangeError is the stack: expansions nested in expansions.
    if (!(error instanceof Unreadable || error instanceof RangeError)) throw error;
    return { commands, doubts: [...doubts], unreadable: error.message };
  }
}

/** No reserved word ends the list: only a bracket, or the end of the text. */
const NO_WORD: ReadonlySet<string> = new Set();
const THEN = new Set(["then"]);
const BRANCH = new Set(["elif", "else", "fi"]);
const DO = new Set(["do"]);
const DONE = new Set(["done"]);
const FI = new Set(["fi"]);
const BRACE = new Set(["}"]);
const CLOSING = ["then", "elif", "else", "fi", "do", "done", "esac", "}", "in"];

function readAll(r: Reader, commands: Command[]): void {
  if (r.text.includes("\0")) throw new Unreadable("it holds a NUL character");
  readList(r, commands, NO_WORD);
  if (r.bodies.length > 0) throw new Unreadable("a here-document has no body");
  if (r.at < r.text.length) throw new Unreadable(`'${peek(r)}' stands where a command is expected`);
}

/** Shells differ in whose newline starts the body of a here-document, so a substitution may not bring one along. */
function expectOneLine(outer: Reader, inside: string): void {
  if (outer.bodies.length > 0 && inside.includes("\n")) {
    throw new Unreadable("a substitution spans the line of a here-document");
  }
}

/** Commands up to a reserved word of `until`, a closing bracket, or the end; stays in front of it. */
function readList(r: Reader, commands: Command[], until: ReadonlySet<string>): void {
  if (++r.depth > 40) throw new Unreadable("it is nested too deep");
  while (true) {
    skipBlanks(r);
    const c = peek(r);
    if (c === "\n") {
      r.at++;
      readBodies(r);
      continue;
    }
    if (c === "" || c === ")" || (c === ";" && peek(r, 1) === ";") || reserved(r, until)) break;
    readPipeline(r, commands);
    skipBlanks(r);
    const operator = /^(?:&&|\|\||\|&|[;&|\n])/.exec(r.text.slice(r.at, r.at + 2))?.[0];
    if (operator === undefined) continue;
    if (operator === "\n" || (operator === ";" && peek(r, 1) === ";")) continue;
    if (operator === "|&") bashOnly(r, "'|&'");
    r.at += operator.length;
    if (operator !== ";" && operator !== "&") expectCommand(r);
  }
  r.depth--;
}

/** Behind `|`, `&&` and `||` a command must follow, perhaps on a later line. */
function expectCommand(r: Reader): void {
  for (skipBlanks(r); peek(r) === "\n"; skipBlanks(r)) {
    r.at++;
    readBodies(r);
  }
  if (/^(?:$|[;&|)])/.test(peek(r))) throw new Unreadable("a command is missing behind an operator");
}

function readPipeline(r: Reader, commands: Command[]): void {
  for (let word = reserved(r, PREFIX); word; word = reserved(r, PREFIX)) {
    if (word === "time") bashOnly(r, "'time'");
    r.at += word.length;
    skipBlanks(r);
    const options = word === "time" && /^(?:-p[ \t]+)?(?:--[ \t]+)?/.exec(r.text.slice(r.at));
    if (options) r.at += options[0].length;
    if (/^(?:$|[;&|)\n])/.test(peek(r))) return;
  }
  readCommand(r, commands);
}

const PREFIX = new Set(["!", "time"]);

function readCommand(r: Reader, commands: Command[]): void {
  if (peek(r) === "(") {
    if (peek(r, 1) === "(") {
      bashOnly(r, "'(('");
      r.at += 2;
      if (readArithmetic(r)) return readRedirects(r, commands);
      r.at -= 2;
    }
    r.at++;
    readList(r, commands, NO_WORD);
    expectOperator(r, ")");
    return readRedirects(r, commands);
  }
  const word = reserved(r, COMPOUND);
  if (word === undefined) return readSimple(r, commands);
  r.at += word.length;
  const list = (until: ReadonlySet<string>) => {
    readList(r, commands, until);
    return expectReserved(r, until);
  };
  if (word === "{") list(BRACE);
  else if (word === "if") {
    let next: string;
    do {
      list(THEN);
      next = list(BRANCH);
    } while (next === "elif");
    if (next === "else") list(FI);
  } else if (word === "while" || word === "until") {
    list(DO);
    list(DONE);
  } else if (word === "for") {
    readFor(r);
    list(DONE);
  } else if (word === "case") readCase(r, (until) => readList(r, commands, until));
  else if (word === "[[") readTest(r);
  else if (word === "function") {
    bashOnly(r, "'function'");
    skipBlanks(r);
    readWord(r);
    return readFunction(r, commands);
  } else throw new Unreadable(`'${word}' is not read`);
  readRedirects(r, commands);
}

const COMPOUND = new Set([
  "{",
  "if",
  "while",
  "until",
  "for",
  "case",
  "[[",
  "function",
  "select",
  "coproc",
  ...CLOSING,
]);

function readFunction(r: Reader, commands: Command[]): void {
  skipBlanks(r);
  if (peek(r) === "(") {
    r.at++;
    skipBlanks(r);
    expectOperator(r, ")");
  }
  skipLines(r);
  if (peek(r) !== "(" && !reserved(r, BODY)) throw new Unreadable("a function has no body");
  readCommand(r, commands);
}

const BODY = new Set(["{", "if", "while", "until", "for", "case"]);

function readSimple(r: Reader, commands: Command[]): void {
  const start = r.at;
  const words: Word[] = [];
  const assignments: Word[] = [];
  const redirects: Redirect[] = [];
  while (true) {
    skipBlanks(r);
    if (readRedirect(r, redirects)) continue;
    if (peek(r) === "(") {
      if (words.length === 1 && assignments.length + redirects.length === 0) return readFunction(r, commands);
      throw new Unreadable("a bracket stands inside a command");
    }
    const before = r.at;
    const word = readWord(r);
    if (!word) break;
    const assigned = words.length === 0 && /^[A-Za-z_]\w*(?:\[[^\]]*\])?\+?=/.test(word.source);
    if (peek(r) === "(" && /=$/.test(word.source)) readArray(r);
    if (assigned) {
      if (/^[A-Za-z_]\w*\[(?![0-9]+\])/.test(word.source)) {
        r.doubts.add("a subscript evaluates what variables hold");
      }
      assignments.push({ ...word, source: r.text.slice(before, r.at) });
    } else words.push(word);
  }
  if (r.at === start) throw new Unreadable(`'${peek(r)}' stands where a command is expected`);
  commands.push({ words, assignments, redirects, source: r.text.slice(start, r.at).trim(), posix: r.posix });
}

function readArray(r: Reader): void {
  bashOnly(r, "an array");
  if (r.bodies.length > 0) throw new Unreadable("an array stands behind a here-document");
  for (r.at++; peek(r) !== ")";) {
    skipBlanks(r);
    if (peek(r) === "\n") r.at++;
    else if (peek(r) !== ")" && !readWord(r)) throw new Unreadable("an array is not closed");
  }
  r.at++;
}

/** Redirections behind a compound command are checked like those of a command without words. */
function readRedirects(r: Reader, commands: Command[]): void {
  const redirects: Redirect[] = [];
  const start = r.at;
  for (skipBlanks(r); readRedirect(r, redirects); skipBlanks(r));
  if (redirects.length > 0) {
    commands.push({ words: [], assignments: [], redirects, source: r.text.slice(start, r.at).trim(), posix: r.posix });
  }
}
