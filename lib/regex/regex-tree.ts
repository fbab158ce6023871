/** Character codes as sorted, disjoint ranges. */
export type CharSet = readonly (readonly [number, number])[];

/** A regular expression as far as its repetitions matter: what only looks, and matches nothing, is separate. */
export type RegexTree =
  | { readonly kind: "set"; readonly set: CharSet }
  | { readonly kind: "sequence" | "choice"; readonly parts: readonly RegexTree[] }
  | { readonly kind: "look"; readonly body: RegexTree }
  | { readonly kind: "edge"; readonly edge: "^" | "$" | "b" | "B"; readonly lines: boolean }
  | { readonly kind: "back" }
  | { readonly kind: "loop"; readonly body: RegexTree; readonly min: number; readonly max: number };

const LAST = 0xffff;
export const ANY: CharSet = [[0, LAST]];
const DIGITS: CharSet = [[48, 57]];
export const WORDS: CharSet = [[48, 57], [65, 90], [95, 95], [97, 122]];
const BREAKS: CharSet = [[10, 10], [13, 13], [0x2028, 0x2029]];
const SPACES: CharSet = [
  [9, 13],
  [32, 32],
  [160, 160],
  [0x1680, 0x1680],
  [0x2000, 0x200a],
  [0x2028, 0x2029],
  [0x202f, 0x202f],
  [0x205f, 0x205f],
  [0x3000, 0x3000],
  [0xfeff, 0xfeff],
];
const CLASSES: ReadonlyMap<string, CharSet> = new Map([["d", DIGITS], ["w", WORDS], ["s", SPACES]]);
const CONTROLS: { readonly [letter: string]: number } = { t: 9, n: 10, v: 11, f: 12, r: 13 };

/** Deeper groups are refused: each costs a frame of the stack. */
const MOST_NESTED = 250;

/** Groups in groups, more than can be judged. */
export class TooNested extends Error {
  override name = "TooNested";
  readonly reason = `its groups are nested more than ${MOST_NESTED} deep: write it flatter`;
  constructor() {
    super();
    this.message = `Cannot read the expression as ${this.reason}`;
  }
}

interface Reader {
  readonly source: string;
  /** Whether it names groups: only then is `\k<name>` a reference back. */
  readonly named: boolean;
  readonly depth: number;
  readonly dotAll: boolean;
  readonly ignoreCase: boolean;
  readonly lines: boolean;
  at: number;
}

/**
 * Takes apart a source that `RegExp` has accepted without the flags `u` and `v`.
 *
 * @throws {TooNested}
 */
export function regexTree(source: string, flags: string): RegexTree {
  const [dotAll, ignoreCase, lines] = [..."sim"].map((flag) => flags.includes(flag)) as [boolean, boolean, boolean];
  return choice({ source, at: 0, depth: 0, named: namesGroups(source), dotAll, ignoreCase, lines });
}

/** Asks the engine: a class or an escape can make other text look like a group with a name. */
function namesGroups(source: string): boolean {
  return source.includes("\\k<") && new RegExp(`${source}|`).exec("")!.groups !== undefined;
}

/** What a sticky expression matches at the reader. */
function ahead(sticky: RegExp, { source, at }: Reader): RegExpExecArray | null {
  sticky.lastIndex = at;
  return sticky.exec(source);
}

function choice(reader: Reader): RegexTree {
  const parts = [sequence(reader)];
  while (reader.source[reader.at] === "|") {
    reader.at++;
    parts.push(sequence(reader));
  }
  return parts.length === 1 ? parts[0]! : { kind: "choice", parts };
}

function sequence(reader: Reader): RegexTree {
  const parts: RegexTree[] = [];
  for (;;) {
    const c = reader.source[reader.at];
    if (c === undefined || c === "|" || c === ")") break;
    const body = atom(reader);
    parts.push(quantified(reader, body));
  }
  return parts.length === 1 ? parts[0]! : { kind: "sequence", parts };
}

const QUANTIFIER = /(?:([*+?])|\{(\d+)(,(\d*))?\})\??/y;

function quantified(reader: Reader, body: RegexTree): RegexTree {
  const found = ahead(QUANTIFIER, reader);
  if (!found) return body;
  reader.at += found[0].length;
  const [, sign, least, open, most] = found;
  if (sign !== undefined) return { kind: "loop", body, min: sign === "+" ? 1 : 0, max: sign === "?" ? 1 : Infinity };
  const min = Number(least);
  return { kind: "loop", body, min, max: open === undefined ? min : most ? Number(most) : Infinity };
}

/** What may stand behind the bracket that opens a group. */
const GROUP_KIND = /(?:\?(?::|=|!|<=|<!|<[^>]*>|[a-z]*(?:-[a-z]*)?:))?/y;
const NAMED_REFERENCE = /k<[^>]*>/y;

function atom(reader: Reader): RegexTree {
  const { source } = reader;
  const c = source[reader.at++]!;
  if (c === "(") {
    const [opened] = ahead(GROUP_KIND, reader)!;
    reader.at += opened.length;
    const inner = changed(reader, opened);
    if (inner.depth > MOST_NESTED) throw new TooNested();
    const body = choice(inner);
    reader.at = inner.at + 1;
    return /^\?<?[=!]/.test(opened) ? { kind: "look", body } : body;
  }
  if (c === "^" || c === "$") return { kind: "edge", edge: c, lines: reader.lines };
  if (c === ".") return { kind: "set", set: reader.dotAll ? ANY : complement(BREAKS) };
  if (c === "[") return { kind: "set", set: characterClass(reader) };
  if (c !== "\\") return { kind: "set", set: cased([[c.charCodeAt(0), c.charCodeAt(0)]], reader) };
  const next = source[reader.at];
  if (next === "b" || next === "B") {
    reader.at++;
    return { kind: "edge", edge: next, lines: false };
  }
  if (next !== undefined && /[1-9]/.test(next)) {
    while (/\d/.test(source[reader.at] ?? "")) reader.at++;
    return { kind: "back" };
  }
  const reference = reader.named ? ahead(NAMED_REFERENCE, reader) : null;
  if (reference) {
    reader.at += reference[0].length;
    return { kind: "back" };
  }
  return { kind: "set", set: cased(escape(reader), reader) };
}

/** A reader of what is inside a group, with the flags that the group begins with: `(?i-s:`. */
function changed(reader: Reader, opened: string): Reader {
  const [, on = "", off = ""] = /^\?([a-z]*)(?:-([a-z]*))?:$/.exec(opened) ?? [];
  const flag = (name: string, before: boolean) => on.includes(name) || (before && !off.includes(name));
  const { dotAll, ignoreCase, lines, depth } = reader;
  return {
    ...reader,
    depth: depth + 1,
    dotAll: flag("s", dotAll),
    ignoreCase: flag("i", ignoreCase),
    lines: flag("m", lines),
  };
}

/** What follows a backslash, inside a class or outside. */
function escape(reader: Reader): CharSet {
  const { source } = reader;
  const c = source[reader.at++] ?? "\\";
  const one = (code: number): CharSet => [[code, code]];
  const named = CLASSES.get(c.toLowerCase());
  if (named) return CLASSES.has(c) ? named : complement(named);
  const hex = /^(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2}))/.exec(source.slice(reader.at - 1, reader.at + 4));
  if (hex) {
    reader.at += hex[0].length - 1;
    return one(parseInt(hex[1] ?? hex[2]!, 16));
  }
  const octal = /^(?:[0-3][0-7]{0,2}|[4-7][0-7]?)/.exec(source.slice(reader.at - 1, reader.at + 2));
  if (octal) {
    reader.at += octal[0].length - 1;
    return one(parseInt(octal[0], 8));
  }
  if (c === "c" && /[a-zA-Z]/.test(source[reader.at] ?? "")) return one(source.charCodeAt(reader.at++) % 32);
  return one(CONTROLS[c] ?? c.charCodeAt(0));
}

function characterClass(reader: Reader): CharSet {
  const { source } = reader;
  const negated = source[reader.at] === "^";
  if (negated) reader.at++;
  const ranges: (readonly [number, number])[] = [];
  while (reader.at < source.length && source[reader.at] !== "]") {
    const from = member(reader);
    if (source[reader.at] !== "-" || source[reader.at + 1] === "]") {
      ranges.push(...from);
      continue;
    }
    reader.at++;
    const to = member(reader);
    const isRange = from.length === 1 && from[0]![0] === from[0]![1] && to.length === 1 && to[0]![0] === to[0]![1];
    if (isRange) ranges.push([from[0]![0], to[0]![0]]);
    else ranges.push(...from, [45, 45], ...to);
  }
  reader.at++;
  const set = cased(joined(ranges), reader);
  return negated ? complement(set) : set;
}

function member(reader: Reader): CharSet {
  const c = reader.source[reader.at++]!;
  if (c !== "\\") return [[c.charCodeAt(0), c.charCodeAt(0)]];
  if (reader.source[reader.at] === "b") {
    reader.at++;
    return [[8, 8]];
  }
  return escape(reader);
}

/** Both cases of ASCII letters where case does not count; others are folded too rarely to matter here. */
function cased(set: CharSet, reader: Reader): CharSet {
  if (!reader.ignoreCase) return set;
  const folded = set.flatMap(([from, to]) =>
    [[65, 90, 32], [97, 122, -32]].flatMap(([a, z, shift]) => {
      const [low, high] = [Math.max(from, a!), Math.min(to, z!)];
      return low <= high ? [[low + shift!, high + shift!] as const] : [];
    })
  );
  return joined([...set, ...folded]);
}

function joined(ranges: readonly (readonly [number, number])[]): CharSet {
  const out: [number, number][] = [];
  for (const [from, to] of [...ranges].sort((a, b) => a[0] - b[0])) {
    const last = out.at(-1);
    if (last && from <= last[1] + 1) last[1] = Math.max(last[1], to);
    else out.push([from, to]);
  }
  return out;
}

function complement(set: CharSet): CharSet {
  const out: [number, number][] = [];
  let next = 0;
  for (const [from, to] of set) {
    if (from > next) out.push([next, from - 1]);
    next = to + 1;
  }
  if (next <= LAST) out.push([next, LAST]);
  return out;
}

export function overlap(a: CharSet, b: CharSet): boolean {
  for (let i = 0, j = 0; i < a.length && j < b.length;) {
    const [from, to] = a[i]!;
    const [low, high] = b[j]!;
    if (from <= high && low <= to) return true;
    // Both are sorted: the range that ends first meets nothing further on.
    if (to < high) i++;
    else j++;
  }
  return false;
}
