import { nearest } from "../files/nearest.ts";
import { HookLoadError, type Position, positionOf } from "./file/load-error.ts";
import type { Projection } from "./process/wire.ts";
import type { YamlText } from "./yaml.ts";

const OPERATORS = ["equals", "contains", "matches", "glob"] as const;
const ACTIONS = ["continue", "allow", "deny", "ask", "modify", "halt"] as const;

export type Operator = (typeof OPERATORS)[number];
export type Action = (typeof ACTIONS)[number];

/** One field compared with one value. */
export interface FieldTest {
  readonly field: string;
  readonly operator: Operator;
  readonly value: string;
  /** The place of the value. */
  readonly at: Position;
}

/** Whether the whole name of the tool is compared. */
export function isToolTest({ field, operator }: FieldTest): boolean {
  return operator === "equals" && (field === "tool" || field === "tool_name");
}

/** When a rule applies. Both ways of writing rules are read into this. */
export type Condition =
  | FieldTest
  | { readonly and: readonly Condition[] }
  | { readonly or: readonly Condition[] }
  | { readonly not: Condition };

/** One rule: the first of a list that applies decides. */
export interface Rule {
  readonly when: Condition;
  readonly action: Action;
  readonly reason?: string;
  /** What `modify` sets, a path inside the event's subject. */
  readonly change?: { readonly field: string; readonly value: unknown; readonly at: Position };
  readonly at: Position;
}

/** Deeper conditions are refused: each level costs a frame of the stack. */
const MOST_NESTED = 200;

/** A value as rules compare it; undefined if it is not a scalar. */
function scalarText(value: unknown): string | undefined {
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean"
    ? String(value)
    : undefined;
}

/** What a path of field names means, worked out once: `args.command`, `tool`, `new_model`. */
export function fieldReader(path: string): (event: Projection) => unknown {
  const [root, ...rest] = path.split(".") as [string, ...string[]];
  // A projection inherits from its event, and an event from every object: only the first of these is data.
  const hidden = root in Object.prototype || root === "toJSON";
  const first = (event: Projection) => hidden ? undefined : event[root];
  if (rest.length === 0) return first;
  return (event) => rest.reduce(inside, first(event));
}

/** Only what JSON would show: no methods, nothing inherited. */
function inside(value: unknown, key: string): unknown {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return undefined;
  return Array.isArray(value) && key === "length" ? undefined : (value as { [key: string]: unknown })[key];
}

/** A value as rules compare it and templates show it: scalars as their text, the rest as JSON, nothing as undefined. */
export function fieldText(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  if (value === undefined || value === null || typeof value === "function") return undefined;
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** Names joined by dots, such as rules and templates write; `__proto__` is not a field. */
export function isFieldPath(text: string): boolean {
  return /^[A-Za-z_][\w-]*(?:\.[\w-]+)*$/.test(text) && !text.split(".").includes("__proto__");
}

/**
 * Reads rules in their one-line form:
 *
 *     # what the agent may not do
 *     tool equals "Bash" and args.command matches '\brm\s+-rf\b' -> deny("No rm -rf here")
 *     args.timeout equals 0 or not (tool equals "Read") -> modify(args.timeout = 60)
 *
 * A rule ends with its action, so a long one may go over several lines.
 */
export function parseRules(text: string, file: string): Rule[] {
  const parser = new Parser(text, file);
  const rules: Rule[] = [];
  while (!parser.isOver()) rules.push(parser.rule());
  return rules;
}

type Token =
  | { readonly kind: "word" | "sign"; readonly text: string; readonly offset: number; readonly end: number }
  | {
    readonly kind: "value";
    readonly text: string;
    readonly value: unknown;
    readonly offset: number;
    readonly end: number;
  }
  | { readonly kind: "end"; readonly text: ""; readonly offset: number; readonly end: number };

class Parser {
  readonly #text: string;
  readonly #file: string;
  readonly #tokens: readonly Token[];
  #next = 0;

  constructor(text: string, file: string) {
    this.#text = text;
    this.#file = file;
    this.#tokens = tokens(text, (offset, why) => this.#mistake(offset, why));
  }

  isOver(): boolean {
    return this.#peek().kind === "end";
  }

  rule(): Rule {
    const at = this.#at(this.#peek());
    const when = this.#or();
    this.#expect("->", "'and', 'or' or '->' and what to do");
    return { when, at, ...this.#action() };
  }

  #or(depth = 0): Condition {
    const parts = [this.#and(depth)];
    while (this.#take("or")) parts.push(this.#and(depth));
    return parts.length === 1 ? parts[0]! : { or: parts };
  }

  #and(depth: number): Condition {
    const parts = [this.#unary(depth)];
    while (this.#take("and")) parts.push(this.#unary(depth));
    return parts.length === 1 ? parts[0]! : { and: parts };
  }

  #unary(depth: number): Condition {
    if (depth > MOST_NESTED) {
      throw this.#mistake(this.#peek().offset, `its conditions are nested more than ${MOST_NESTED} deep`);
    }
    if (this.#take("not")) return { not: this.#unary(depth + 1) };
    if (!this.#take("(")) return this.#test();
    const inner = this.#or(depth + 1);
    this.#expect(")", "')'");
    return inner;
  }

  #test(): Condition {
    const field = this.#field("a field such as args.command");
    const operator = this.#peek();
    if (operator.kind !== "word" || !(OPERATORS as readonly string[]).includes(operator.text)) {
      throw this.#mistake(operator.offset, unknownWord("operator", operator.text, OPERATORS));
    }
    this.#next++;
    const token = this.#peek();
    const value = token.kind === "value" ? scalarText(token.value) : undefined;
    if (value === undefined) {
      throw this.#mistake(token.offset, `${named(token)} is not a text, number, true or false: put a text in quotes`);
    }
    this.#next++;
    return { field, operator: operator.text as Operator, value, at: this.#at(token) };
  }

  #action(): Pick<Rule, "action" | "reason" | "change"> {
    const word = this.#peek();
    if (word.kind !== "word" || !(ACTIONS as readonly string[]).includes(word.text)) {
      throw this.#mistake(word.offset, unknownWord("action", word.text, ACTIONS));
    }
    this.#next++;
    const action = word.text as Action;
    // A bracket on the next line begins the next rule.
    const opens = this.#peek().text === "(" && !this.#text.slice(word.end, this.#peek().offset).includes("\n");
    if (!opens) {
      if (action === "modify") {
        throw this.#mistake(word.end, "'modify' needs what to set: write modify(args.name = value)");
      }
      return { action };
    }
    this.#next++;
    const change = action === "modify" ? this.#change() : undefined;
    const reason = change === undefined || this.#take(",") ? this.#reason() : undefined;
    this.#expect(")", "')'");
    return { action, ...(reason !== undefined && { reason }), ...(change && { change }) };
  }

  #change(): NonNullable<Rule["change"]> {
    const at = this.#at(this.#peek());
    const field = this.#field("the field to set, such as args.command");
    this.#expect("=", "'=' and a value");
    const token = this.#peek();
    if (token.kind !== "value") {
      throw this.#mistake(token.offset, `${named(token)} is not a value: put a text in quotes`);
    }
    this.#next++;
    return { field, value: token.value, at };
  }

  #reason(): string | undefined {
    const token = this.#peek();
    if (token.text === ")") return undefined;
    if (token.kind !== "value" || typeof token.value !== "string") {
      throw this.#mistake(token.offset, `${named(token)} is not a reason: put a text in quotes`);
    }
    this.#next++;
    return token.value;
  }

  #field(expected: string): string {
    const token = this.#peek();
    if (token.kind !== "word" || !isFieldPath(token.text)) {
      throw this.#mistake(token.offset, `${expected} is expected instead of ${named(token)}`);
    }
    this.#next++;
    return token.text;
  }

  #peek(): Token {
    return this.#tokens[this.#next]!;
  }

  #take(text: string): boolean {
    const token = this.#peek();
    if (token.kind === "value" || token.text !== text) return false;
    this.#next++;
    return true;
  }

  #expect(text: string, expected: string): void {
    if (this.#take(text)) return;
    throw this.#mistake(this.#peek().offset, `${expected} is expected instead of ${named(this.#peek())}`);
  }

  #at(token: Token): Position {
    return positionOf(this.#text, token.offset);
  }

  #mistake(offset: number, why: string): HookLoadError {
    return new HookLoadError(this.#file, positionOf(this.#text, offset), why);
  }
}

/** What is wrong with an unknown word, for both ways of writing rules. */
function unknownWord(what: string, word: string, known: readonly string[]): string {
  const meant = word === "" ? "" : ` (did you mean '${nearest(word, known)}'?)`;
  return `${word === "" ? `it has no ${what}` : `'${word}' is not a known ${what}`}: expected ${
    known.join(", ")
  }${meant}`;
}

function named(token: Token): string {
  return token.kind === "end" ? "the end of the file" : `'${token.text}'`;
}

const BLANK = /(?:\s|#[^\n]*)*/y;
const WORD = /[A-Za-z_](?:[\w.]|-(?!>))*/y;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.])/y;
const SIGN = /->|[(),=]/y;
const QUOTED = /"(?:[^"\\\n]|\\.)*"/y;
const RAW = /'(?:[^'\n]|'')*'/y;

function tokens(text: string, mistake: (offset: number, why: string) => HookLoadError): Token[] {
  const found: Token[] = [];
  let at = 0;
  const match = (pattern: RegExp): string | undefined => {
    pattern.lastIndex = at;
    return pattern.exec(text)?.[0];
  };
  for (;;) {
    at += match(BLANK)!.length;
    if (at >= text.length) break;
    const c = text[at]!;
    const span = c === "{" || c === "["
      ? jsonSpan(text, at)
      : match(c === '"' ? QUOTED : c === "'" ? RAW : /[-\d]/.test(c) && match(NUMBER) ? NUMBER : WORD) ?? match(SIGN);
    if (span === undefined) {
      throw mistake(at, /["'{[]/.test(c) ? `the ${c} is never closed` : `'${c}' means nothing here`);
    }
    const place = { text: span, offset: at, end: at + span.length };
    if (/^["'{[\d]|^-\d|^(?:true|false|null)$/.test(span)) {
      found.push({ kind: "value", value: valueOf(span, (why) => mistake(at, why)), ...place });
    } else found.push({ kind: /^[A-Za-z_]/.test(span) ? "word" : "sign", ...place });
    at += span.length;
  }
  return [...found, { kind: "end", text: "", offset: text.trimEnd().length, end: text.length }];
}

/** A text in single quotes is taken as it is, with '' for a quote: made for regular expressions. */
function valueOf(span: string, mistake: (why: string) => HookLoadError): unknown {
  if (span[0] === "'") return span.slice(1, -1).replaceAll("''", "'");
  // A backspace or form feed is never meant: it is a regular expression in the wrong quotes.
  const strange = span[0] === '"' && /(?:^|[^\\])(?:\\\\)*\\([^"\\/nrtu])/.exec(span);
  if (strange) {
    throw mistake(
      `'\\${strange[1]}' in double quotes is not an escape: write '\\\\${strange[1]}', or use single quotes`,
    );
  }
  try {
    return JSON.parse(span);
  } catch (error) {
    throw mistake(`${span.length > 40 ? `${span.slice(0, 37)}...` : span} is not a value: ${(error as Error).message}`);
  }
}

/** A JSON object or list, up to its closing bracket. */
function jsonSpan(text: string, start: number): string | undefined {
  let depth = 0;
  for (let i = start; i < text.length; i++) {
    if (text[i] === '"') {
      QUOTED.lastIndex = i;
      const quoted = QUOTED.exec(text)?.[0];
      if (quoted === undefined) return undefined;
      i += quoted.length - 1;
    } else if (text[i] === "{" || text[i] === "[") depth++;
    else if ((text[i] === "}" || text[i] === "]") && --depth === 0) return text.slice(start, i + 1);
  }
  return undefined;
}

type Path = readonly (string | number)[];
type Fields = { readonly [key: string]: unknown };

const TEST_KEYS = ["field", "operator", "value", "and", "or", "not"];
const RULE_KEYS = [...TEST_KEYS, "action", "reason", "modify_field", "modify_value"];

/** Reads the rules of a list in a YAML text: `{field, operator, value, action, …}`, or `and`, `or`, `not` in place of a field. */
export function readRules(yaml: YamlText, file: string, path: Path = []): Rule[] {
  const reader = new RuleReader(yaml, file);
  const list = path.reduce<unknown>((value, key) => (value as { [key: string | number]: unknown })[key], yaml.value);
  if (!Array.isArray(list)) throw reader.mistake(path, "its rules are not a list: begin each rule with '- field:'");
  return list.map((_, i) => reader.rule(list[i], [...path, i]));
}

class RuleReader {
  readonly #yaml: YamlText;
  readonly #file: string;

  constructor(yaml: YamlText, file: string) {
    this.#yaml = yaml;
    this.#file = file;
  }

  rule(given: unknown, path: Path): Rule {
    const rule = this.#fields(given, path, RULE_KEYS);
    const when = this.#condition(rule, path);
    const { action, reason } = rule;
    if (typeof action !== "string" || !(ACTIONS as readonly string[]).includes(action)) {
      throw this.mistake([...path, "action"], unknownWord("action", text(action), ACTIONS));
    }
    if (reason !== undefined && reason !== null && typeof reason !== "string") {
      throw this.mistake([...path, "reason"], `its reason is ${JSON.stringify(reason)}: expected a text`);
    }
    return {
      when,
      action: action as Action,
      at: this.#yaml.at(path),
      ...(typeof reason === "string" && { reason }),
      ...this.#change(rule, path),
    };
  }

  #change(rule: Fields, path: Path): Pick<Rule, "change"> {
    const { action, modify_field: field, modify_value: value } = rule;
    if (action !== "modify") {
      const stray = ["modify_field", "modify_value"].find((key) => key in rule);
      if (stray === undefined) return {};
      throw this.mistake([...path, stray], `'${stray}' means nothing with action '${action}': expected 'modify'`);
    }
    if (typeof field !== "string" || !isFieldPath(field)) {
      throw this.mistake(
        [...path, "modify_field"],
        `${shown(field)} is not a field to set: write 'modify_field: args.name'`,
      );
    }
    if (!("modify_value" in rule)) {
      throw this.mistake(path, `its 'modify' has no value: write 'modify_value:'`);
    }
    return { change: { field, value, at: this.#yaml.at([...path, "modify_field"]) } };
  }

  #condition(given: Fields, path: Path): Condition {
    const kinds = ["field", "and", "or", "not"].filter((key) => key in given);
    if (kinds.length !== 1) {
      const why = kinds.length === 0 ? "it has no 'field'" : `'${kinds.join("' and '")}' exclude each other`;
      throw this.mistake(path, `${why}: give one of field, and, or, not`);
    }
    const [kind] = kinds as ["field" | "and" | "or" | "not"];
    if (kind === "field") return this.#test(given, path);
    const stray = ["operator", "value"].find((key) => key in given);
    if (stray !== undefined) throw this.mistake([...path, stray], `'${stray}' means nothing beside '${kind}'`);
    const inner = given[kind];
    if (kind === "not") return { not: this.#nested(inner, [...path, kind]) };
    if (!Array.isArray(inner) || inner.length === 0) {
      throw this.mistake([...path, kind], `'${kind}' needs a list of conditions`);
    }
    const parts = inner.map((_, i) => this.#nested(inner[i], [...path, kind, i]));
    return kind === "and" ? { and: parts } : { or: parts };
  }

  #nested(given: unknown, path: Path): Condition {
    if (path.length > 2 * MOST_NESTED) {
      throw this.mistake(path, `its conditions are nested more than ${MOST_NESTED} deep`);
    }
    return this.#condition(this.#fields(given, path, TEST_KEYS), path);
  }

  #test({ field, operator, value }: Fields, path: Path): Condition {
    if (typeof field !== "string" || !isFieldPath(field)) {
      throw this.mistake(
        [...path, "field"],
        `${shown(field)} is not a field: write names joined by dots, such as args.command`,
      );
    }
    if (typeof operator !== "string" || !(OPERATORS as readonly string[]).includes(operator)) {
      throw this.mistake([...path, "operator"], unknownWord("operator", text(operator), OPERATORS));
    }
    const compared = scalarText(value);
    if (compared === undefined) {
      throw this.mistake(
        [...path, "value"],
        `${shown(value)} is not a text, number, true or false: use 'or' for several`,
      );
    }
    return { field, operator: operator as Operator, value: compared, at: this.#yaml.at([...path, "value"]) };
  }

  #fields(given: unknown, path: Path, known: readonly string[]): Fields {
    if (typeof given !== "object" || given === null || Array.isArray(given)) {
      throw this.mistake(
        path,
        `${shown(given)} is not a rule with field, operator, value and action`,
      );
    }
    for (const key of Object.keys(given)) {
      if (!known.includes(key)) throw this.mistake([...path, key], unknownWord("key of a rule", key, known));
    }
    return given as Fields;
  }

  mistake(path: Path, why: string): HookLoadError {
    return new HookLoadError(this.#file, this.#yaml.at(path), why);
  }
}

function text(value: unknown): string {
  return typeof value === "string" ? value : value === undefined ? "" : JSON.stringify(value);
}

function shown(value: unknown): string {
  return value === undefined ? "nothing" : JSON.stringify(value);
}
