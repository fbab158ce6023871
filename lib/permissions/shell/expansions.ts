import { bashOnly, type Hole, MANY, ONE, opensProcess, peek, type Reader, Unreadable } from "./reader.ts";

/** Reads what expands inside the body of a here-document, where quotes are plain characters. */
export function scanBody(text: string, outer: Reader): void {
  const r: Reader = { ...outer, text, at: 0 };
  while (r.at < text.length) {
    if (peek(r) === "\\") {
      continued(r);
      r.at += 2;
    } else if (peek(r) === "$") readDollar(r, true);
    else if (peek(r) === "`") readBackticks(r, true);
    else r.at++;
  }
}

/** Reads `((…))` behind its opening; false, at the same place, where it is two nested subshells after all. */
export function readArithmetic(r: Reader): boolean {
  const start = r.at;
  let depth = 0;
  let end = start;
  for (;; end++) {
    const c = r.text[end];
    if (c === undefined) throw new Unreadable("an arithmetic expression is not closed");
    // Shells differ in what quotes hide here, so that we could not tell arithmetic from commands.
    if ("'\"\\`".includes(c)) throw new Unreadable("quotes stand inside '(('");
    if (c === "(") depth++;
    if (c === ")" && depth-- === 0) break;
  }
  if (r.text[end + 1] !== ")") return false;
  const inside = r.text.slice(start, end);
  if (/[A-Za-z_$[]/.test(inside)) r.doubts.add("arithmetic evaluates what variables hold");
  scanBody(inside, r);
  r.at = end + 2;
  return true;
}

export function readSingle(r: Reader): string {
  const end = r.text.indexOf("'", r.at + 1);
  if (end < 0) throw new Unreadable("a single quote is not closed");
  const inside = r.text.slice(r.at + 1, end);
  r.at = end + 1;
  return suspectCode(inside);
}

export function readDouble(r: Reader): (string | Hole)[] {
  const parts: (string | Hole)[] = [];
  r.at++;
  while (peek(r) !== '"') {
    const c = peek(r);
    if (c === "") throw new Unreadable("a double quote is not closed");
    if (c === "$") parts.push(...readDollar(r, true));
    else if (c === "`") parts.push(readBackticks(r, true));
    else if (c === "\\") {
      const next = peek(r, 1);
      if (!continued(r)) parts.push('$`"\\'.includes(next) ? next : c + next);
      r.at += 2;
    } else {
      parts.push(c);
      r.at++;
    }
  }
  r.at++;
  suspectCode(parts.filter((p) => typeof p === "string").join(""));
  return parts;
}

/** Whether a line is continued here; behind `$` it would join two characters we read apart. */
function continued(r: Reader): boolean {
  if (peek(r, 1) !== "\n") return false;
  if ("$<>".includes(r.text[r.at - 1] ?? " ")) throw new Unreadable("a line is continued inside an expansion");
  return true;
}

/** `a[$(cmd)]` in quotes is harmless text until arithmetic or a builtin takes it for a name: then it runs. */
function suspectCode(text: string): string {
  if (/(?:^|\w)\[[^\]]*(?:\$\(|`)/.test(text)) {
    throw new Unreadable("quoted text holds a subscript that runs a command when evaluated");
  }
  return text;
}

/** Reads what begins with `$`: a variable, a substitution, arithmetic, a quote, or just the character. */
export function readDollar(r: Reader, quoted: boolean): (string | Hole)[] {
  const next = peek(r, 1);
  const hole = quoted ? ONE : MANY;
  if (next === "(") {
    if (peek(r, 2) === "(") {
      r.at += 3;
      if (readArithmetic(r)) return [ONE];
      bashOnly(r, "'$((' without '))'");
      r.at -= 3;
    }
    r.at += 2;
    r.list(r);
    return [hole];
  }
  if (next === "{") return [readBraced(r, quoted)];
  if (next === "[") throw new Unreadable("'$[' is arithmetic of an old kind");
  if (next === "\\" && peek(r, 2) === "\n") throw new Unreadable("a line is continued inside an expansion");
  if (!quoted && next === "'") {
    bashOnly(r, "$'…'");
    return [readAnsi(r)];
  }
  if (!quoted && next === '"') {
    bashOnly(r, '$"…"');
    r.at++;
    return ["", ...readDouble(r)];
  }
  const name = /^(?:[A-Za-z_]\w*|[0-9@*#?$!-])/.exec(r.text.slice(r.at + 1, r.at + 300));
  r.at += 1 + (name?.[0].length ?? 0);
  return [name ? (name[0] === "@" ? MANY : hole) : "$"];
}

/** `@` gives several words, or none, also in quotes. */
function readBraced(r: Reader, quoted: boolean): Hole {
  const start = r.at;
  r.at += 2;
  if (/[\s|(]/.test(peek(r))) throw new Unreadable("'${ ' runs commands");
  const head = /^(!?)(#?)([A-Za-z_]\w*|[0-9]+|[@*#?$!-])?(\[(?:[0-9]+|[@*])\])?/.exec(r.text.slice(r.at, r.at + 300)) ??
    [""];
  if (head[1]) r.doubts.add("an indirect expansion evaluates a name that a variable holds");
  r.at += head[0].length;
  if (peek(r) === "[") r.doubts.add("a subscript evaluates what variables hold");
  if (peek(r) === "@" && peek(r, 1) === "P") r.doubts.add("'@P' runs the commands in a prompt");
  if (peek(r) === ":" && !/[-=?+]/.test(peek(r, 1))) r.doubts.add("a substring evaluates what variables hold");
  while (peek(r) !== "}") {
    const c = peek(r);
    if (c === "") throw new Unreadable("'${' is not closed");
    if (c === "'" || c === '"') {
      if (quoted) throw new Unreadable("quotes stand inside a quoted '${'");
      if (c === "'") readSingle(r);
      else readDouble(r);
    } else if (c === "$") readDollar(r, quoted);
    else if (c === "`") readBackticks(r, quoted);
    else if (opensProcess(r)) throw new Unreadable("'${' holds a process substitution");
    else if (c === "\\") {
      continued(r);
      r.at += 2;
    } else r.at++;
  }
  r.at++;
  return quoted && !r.text.slice(start, r.at).includes("@") ? ONE : MANY;
}

export function readBackticks(r: Reader, quoted: boolean): Hole {
  let inside = "";
  for (r.at++; peek(r) !== "`"; r.at++) {
    const c = peek(r);
    if (c === "") throw new Unreadable("a backtick is not closed");
    if (c === "\\" && "$`\\".includes(peek(r, 1)) && peek(r, 1) !== "") inside += r.text[++r.at];
    else if (c === "\\" && quoted && peek(r, 1) === '"') throw new Unreadable("a quote is escaped inside backticks");
    else inside += c;
  }
  r.at++;
  r.script(inside, r);
  return quoted ? ONE : MANY;
}

const ANSI: Record<string, string> = {
  n: "\n",
  t: "\t",
  r: "\r",
  a: "\x07",
  b: "\b",
  e: "\x1b",
  E: "\x1b",
  f: "\f",
  v: "\v",
};

function readAnsi(r: Reader): string {
  let out = "";
  for (r.at += 2; peek(r) !== "'"; r.at++) {
    const c = peek(r);
    if (c === "") throw new Unreadable("a quote is not closed");
    if (c !== "\\") {
      out += c;
      continue;
    }
    const code = /^\\(?:x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8})|([0-7]{1,3}))/.exec(
      r.text.slice(r.at, r.at + 11),
    );
    if (code) {
      const value = code[4] ? parseInt(code[4], 8) & 255 : parseInt(code[1] ?? code[2] ?? code[3] ?? "", 16);
      if (value === 0 || value > 0x10ffff || (value > 127 && (code[1] || code[4]))) {
        throw new Unreadable("a quote holds a raw byte");
      }
      out += String.fromCodePoint(value);
      r.at += code[0].length - 1;
      continue;
    }
    const letter = r.text[++r.at] ?? "";
    if (letter === "c") throw new Unreadable("a quote holds a control character");
    out += ANSI[letter] ?? ("'\"?\\".includes(letter) ? letter : `\\${letter}`);
  }
  r.at++;
  return suspectCode(out);
}
