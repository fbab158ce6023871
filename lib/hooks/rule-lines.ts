import { HookLoadError, type Position, positionOf } from "./file/load-error.ts";
import { closing } from "./read-answer.ts";
import { ACTIONS, type Condition, isFieldPath, MOST_NESTED, oneOf, OPERATORS, type Rule, scalarText } from "./rule.ts";

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

interface Token {
  readonly kind: "word" | "sign" | "value" | "end";
  readonly text: string;
  readonly value?: unknown;
  readonly offset: number;
  readonly end: number;
}

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
    const when = this.#joined("or");
    this.#expect("->", "'and', 'or' or '->' and what to do");
    return { when, at, ...this.#action() };
  }

  /** Conditions joined by a word, of which 'and' binds more. */
  #joined(by: "or" | "and", depth = 0): Condition {
    const part = () => by === "or" ? this.#joined("and", depth) : this.#unary(depth);
    const parts = [part()];
    while (this.#take(by)) parts.push(part());
    return parts.length === 1 ? parts[0]! : by === "or" ? { or: parts } : { and: parts };
  }

  #unary(depth: number): Condition {
    if (depth > MOST_NESTED) {
      throw this.#mistake(this.#peek().offset, `its conditions are nested more than ${MOST_NESTED} deep`);
    }
    if (this.#take("not")) return { not: this.#unary(depth + 1) };
    if (!this.#take("(")) return this.#test();
    const inner = this.#joined("or", depth + 1);
    this.#expect(")", "')'");
    return inner;
  }

  #test(): Condition {
    const field = this.#field("a field such as args.command");
    const operator = this.#word(OPERATORS, "operator");
    const token = this.#peek();
    const value = token.kind === "value" ? scalarText(token.value) : undefined;
    if (value === undefined) {
      throw this.#mistake(token.offset, `${named(token)} is not a text, number, true or false: put a text in quotes`);
    }
    this.#next++;
    return { field, operator, value, at: this.#at(token) };
  }

  #action(): Pick<Rule, "action" | "reason" | "change"> {
    const word = this.#peek();
    const action = this.#word(ACTIONS, "action");
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

  #word<W extends string>(known: readonly W[], what: string): W {
    const { text, offset } = this.#peek();
    const word = oneOf(known, text, what, (why) => this.#mistake(offset, why));
    this.#next++;
    return word;
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
      ? text.slice(at, closing(text, at) ?? at) || undefined
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
