import type { Position } from "../file/load-error.ts";

export const OPERATORS = ["equals", "contains", "matches", "glob"] as const;
export const ACTIONS = ["continue", "allow", "deny", "ask", "modify", "halt"] as const;

export type Operator = (typeof OPERATORS)[number];
export type Action = (typeof ACTIONS)[number];

/** One field compared with one value. */
export interface FieldTest {
  readonly field: string;
  readonly operator: Operator;
  readonly value: string;
  /** Where the value stands. */
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

/** Deeper conditions nobody writes; each costs whoever walks them a frame of the stack. */
export const MOST_NESTED = 200;

/** A value as rules compare it; undefined for what is no scalar. */
export function scalarText(value: unknown): string | undefined {
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean"
    ? String(value)
    : undefined;
}
