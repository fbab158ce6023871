import { Buffer } from "node:buffer";
import { ToolError } from "../core/tool.ts";
import { boundedSearch } from "../regex/bounded-search.ts";

interface IgnoreRule {
  readonly keep: boolean;
  readonly onlyDirectories: boolean;
  readonly matches: (path: string) => boolean;
}

/** One line of an ignore file, undefined for a comment or an empty line; a throw says what is wrong with its glob. */
export function parseIgnoreLine(given: string): IgnoreRule | undefined {
  let line = given;
  if (line.startsWith("#")) return undefined;
  if (!line.endsWith("\\ ")) line = line.trimEnd();
  if (line === "") return undefined;
  let keep = false;
  let anchored = false;
  if (line.startsWith("\\!") || line.startsWith("\\#")) {
    line = line.slice(1);
  } else {
    if (line.startsWith("!")) {
      keep = true;
      line = line.slice(1);
    }
    if (line.startsWith("/")) {
      anchored = true;
      line = line.slice(1);
    }
  }
  const onlyDirectories = line.endsWith("/");
  if (onlyDirectories) line = line.slice(0, line.endsWith("\\/") ? -2 : -1);
  if (!anchored && !line.includes("/") && line !== "**") line = `**/${line}`;
  // `folder/**` is what the folder holds, not the folder itself.
  if (line.endsWith("/**")) line += "/*";
  return { keep, onlyDirectories, matches: compilePathGlob(line) };
}

/** Whether the last rule that fits ignores a path, as in git. The path is relative to the folder of the ignore file. */
function ignores(rules: readonly IgnoreRule[], path: string, isDirectory: boolean): boolean {
  return rules.findLast((rule) => (!rule.onlyDirectories || isDirectory) && rule.matches(path))?.keep === false;
}

/** Which files a list of globs selects: the last glob that fits decides, `!glob` takes away, also whole folders. */
export interface GlobSelection {
  /** The same selection as lines of an ignore file, by which ripgrep can pass over the rest. */
  readonly lines: readonly string[];
  /** Whether a file is selected, its folders looked at too. */
  readonly selects: (path: string) => boolean;
}

/** @throws {ToolError} that says what is wrong with a glob */
export function selectGlobs(globs: readonly string[]): GlobSelection {
  try {
    return selectionOf(globs.map(globBelow));
  } catch (error) {
    throw new ToolError((error as Error).message, { code: "invalid_input" });
  }
}

function selectionOf(globs: readonly string[]): GlobSelection {
  const wanted = globs.some((glob) => !glob.startsWith("!"));
  const lines = [
    ...(wanted ? ["*", "!*/"] : []),
    ...globs.map((glob) => (glob.startsWith("!") ? glob.slice(1).replace(/^[!#]/, "\\$&") : `!${glob}`)),
  ];
  const rules = lines.map((line) => {
    if (/[\n\r]/.test(line)) throw new TypeError("Cannot use a glob as it has a line break");
    return parseIgnoreLine(line);
  }).filter((rule) => rule !== undefined);
  return {
    lines,
    selects: (path) => {
      if (ignores(rules, path, false)) return false;
      for (let slash = path.indexOf("/"); slash >= 0; slash = path.indexOf("/", slash + 1)) {
        if (ignores(rules, path.slice(0, slash), true)) return false;
      }
      return true;
    },
  };
}

/** A glob as it is often written: `./` is the folder searched. What goes up from there would match nothing, unnoticed. */
function globBelow(glob: string): string {
  const [, not, path] = /^(!?)(.*)$/s.exec(glob)!;
  if (path!.split("/").includes("..")) {
    throw new TypeError(`Cannot use glob '${glob}' as it goes up with '..': give the folder as path`);
  }
  return not + path!.replace(/^(?:\.\/+)+/, "/");
}

/** Splits a list of globs at commas and spaces that are not inside braces or brackets: `*.ts, *.{js,mjs}`. */
export function splitGlobs(text: string): string[] {
  const globs: string[] = [];
  let glob = "";
  let depth = 0;
  for (let i = 0; i < text.length; i++) {
    const c = text[i]!;
    if (c === "\\") {
      glob += c + (text[++i] ?? "");
      continue;
    }
    if (c === "{" || c === "[") depth++;
    else if (c === "}" || c === "]") depth = Math.max(0, depth - 1);
    if (depth === 0 && /[,\s]/.test(c)) {
      if (glob !== "") globs.push(glob);
      glob = "";
    } else glob += c;
  }
  if (glob !== "") globs.push(glob);
  return globs;
}

const ANY = "[^/]", STAR = "[^/]*", PREFIX = "(?:/?|[^]*/)", SUFFIX = "/[^]*", INFIX = "(?:/|/[^]*/)";

/**
 * A glob as a test on '/'-separated paths; a throw says what is wrong with it. It is read as ripgrep reads it: `*` and `?`
 * stop at '/', `**` spans folders, `{a,b}` and `[a-z]`, backslash escapes. Other glob libraries speak other dialects, and
 * here two engines must agree.
 */
export function compilePathGlob(glob: string): (path: string) => boolean {
  const parts = parse([...bytewise(glob)]);
  const source = parts.length === 1 && parts[0] === PREFIX ? "[^]*" : parts.join("");
  const search = boundedSearch(new RegExp(`^(?:${source})$`));
  return (path) => search(bytewise(path)) === true;
}

/** Globs see bytes, so `?` is one byte: one character here stands for one byte of UTF-8. */
function bytewise(text: string): string {
  return /^[\0-\x7f]*$/.test(text) ? text : Buffer.from(text, "utf8").toString("latin1");
}

/** The parts of a glob, each as a regular expression. */
function parse(chars: string[]): string[] {
  /** The branches of each brace that is open; the glob itself is the one branch of the first. */
  const stack: string[][][] = [[[]]];
  let at = 0;
  let previous: string | undefined;
  let unclosedClass = false;
  const current = () => stack.at(-1)!.at(-1)!;
  const next = (): string | undefined => {
    previous = chars[at - 1];
    return chars[at++];
  };

  const star = (): void => {
    const before = previous;
    if (chars[at] !== "*") return void current().push(STAR);
    at++;
    const after = chars[at];
    const inBraces = stack.length > 1;
    const ends = after === undefined || (inBraces && (after === "," || after === "}"));
    if (current().length === 0 && (after === undefined || after === "/")) {
      current().push(PREFIX);
      at++;
      return;
    }
    const begins = before === "/" || (inBraces && (before === "," || before === "{"));
    if (current().length === 0 || !begins || !(ends || after === "/")) return void current().push(STAR, STAR);
    if (!ends) at++;
    const last = current().pop()!;
    current().push(last === PREFIX || last === SUFFIX ? last : ends ? SUFFIX : INFIX);
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
        return void current().push(quote("["));
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
    const members = ranges.map(([from, to]) => (from === to ? quote(from) : `${quote(from)}-${quote(to)}`));
    current().push(`[${negated ? "^" : ""}${members.join("")}]`);
  };

  for (let c = next(); c !== undefined; c = next()) {
    if (c === "?") current().push(ANY);
    else if (c === "*") star();
    else if (c === "[" && !unclosedClass) charClass();
    else if (c === "{") stack.push([[]]);
    else if (c === "}") {
      if (stack.length < 2) throw new TypeError("Cannot use a glob as it has a '}' without '{': write '\\}'");
      const branches = stack.pop()!.map((parts) => parts.join("")).filter((branch) => branch !== "");
      current().push(branches.length > 0 ? `(?:${branches.join("|")})` : "");
    } else if (c === "," && stack.length > 1) stack.at(-1)!.push([]);
    else if (c === "\\") {
      const escaped = next();
      if (escaped === undefined) throw new TypeError("Cannot use a glob as it ends with a lone backslash");
      current().push(quote(escaped));
    } else current().push(quote(c));
  }
  if (stack.length > 1) throw new TypeError("Cannot use a glob as it has a '{' without '}': write '\\{'");
  return stack[0]![0]!;
}

function quote(char: string): string {
  return /^[A-Za-z0-9]$/.test(char) ? char : `\\x${char.charCodeAt(0).toString(16).padStart(2, "0")}`;
}
