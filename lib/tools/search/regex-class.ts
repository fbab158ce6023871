/** Reads a pattern character by character. */
export interface RegexReader {
  peek(ahead?: number): string | undefined;
  next(): string | undefined;
  /** What is left, up to a length that any construct of fixed shape fits in. */
  rest(): string;
  skip(text: string): void;
  literal(char: string): string;
  fail(reason: string): never;
}

/**
 * A byte that is no UTF-8 is held as a lone surrogate. Nothing but a line search's own edges may match one: in
 * ripgrep a character of a pattern never matches half a character.
 */
export const SURROGATES = "\\p{Cs}";
export const WORD = "[\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\p{Join_Control}]";
const SPACE = "[\\t-\\r\\u{20}\\u{85}\\u{a0}\\u{1680}\\u{2000}-\\u{200a}\\u{2028}\\u{2029}\\u{202f}\\u{205f}\\u{3000}]";

const PERL: Record<string, string> = { d: "\\p{Nd}", s: SPACE, w: WORD };

const POSIX: Record<string, string> = {
  alnum: "[0-9A-Za-z]",
  alpha: "[A-Za-z]",
  ascii: "[\\u{0}-\\u{7f}]",
  blank: "[\\t ]",
  cntrl: "[\\u{0}-\\u{1f}\\u{7f}]",
  digit: "[0-9]",
  graph: "[\\u{21}-\\u{7e}]",
  lower: "[a-z]",
  print: "[\\u{20}-\\u{7e}]",
  punct: "[\\u{21}-\\u{2f}\\u{3a}-\\u{40}\\u{5b}-\\u{60}\\u{7b}-\\u{7e}]",
  space: "[\\t-\\r\\u{20}]",
  upper: "[A-Z]",
  word: "[0-9A-Z_a-z]",
  xdigit: "[0-9A-Fa-f]",
};

const CONTROLS: Record<string, string> = { n: "\n", r: "\r", t: "\t", f: "\f", v: "\v", a: "\x07" };

export function regexReader(pattern: string): RegexReader {
  const chars = [...pattern];
  let at = 0;
  return {
    peek: (ahead = 0) => chars[at + ahead],
    next: () => chars[at++],
    rest: () => chars.slice(at, at + 64).join(""),
    skip: (text) => void (at += [...text].length),
    literal: (char) => /^[A-Za-z0-9]$/.test(char) ? char : `\\u{${char.codePointAt(0)!.toString(16)}}`,
    fail: (reason) => {
      throw new TypeError(`Cannot search for '${pattern}' as it is not a regular expression of ripgrep: ${reason}`);
    },
  };
}

function negate(set: string): string {
  return `[[^${set}]--${SURROGATES}]`;
}

/** An escape that stands for one character or a set of them. */
export function singleEscape(reader: RegexReader): string {
  const escape = readEscape(reader);
  return "set" in escape ? escape.set : reader.literal(escape.char);
}

function readEscape(reader: RegexReader): { char: string } | { set: string } {
  reader.next();
  const c = reader.next();
  if (c === undefined) return reader.fail("incomplete escape sequence, reached end of pattern prematurely");
  const perl = PERL[c.toLowerCase()];
  if (perl !== undefined) return { set: c === c.toLowerCase() ? perl : negate(perl) };
  if (c === "p" || c === "P") {
    const set = property(reader);
    return { set: c === "P" ? negate(set) : set };
  }
  if (c in CONTROLS) return { char: CONTROLS[c]! };
  if (c === "x" || c === "u" || c === "U") {
    const digits = { x: 2, u: 4, U: 8 }[c];
    const match = new RegExp(`^(?:\\{\\s*([0-9a-fA-F]{1,8})\\s*\\}|([0-9a-fA-F]{${digits}}))`).exec(reader.rest());
    if (!match) return reader.fail("invalid hexadecimal digit");
    reader.skip(match[0]);
    const code = parseInt(match[1] ?? match[2]!, 16);
    if (code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) {
      return reader.fail("hexadecimal literal is not a Unicode scalar value");
    }
    return { char: String.fromCodePoint(code) };
  }
  if (/^[0-9]$/.test(c)) return reader.fail("backreferences are not supported");
  if (!/^[!-/:-@[-`{-~ ]$/.test(c) || c === "<" || c === ">") return reader.fail("unrecognized escape sequence");
  return { char: c };
}

function property(reader: RegexReader): string {
  const match = /^(?:\{([^}]*)\}|([A-Za-z]))/.exec(reader.rest());
  if (!match) return reader.fail("Unicode property not found");
  reader.skip(match[0]);
  const name = match[1] ?? match[2]!;
  return resolveProperty(name) ?? reader.fail(`Unicode property '${name}' not found`);
}

function resolveProperty(text: string): string | undefined {
  const [, key, value] = /^(?:([^=:]*)[=:])?(.*)$/.exec(text.replace(/!=/, "="))!;
  const title = value!.trim().split(/[_\s-]+/).map((w) => w.charAt(0).toUpperCase() + w.slice(1).toLowerCase()).join(
    "_",
  );
  if (key === undefined && title === "Any") return `[^${SURROGATES}]`;
  const keys: Record<string, string> = {
    gc: "General_Category",
    generalcategory: "General_Category",
    sc: "Script",
    script: "Script",
    scx: "Script_Extensions",
    scriptextensions: "Script_Extensions",
  };
  const prefix = key === undefined ? undefined : keys[key.toLowerCase().replace(/[_\s-]/g, "")] ?? "?";
  const candidates = prefix === undefined
    ? [value, title, title.toUpperCase(), `Script=${title}`]
    : [`${prefix}=${title}`, `${prefix}=${value}`];
  for (const candidate of candidates) {
    try {
      new RegExp(`\\p{${candidate}}`, "v");
      return `\\p{${candidate}}`;
    } catch {
      continue;
    }
  }
  return undefined;
}

/** ripgrep's own limit, and no deeper than the stack. */
export const MOST_NESTED = 250;

/** A bracketed class, with nested classes and the set operators `&&`, `--` and `~~`. */
export function parseClass(reader: RegexReader, depth = 0): string {
  if (depth >= MOST_NESTED) reader.fail(`classes are nested more than ${MOST_NESTED} deep`);
  reader.next();
  const negated = reader.peek() === "^";
  if (negated) reader.next();
  let left: { set: string; operator: string } | undefined;
  let items: string[] = [];
  const fold = (): string => {
    const right = items.length > 0 ? `[${items.join("")}]` : "[]";
    if (!left) return right;
    const { set, operator } = left;
    return operator === "~~" ? `[[${set}--${right}][${right}--${set}]]` : `[${set}${operator}${right}]`;
  };
  while (reader.peek() === "-") items.push(reader.literal(reader.next()!));
  if (items.length === 0 && reader.peek() === "]") items.push(reader.literal(reader.next()!));
  for (;;) {
    const c = reader.peek();
    if (c === undefined) return reader.fail("unclosed character class");
    if (c === "]") {
      reader.next();
      return negated ? negate(fold()) : fold();
    }
    const operator = ["&&", "--", "~~"].find((o) => c + reader.peek(1) === o);
    if (operator !== undefined) {
      left = { set: fold(), operator };
      items = [];
      reader.skip(operator);
    } else if (c === "[") {
      const posix = /^\[:(\^?)([a-z]+):\]/.exec(reader.rest());
      const set = posix && POSIX[posix[2]!];
      if (set) {
        reader.skip(posix[0]);
        items.push(posix[1] ? negate(set) : set);
      } else items.push(parseClass(reader, depth + 1));
    } else items.push(classRange(reader));
  }
}

function classRange(reader: RegexReader): string {
  const item = () => reader.peek() === "\\" ? readEscape(reader) : { char: reader.next()! };
  const from = item();
  const dash = reader.peek() === "-" && reader.peek(1) !== "]" && reader.peek(1) !== "-";
  if (!dash) return "set" in from ? from.set : reader.literal(from.char);
  reader.next();
  if (reader.peek() === undefined) return reader.fail("unclosed character class");
  const to = item();
  if ("set" in from || "set" in to) return reader.fail("invalid range boundary, must be a literal");
  if (to.char.codePointAt(0)! < from.char.codePointAt(0)!) {
    return reader.fail("invalid character class range, the start must be <= the end");
  }
  return `${reader.literal(from.char)}-${reader.literal(to.char)}`;
}
