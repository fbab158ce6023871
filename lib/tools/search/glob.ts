import { Buffer } from "node:buffer";
import { boundedSearch } from "../../regex/bounded-search.ts";

/**
 * The globs of ripgrep (and of ignore files as ripgrep reads them): `*` and `?` stop at '/', `**` spans folders,
 * `{a,b}` and `[a-z]`, backslash escapes. Other glob libraries speak other dialects, and here two engines must agree.
 */
type Token =
  | { kind: "literal"; text: string }
  | { kind: "any" | "star" | "prefix" | "suffix" | "infix" }
  | { kind: "class"; negated: boolean; ranges: [string, string][] }
  | { kind: "alternates"; branches: Token[][] };

/** A glob as a test on '/'-separated paths; a throw says what is wrong with it. */
export function compileGlob(glob: string): (path: string) => boolean {
  const tokens = parse([...bytewise(glob)]);
  const source = tokens.length === 1 && tokens[0]!.kind === "prefix" ? "[^]*" : translate(tokens);
  const search = boundedSearch(new RegExp(`^(?:${source})$`));
  return (path) => search(bytewise(path)) === true;
}

/** Globs see bytes, so `?` is one byte: one character here stands for one byte of UTF-8. */
function bytewise(text: string): string {
  return /^[\0-\x7f]*$/.test(text) ? text : Buffer.from(text, "utf8").toString("latin1");
}

function parse(chars: string[]): Token[] {
  const stack: Token[][][] = [[[]]];
  let at = 0;
  let previous: string | undefined;
  let unclosedClass = false;
  const current = () => stack.at(-1)!.at(-1)!;
  const next = (): string | undefined => {
    previous = chars[at - 1];
    return chars[at++];
  };
  const stars = () => current().push({ kind: "star" }, { kind: "star" });

  const star = (): void => {
    const before = previous;
    if (chars[at] !== "*") return void current().push({ kind: "star" });
    at++;
    if (current().length === 0) {
      if (chars[at] !== undefined && chars[at] !== "/") return void stars();
      current().push({ kind: "prefix" });
      at++;
      return;
    }
    if (before !== "/" && (stack.length <= 1 || (before !== "," && before !== "{"))) return void stars();
    let suffix = false;
    if (chars[at] === undefined || (stack.length > 1 && (chars[at] === "," || chars[at] === "}"))) suffix = true;
    else if (chars[at] === "/") at++;
    else return void stars();
    const last = current().pop();
    if (last?.kind === "prefix" || last?.kind === "suffix") current().push(last);
    else current().push({ kind: suffix ? "suffix" : "infix" });
  };

  const charClass = (): void => {
    const start = at;
    const ranges: [string, string][] = [];
    const negated = chars[at] === "!" || chars[at] === "^";
    if (negated) at++;
    let first = true;
    let inRange = false;
    for (;; first = false) {
      const c = chars[at++];
      if (c === undefined) {
        // An unclosed class is a plain bracket, as in git.
        at = start;
        unclosedClass = true;
        return void current().push({ kind: "literal", text: "[" });
      }
      if (c === "]" && !first) break;
      if (c === "-" && !first && !inRange) {
        inRange = true;
        continue;
      }
      if (inRange) {
        const range = ranges.at(-1)!;
        if (c < range[0]) throw new TypeError(`Cannot use a glob as its range ${range[0]}-${c} is backwards`);
        range[1] = c;
      } else ranges.push([c, c]);
      inRange = false;
    }
    if (inRange) ranges.push(["-", "-"]);
    current().push({ kind: "class", negated, ranges });
  };

  for (let c = next(); c !== undefined; c = next()) {
    if (c === "?") current().push({ kind: "any" });
    else if (c === "*") star();
    else if (c === "[" && !unclosedClass) charClass();
    else if (c === "{") stack.push([[]]);
    else if (c === "}") {
      if (stack.length < 2) throw new TypeError("Cannot use a glob as it has a '}' without '{': write '\\}'");
      const branches = stack.pop()!;
      current().push({ kind: "alternates", branches });
    } else if (c === "," && stack.length > 1) stack.at(-1)!.push([]);
    else if (c === "\\") {
      const escaped = next();
      if (escaped === undefined) throw new TypeError("Cannot use a glob as it ends with a lone backslash");
      current().push({ kind: "literal", text: escaped });
    } else current().push({ kind: "literal", text: c });
  }
  if (stack.length > 1) throw new TypeError("Cannot use a glob as it has a '{' without '}': write '\\{'");
  return stack[0]![0]!;
}

function translate(tokens: Token[]): string {
  return tokens.map((token) => {
    switch (token.kind) {
      case "literal":
        return quote(token.text);
      case "any":
        return "[^/]";
      case "star":
        return "[^/]*";
      case "prefix":
        return "(?:/?|[^]*/)";
      case "suffix":
        return "/[^]*";
      case "infix":
        return "(?:/|/[^]*/)";
      case "class": {
        const ranges = token.ranges.map(([a, b]) => (a === b ? quote(a) : `${quote(a)}-${quote(b)}`)).join("");
        return `[${token.negated ? "^" : ""}${ranges}]`;
      }
      case "alternates": {
        const branches = token.branches.map(translate).filter((branch) => branch !== "");
        return branches.length > 0 ? `(?:${branches.join("|")})` : "";
      }
    }
  }).join("");
}

function quote(char: string): string {
  return /^[A-Za-z0-9]$/.test(char) ? char : `\\x${char.charCodeAt(0).toString(16).padStart(2, "0")}`;
}
