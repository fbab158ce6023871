import type { Command } from "./shell/commands.ts";
import { beginning, literal, mayVanish, type Word } from "./shell/reader.ts";

/** Between words; no word can hold it, so `"git push"` is not `git push`. */
const GAP = "\0";
const STAR = Symbol("any text");
/** The end of the command, or a gap and any words: `git *` and `git:*` are also a bare `git`. */
const TAIL = Symbol("any words");
/** A part of the command only the shell knows. */
const HOLE = Symbol("unknown text");
/** Unknown words, perhaps none. */
const WORDS = Symbol("unknown words");

/** The text between the brackets of a Bash rule. */
export interface CommandPattern {
  readonly text: string;
  readonly tokens: readonly (string | typeof STAR | typeof TAIL)[];
  /** No wildcard: the rule spells one command. */
  readonly exact: boolean;
  /** How many words it spells, at least in part, before its first wildcard. */
  readonly spelled: number;
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
  const wild = tokens.findIndex((t) => t === STAR || t === TAIL);
  const before = wild < 0 ? tokens : tokens.slice(0, wild);
  const gaps = before.filter((t) => t === GAP).length;
  return { text, tokens, exact: wild < 0, spelled: gaps + (before.length === 0 || before.at(-1) === GAP ? 0 : 1) };
}

/** Whether the pattern covers the command whatever its expansions become. */
export function mustMatch(pattern: CommandPattern, command: Command): boolean {
  if (command.words.length === 0) return false;
  // Who spells a command with its variables means them; but a name that varies is no name.
  if (pattern.exact && literal(command.words[0]) !== undefined && command.source === pattern.text.trim()) return true;
  const { tokens } = pattern;
  const symbols = command.words.flatMap(symbolsOf);
  let [t, s, star, from] = [0, 0, -1, 0];
  while (s < symbols.length) {
    if (tokens[t] === TAIL && (symbols[s] === GAP || symbols[s] === WORDS)) return true;
    if (tokens[t] === STAR) [star, from, t] = [t, s, t + 1];
    else if (tokens[t] === symbols[s]) [t, s] = [t + 1, s + 1];
    else if (star >= 0) [t, from, s] = [star + 1, from + 1, from + 1];
    else return false;
  }
  while (tokens[t] === STAR || tokens[t] === TAIL) t++;
  return t === tokens.length;
}

/** Whether the pattern covers the command for some value of its expansions, by its name or its path. */
export function mayMatch(pattern: CommandPattern, command: Command): boolean {
  const first = command.words.findIndex((w) => !mayVanish(w));
  for (let start = 0; start <= Math.max(first, 0); start++) {
    const words = command.words.slice(start);
    if (words.length === 0) continue;
    const name = literal(words[0]);
    const names: Word[] = name === undefined
      ? [{ ...words[0]!, parts: [{ many: true }, ""] }]
      : [words[0]!, { ...words[0]!, parts: [name.slice(name.lastIndexOf("/") + 1)] }];
    const operands = spellsOperand(pattern) ? operandsIn(words) : NONE;
    if (names.some((n) => reaches(pattern, [n, ...words.slice(1)], operands))) return true;
  }
  return false;
}

/** Whether the second word of a pattern is no option: `git push *`. */
function spellsOperand({ tokens, spelled }: CommandPattern): boolean {
  return spelled > 1 && tokens[tokens.indexOf(GAP) + 1] !== "-";
}

const NONE: ReadonlySet<number> = new Set();

/**
 * Which words may be the first operand, with options before it, each of which may have a value: `git -C . push`. What only
 * the shell knows is a value behind an option, and an operand elsewhere.
 */
function operandsIn(words: readonly Word[]): ReadonlySet<number> {
  const isOption = (at: number) => at > 0 && beginning(words[at]).startsWith("-");
  const operands = new Set<number>();
  for (let at = 1; at < words.length; at++) {
    if (literal(words[at]) !== undefined || !isOption(at - 1)) operands.add(at);
    if (!isOption(at) && !isOption(at - 1)) break;
  }
  return operands;
}

/** Whether a pattern covers words, also where those between the name and an operand are left out. */
function reaches({ tokens }: CommandPattern, words: readonly Word[], operands: ReadonlySet<number>): boolean {
  let states: ReadonlySet<number> = skipStars(tokens, new Set([0]));
  let named = states;
  for (const [at, word] of words.entries()) {
    if (at === 1) named = states;
    const from = operands.has(at) ? new Set([...states, ...named]) : states;
    const next = advance(tokens, from, symbolsOf(word, at));
    if (!next) return true;
    states = next;
  }
  return [...states].some((state) => state === tokens.length || tokens[state] === TAIL);
}

/** How far a pattern may be behind these symbols; undefined where it covers whatever follows. */
function advance(
  tokens: CommandPattern["tokens"],
  from: ReadonlySet<number>,
  symbols: readonly (string | symbol)[],
): ReadonlySet<number> | undefined {
  let states = from;
  for (const symbol of symbols) {
    const next = new Set<number>();
    for (const state of states) {
      const token = tokens[state];
      if (token === TAIL && (symbol === GAP || symbol === WORDS || symbol === HOLE)) return undefined;
      if (symbol === HOLE || symbol === WORDS) { for (let i = state; i <= tokens.length; i++) next.add(i); }
      else if (token === STAR) next.add(state);
      else if (token === symbol) next.add(state + 1);
    }
    states = skipStars(tokens, next);
  }
  return states;
}

function skipStars(tokens: CommandPattern["tokens"], states: Set<number>): Set<number> {
  for (const state of states) if (tokens[state] === STAR) states.add(state + 1);
  return states;
}

function symbolsOf(word: Word, at: number): (string | symbol)[] {
  if (mayVanish(word)) return [WORDS];
  const symbols: (string | symbol)[] = at > 0 ? [GAP] : [];
  for (const part of word.parts) {
    if (typeof part !== "string") symbols.push(HOLE);
    else for (let c = 0; c < part.length; c++) symbols.push(part[c]!);
  }
  return symbols;
}
