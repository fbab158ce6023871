import { programOf } from "./shell.ts";

/** Between words; no word can hold it, so `"git push"` is not `git push`. */
const GAP = "\0";
const STAR = Symbol("any text");
/** The end of the command, or a gap and any words: `git *` and `git:*` are also a bare `git`. */
const TAIL = Symbol("any words");
/** Options before a sub-command; with more, a pattern about a sub-command counts as matched. */
const MOST_OPTIONS = 16;

/** The text between the brackets of a Bash rule. */
export interface CommandPattern {
  readonly tokens: readonly (string | typeof STAR | typeof TAIL)[];
}

/** `git *`, `git commit:*`, `npm run test`, `* --version`; quotes group words as in a shell. */
export function compilePattern(text: string): CommandPattern {
  let body = text.trim();
  const tail = /(?::|\s)\*$/.test(body) && !body.endsWith("\\ *");
  if (tail) body = body.replace(/(?::|\s+)\*$/, "");
  const tokens: (string | typeof STAR | typeof TAIL)[] = [];
  let quote = "";
  for (let i = 0; i < body.length; i++) {
    const c = body[i]!;
    if (quote === "" && c === "\\" && i + 1 < body.length) tokens.push(body[++i]!);
    else if (c === quote) quote = "";
    else if (quote === "" && (c === '"' || c === "'") && body.indexOf(c, i + 1) > 0) quote = c;
    else if (c === "*") tokens.push(STAR);
    else if (quote === "" && /\s/.test(c)) { if (tokens.at(-1) !== GAP) tokens.push(GAP); }
    else tokens.push(c);
  }
  if (tail) tokens.push(TAIL);
  return { tokens };
}

/** Whether the pattern matches the words of a command. */
export function matchesCommand({ tokens }: CommandPattern, words: readonly string[]): boolean {
  const text = words.join(GAP);
  let [t, s, star, from] = [0, 0, -1, 0];
  while (s < text.length) {
    if (tokens[t] === TAIL && text[s] === GAP) return true;
    if (tokens[t] === STAR) [star, from, t] = [t, s, t + 1];
    else if (tokens[t] === text[s]) [t, s] = [t + 1, s + 1];
    else if (star >= 0) [t, from, s] = [star + 1, from + 1, from + 1];
    else return false;
  }
  while (tokens[t] === STAR || tokens[t] === TAIL) t++;
  return t === tokens.length;
}

/**
 * The same for rules that deny or ask: a program is also named by its path, and a sub-command may stand behind options, each of
 * which may have a value (`git -C . push`).
 */
export function concernsCommand(pattern: CommandPattern, [name = "", ...rest]: readonly string[]): boolean {
  const { tokens } = pattern;
  const names = [...new Set([name, programOf(name)])];
  const matched = (part: CommandPattern, words: readonly string[]) =>
    names.some((spelled) => matchesCommand(part, [spelled, ...words]));
  if (matched(pattern, rest)) return true;
  const gap = tokens.indexOf(GAP);
  const isOption = (at: number) => rest[at]?.startsWith("-") ?? false;
  if (gap < 0 || tokens[gap + 1] === "-" || !matched({ tokens: tokens.slice(0, gap) }, [])) return false;
  for (let at = 1; at < rest.length && (isOption(at - 1) || isOption(at - 2)); at++) {
    if (at > MOST_OPTIONS || matched(pattern, rest.slice(at))) return true;
  }
  return false;
}
