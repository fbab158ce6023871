import { isDeepStrictEqual } from "node:util";
import { isObject } from "../core/json.ts";
import type { ReplayedCall, RunSeen } from "../replay/seen.ts";
import { shown } from "../core/shown.ts";

/** What `expect(run)` is extended with: the types, for the declaration of the runner's own. */
export interface CallMatchers<R = void> {
  /** The run calls a tool, with an input whose named fields fit: equal, a RegExp, a function that says so, or `expect.…`. */
  toHaveCalled(tool: string, input?: unknown): R;
  /** The run makes these calls one after the other; others may lie between. */
  toHaveCalledInOrder(calls: readonly CallPattern[]): R;
  /** The run never calls a tool so: what was denied, or had an invalid input, was not called. */
  toNeverHaveCalled(tool: string, input?: unknown): R;
  /** A hook, a rule or a person denies such a call. */
  toHaveDenied(tool: string, input?: unknown): R;
}

type CallPattern = string | readonly [tool: string, input?: unknown];

/** What a runner gives a matcher, as far as it is used. */
export interface Matching {
  readonly equals?: (a: unknown, b: unknown) => boolean;
}

export interface Matched {
  readonly pass: boolean;
  readonly message: () => string;
}

type Call = Pick<ReplayedCall, "name" | "input" | "outcome">;

/** The functions behind such types: each gets what was expected of first. */
export type MatchersOf<Types> = {
  readonly [K in keyof Types]: Types[K] extends (...args: infer Args) => unknown
    ? (this: Matching, subject: unknown, ...args: Args) => Matched
    : never;
};

export const callMatchers: MatchersOf<CallMatchers> = {
  toHaveCalled(run, tool, input) {
    return inOrder(this, run, [[tool, input]]);
  },
  toHaveCalledInOrder(run, calls) {
    if (!Array.isArray(calls) || calls.length === 0) {
      throw new TypeError(`Cannot look for calls as ${shown(calls)} lists none: pass ["Read", ["Edit", { … }]]`);
    }
    return inOrder(this, run, calls);
  },
  toNeverHaveCalled(run, tool, input) {
    const { pass, message } = inOrder(this, run, [[tool, input]]);
    return { pass: !pass, message };
  },
  toHaveDenied(run, tool, input) {
    const calls = callsOf(run);
    const pass = calls.some((call) => call.outcome === "denied" && fitsCall(this, call, [tool, input]));
    const such = `${pass ? "no denied" : "a denied"} call of ${patternText([tool, input])}`;
    return { pass, message: () => `Expected a run with ${such}, but ${listed(calls)}` };
  },
};

function inOrder(matching: Matching, run: unknown, patterns: readonly CallPattern[]): Matched {
  const calls = callsOf(run);
  const ran = calls.filter(({ outcome }) => outcome !== "denied" && outcome !== "invalid");
  let at = 0;
  // The first call that fits leaves the most for the patterns after it.
  const found = patterns.findIndex((pattern) => {
    while (at < ran.length && !fitsCall(matching, ran[at]!, pattern)) at++;
    return at++ >= ran.length;
  });
  const pass = found < 0;
  const words = patterns.map(patternText);
  const missing = found > 0 ? `${words[found]} is not there after ${words[found - 1]}: ` : "";
  const wanted = `Expected a run that ${pass ? "never calls" : "calls"} ${words.join(", then ")}`;
  return { pass, message: () => `${wanted}, but ${missing}${listed(calls)}` };
}

/** @throws {TypeError} if it is not a run: no call would be found in a promise */
function callsOf(run: unknown): readonly Call[] {
  const calls = typeof (run as RunSeen | undefined)?.calls === "function" ? (run as RunSeen).calls() : run;
  const isCall = (one: unknown) => isObject(one) && typeof one.name === "string" && typeof one.outcome === "string";
  if (Array.isArray(calls) && calls.every(isCall)) return calls;
  const what = run instanceof Promise ? "a promise" : shown(run);
  throw new TypeError(`Cannot look for calls as ${what} is not a run: pass what replay() resolves to, or its calls()`);
}

function fitsCall(matching: Matching, { name, input }: Call, pattern: CallPattern): boolean {
  const [tool, expected] = typeof pattern === "string" ? [pattern] : pattern;
  if (typeof tool !== "string" || tool === "") {
    throw new TypeError(`Cannot look for calls of ${shown(tool)} as it names no tool: pass a name, such as "Edit"`);
  }
  return name === tool && (expected === undefined || fits(matching, input, expected));
}

/** The runner is asked first, as nothing shows what its asymmetric matchers are. */
function fits(matching: Matching, is: unknown, expected: unknown): boolean {
  if (isEqual(matching, is, expected)) return true;
  if (typeof expected === "function") return Boolean(expected(is));
  if (expected instanceof RegExp) return typeof is === "string" && new RegExp(expected).test(is);
  if (Array.isArray(expected)) {
    return Array.isArray(is) && is.length === expected.length && expected.every((one, i) => fits(matching, is[i], one));
  }
  if (!isPlain(expected) || !isObject(is)) return false;
  return Object.entries(expected).every(([key, one]) =>
    fits(matching, Object.hasOwn(is, key) ? is[key] : undefined, one)
  );
}

/** By the runner's own equality; called without its `this`, Bun's throws. */
export function isEqual(matching: Matching, a: unknown, b: unknown): boolean {
  return matching?.equals ? matching.equals(a, b) : isDeepStrictEqual(a, b);
}

/** A matcher of a runner has no fields to see, and would fit everything. */
function isPlain(value: unknown): value is { readonly [field: string]: unknown } {
  return isObject(value) && [Object.prototype, null].includes(Object.getPrototypeOf(value));
}

function patternText(pattern: CallPattern): string {
  const [tool, input] = typeof pattern === "string" ? [pattern] : pattern;
  if (input === undefined) return tool;
  const named = (_: string, value: unknown) =>
    value instanceof RegExp ? String(value) : typeof value === "function" ? "(function)" : value;
  return `${tool} ${JSON.stringify(input, named)}`;
}

/** How much of an input is shown, and how many calls. */
const MOST_TEXT = 300;
const MOST_CALLS = 50;

function listed(calls: readonly Call[]): string {
  if (calls.length === 0) return "it called nothing";
  const lines = calls.slice(0, MOST_CALLS).map(({ name, input, outcome }, i) => {
    const text = JSON.stringify(input) ?? "";
    const cut = text.length > MOST_TEXT ? `${text.slice(0, MOST_TEXT)}…` : text;
    return `\n  ${i + 1}. ${name} ${cut}${outcome === "success" ? "" : ` (${outcome})`}`;
  });
  const more = calls.length > MOST_CALLS ? `\n  … ${calls.length - MOST_CALLS} more` : "";
  return `it called${lines.join("")}${more}`;
}
