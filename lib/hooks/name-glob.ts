import { boundedSearch } from "../regex/bounded-search.ts";
import { runaway } from "../regex/runaway.ts";

/**
 * The globs of rules and definitions (U12): `*` (which also crosses '/'), a double star before '/' (any folders, or
 * none), `?`, `[a-z]`, `[!a]`, `{a,b}` and backslash escapes. Libraries' globs are for files: they stop `*` at '/'.
 *
 * @throws {TypeError} if a bracket is not closed, or its alternatives could take forever
 */
export function compileNameGlob(pattern: string): (text: string) => boolean {
  const regex = new RegExp(`^(?:${translated(pattern)})$`);
  const why = runaway(regex);
  if (why !== undefined) throw new TypeError(`Cannot use glob '${pattern}' as ${why}`);
  const search = boundedSearch(regex);
  return (text) => search(text) === true;
}

/** The glob as a regular expression; `before` is the character in front of it. */
function translated(pattern: string, before = "/"): string {
  let source = "";
  for (let i = 0; i < pattern.length; i++) {
    const c = pattern[i]!;
    const braces = c === "{" ? bracesAt(pattern, i) : undefined;
    if (c === "\\" && i + 1 < pattern.length) source += quoted(pattern[++i]!);
    else if (pattern.startsWith("**/", i) && (pattern[i - 1] ?? before) === "/") {
      source += "(?:[^]*/)?";
      i += 2;
    } else if (c === "*") source += source.endsWith("[^]*") ? "" : "[^]*";
    else if (c === "?") source += "[^]";
    else if (c === "[") {
      const end = classEnd(pattern, i);
      if (end === undefined) {
        throw new TypeError(`Cannot use glob '${pattern}' as its '[' is never closed: write '\\[' for the character`);
      }
      source += characterClass(pattern.slice(i + 1, end));
      i = end;
    } else if (braces) {
      source += `(?:${braces.parts.map((part) => translated(part, pattern[i - 1] ?? before)).join("|")})`;
      i = braces.end;
    } else source += quoted(c);
  }
  return source;
}

function quoted(c: string): string {
  return /[\\^$.*+?()[\]{}|/-]/.test(c) ? `\\${c}` : c;
}

/** The alternatives of braces and where they end; undefined for braces that are plain characters. */
function bracesAt(pattern: string, start: number): { parts: string[]; end: number } | undefined {
  const parts: string[] = [];
  let depth = 0;
  let from = start + 1;
  for (let i = start; i < pattern.length; i++) {
    const c = pattern[i];
    if (c === "\\") i++;
    else if (c === "{") depth++;
    else if (c === "," && depth === 1) {
      parts.push(pattern.slice(from, i));
      from = i + 1;
    } else if (c === "}" && --depth === 0) {
      return parts.length === 0 ? undefined : { parts: [...parts, pattern.slice(from, i)], end: i };
    }
  }
  return undefined;
}

/** The index of the bracket that closes the class; one right after the opening is a member. */
function classEnd(pattern: string, start: number): number | undefined {
  const found = /^\[[!^]?\]?(?:\\[^]|[^\]\\])*\]/.exec(pattern.slice(start));
  return found ? start + found[0].length - 1 : undefined;
}

function characterClass(body: string): string {
  const negated = /^[!^]/.test(body);
  const members = [...body.slice(negated ? 1 : 0).matchAll(/(\\?[^])(?:-(\\?[^]))?/g)].map(([, from, to = from]) => {
    const [first, last] = [from!.at(-1)!, to!.at(-1)!];
    return first <= last ? `${quoted(first)}-${quoted(last)}` : "";
  });
  return `[${negated ? "^" : ""}${members.join("")}]`;
}
