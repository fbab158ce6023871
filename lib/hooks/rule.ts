import { nearest } from "../input/nearest.ts";
import type { HookLoadError, Position } from "./file/load-error.ts";
import type { Projection } from "./process/wire.ts";

export const OPERATORS = ["equals", "contains", "matches", "glob"] as const;
export const ACTIONS = ["continue", "allow", "deny", "ask", "modify", "halt"] as const;

export type Operator = (typeof OPERATORS)[number];
export type Action = (typeof ACTIONS)[number];

export interface FieldTest {
  readonly field: string;
  readonly operator: Operator;
  readonly value: string;
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
export const MOST_NESTED = 200;

/** A value as rules compare it; undefined if it is not a scalar. */
export function scalarText(value: unknown): string | undefined {
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

/** A word of a list; for both ways of writing rules. @throws {HookLoadError} that names the word that was meant */
export function oneOf<W extends string>(
  known: readonly W[],
  word: unknown,
  what: string,
  mistake: (why: string) => HookLoadError,
): W {
  const found = known.find((one) => one === word);
  if (found !== undefined) return found;
  const text = typeof word === "string" ? word : word === undefined ? "" : JSON.stringify(word);
  const why = text === "" ? `it has no ${what}` : `'${text}' is not a known ${what}`;
  const meant = text === "" ? "" : ` (did you mean '${nearest(text, known)}'?)`;
  throw mistake(`${why}: expected ${known.join(", ")}${meant}`);
}
