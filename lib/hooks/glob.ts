type Token = string | { readonly kind: "any" | "star" } | {
  readonly kind: "class";
  readonly has: (c: string) => boolean;
};

/** So that a pattern of many braces cannot grow without end. */
const MOST_BRANCHES = 256;

/**
 * The globs of rules and definitions (U12): `*` (which also crosses '/'), a double star before '/' (any folders, or
 * none), `?`, `[a-z]`, `[!a]`, `{a,b}` and backslash escapes. Libraries' globs are for files: they stop `*` at '/' and
 * turn into regular expressions, while this one compares in a time bounded by pattern × text.
 *
 * @throws {TypeError} if a bracket is not closed, or the alternatives are too many
 */
export function compileGlob(pattern: string): (text: string) => boolean {
  const branches = spread(pattern).map(tokens);
  return (text) => branches.some((branch) => matches(branch, text));
}

/** The pattern without braces and double stars: one pattern for each choice. */
function spread(pattern: string): string[] {
  const done: string[] = [];
  const open = [pattern];
  while (open.length > 0) {
    if (done.length + open.length > MOST_BRANCHES) {
      throw new TypeError(`Cannot use glob '${pattern}' as it has more than ${MOST_BRANCHES} alternatives`);
    }
    const next = open.pop()!;
    const choice = firstChoice(next);
    if (choice) open.push(...choice.between.map((part) => choice.before + part + choice.after).reverse());
    else done.push(next);
  }
  return done;
}

function firstChoice(pattern: string): { before: string; between: readonly string[]; after: string } | undefined {
  for (let i = 0; i < pattern.length; i++) {
    if (pattern[i] === "\\") i++;
    else if (pattern[i] === "[") i = classEnd(pattern, i) ?? i;
    else if (pattern.startsWith("**/", i) && (i === 0 || pattern[i - 1] === "/")) {
      return { before: pattern.slice(0, i), between: ["*/", ""], after: pattern.slice(i + 3) };
    } else if (pattern[i] === "{") {
      const found = braces(pattern, i);
      if (found) return { before: pattern.slice(0, i), between: found.parts, after: pattern.slice(found.end) };
    }
  }
  return undefined;
}

function braces(pattern: string, start: number): { parts: string[]; end: number } | undefined {
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
      return parts.length === 0 ? undefined : { parts: [...parts, pattern.slice(from, i)], end: i + 1 };
    }
  }
  return undefined;
}

/** The index of the bracket that closes the class; one right after the opening is a member. */
function classEnd(pattern: string, start: number): number | undefined {
  let i = start + 1;
  if (pattern[i] === "!" || pattern[i] === "^") i++;
  if (pattern[i] === "]") i++;
  for (; i < pattern.length; i++) {
    if (pattern[i] === "\\") i++;
    else if (pattern[i] === "]") return i;
  }
  return undefined;
}

function tokens(pattern: string): Token[] {
  const found: Token[] = [];
  for (let i = 0; i < pattern.length; i++) {
    const c = pattern[i]!;
    if (c === "\\" && i + 1 < pattern.length) found.push(pattern[++i]!);
    else if (c === "?") found.push({ kind: "any" });
    else if (c === "*") {
      const last = found.at(-1);
      if (last === undefined || !isStar(last)) found.push({ kind: "star" });
    } else if (c === "[") {
      const end = classEnd(pattern, i);
      if (end === undefined) {
        throw new TypeError(`Cannot use glob '${pattern}' as its '[' is never closed: write '\\[' for the character`);
      }
      found.push({ kind: "class", has: members(pattern.slice(i + 1, end)) });
      i = end;
    } else found.push(c);
  }
  return found;
}

function members(body: string): (c: string) => boolean {
  const negated = body[0] === "!" || body[0] === "^";
  const chars: { c: string; escaped: boolean }[] = [];
  for (let i = negated ? 1 : 0; i < body.length; i++) {
    const escaped = body[i] === "\\" && i + 1 < body.length;
    chars.push({ c: body[escaped ? ++i : i]!, escaped });
  }
  const ranges: [string, string][] = [];
  for (let i = 0; i < chars.length; i++) {
    const isRange = chars[i + 1]?.c === "-" && !chars[i + 1]!.escaped && chars[i + 2] !== undefined;
    ranges.push([chars[i]!.c, isRange ? chars[i + 2]!.c : chars[i]!.c]);
    if (isRange) i += 2;
  }
  return (c) => ranges.some(([from, to]) => from <= c && c <= to) !== negated;
}

/** Only the last star is ever taken back: an earlier one has no better place. */
function matches(pattern: readonly Token[], text: string): boolean {
  let p = 0;
  let t = 0;
  let star = -1;
  let resume = 0;
  while (t < text.length) {
    const token = pattern[p];
    if (token !== undefined && isStar(token)) {
      star = p++;
      resume = t;
    } else if (token !== undefined && fits(token, text[t]!)) {
      p++;
      t++;
    } else if (star >= 0) {
      p = star + 1;
      t = ++resume;
    } else return false;
  }
  while (p < pattern.length && isStar(pattern[p]!)) p++;
  return p === pattern.length;
}

function fits(token: Token, c: string): boolean {
  if (typeof token === "string") return token === c;
  return token.kind === "any" || (token.kind === "class" && token.has(c));
}

function isStar(token: Token): boolean {
  return typeof token === "object" && token.kind === "star";
}
