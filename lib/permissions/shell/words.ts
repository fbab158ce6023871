import { readBackticks, readDollar, readDouble, readSingle } from "./expansions.ts";
import { bashOnly, type Hole, MANY, ONE, opensProcess, peek, type Reader, Unreadable, type Word } from "./reader.ts";

const END = new Set([" ", "\t", "\n", ";", "&", "|", "<", ">", "(", ")", ""]);

/** Of a user, behind a tilde. */
const LONGEST_NAME = 256;

/** The word at the reader, or undefined where an operator, a newline or the end stands. */
export function readWord(r: Reader): Word | undefined {
  const start = r.at;
  const parts: (string | Hole)[] = [];
  let bare = true;
  /** The word as brace expansion sees it: quoted characters cannot take part. */
  let shape = "";
  /** The parts from the first open bracket to the last that closes: a class may hold quotes, and anything of any length. */
  let [opened, closed] = [-1, -1];
  while (!END.has(peek(r)) || opensProcess(r)) {
    const c = peek(r);
    if (opensProcess(r)) {
      bashOnly(r, "process substitution");
      r.at += 2;
      r.list(r);
      parts.push(ONE);
    } else if (c === "\\") {
      if (peek(r, 1) === "\n") throw new Unreadable("a line is continued inside a word");
      if (peek(r, 1) === "") throw new Unreadable("it ends in a backslash");
      parts.push(peek(r, 1));
      r.at += 2;
    } else if (c === "'") parts.push(readSingle(r));
    else if (c === '"') parts.push("", ...readDouble(r));
    else if (c === "$") parts.push(...readDollar(r, false));
    else if (c === "`") parts.push(readBackticks(r, false));
    else {
      r.at++;
      shape += c;
      if (c === "[" && opened < 0) opened = parts.length;
      if (c === "~" && startsTilde(r, start)) {
        parts.push(MANY);
        r.at += /^[\w.+-]*/.exec(r.text.slice(r.at, r.at + LONGEST_NAME))![0].length; // whose home, or which folder
      } else parts.push(c === "*" || c === "?" ? MANY : c);
      if (c === "]" && opened >= 0) closed = parts.length;
      continue;
    }
    bare = false;
    shape += "q";
  }
  if (r.at === start) return undefined;
  const source = r.text.slice(start, r.at);
  if (hasBraces(shape)) return { parts: [MANY], source, bare: false };
  if (closed >= 0) parts.splice(opened, closed - opened, MANY);
  return { parts: joined(parts), source, bare: bare && !parts.some((p) => typeof p !== "string") };
}

/** Skips blanks, comments and continued lines; stays in front of a newline. */
export function skipBlanks(r: Reader): void {
  while (true) {
    const c = peek(r);
    if (c === " " || c === "\t") r.at++;
    else if (c === "\\" && peek(r, 1) === "\n") r.at += 2;
    else if (c === "#") { while (peek(r) !== "\n" && peek(r) !== "") r.at++; }
    else return;
  }
}

/** Whether braces may expand: a comma or two dots between the first that opens and the last that closes. */
function hasBraces(shape: string): boolean {
  const open = shape.indexOf("{");
  return open >= 0 && /,|\.\./.test(shape.slice(open + 1, Math.max(open + 1, shape.lastIndexOf("}"))));
}

/** Tilde expansion: at the start of a word, and behind `=` and `:` where it may be an assignment. */
function startsTilde(r: Reader, start: number): boolean {
  const before = r.text[r.at - 2];
  return r.at - 1 === start || before === "=" || before === ":";
}

function joined(parts: readonly (string | Hole)[]): (string | Hole)[] {
  const out: (string | Hole)[] = [];
  for (const part of parts) {
    const last = out.at(-1);
    if (typeof part === "string" && typeof last === "string") out[out.length - 1] = last + part;
    else out.push(part);
  }
  return out;
}
