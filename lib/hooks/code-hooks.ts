import { type AnyEvent, type EventName, type EventOf, EVENTS } from "../core/events.ts";
import { type Hook, type HookContext, type HookList, hookOn, type HookRecord } from "../core/hook.ts";
import { compileMatcher } from "./hook-matcher.ts";
import { EVENT_NAMES, kebab, type ResolvedName } from "../core/names.ts";
import { expectEvent } from "../input/nearest.ts";
import { shown } from "../core/shown.ts";
import type { Answer } from "../core/verdict.ts";

interface HookObject {
  readonly name?: string;
  onEvent(event: AnyEvent, ctx: HookContext): unknown;
}

type Camel<S extends string> = S extends `${infer Head}-${infer Tail}` ? `${Head}${Capitalize<Camel<Tail>>}` : S;
type AliasesOf<N extends EventName> = keyof (typeof EVENTS)[N]["aliases"] & string;
type OneOrMany<T> = T | readonly T[];

/**
 * Hooks in lists by event: `{ preToolUse: [...], stop: [...] }`. `postToolUse` sees successes, `postToolUseFailure`
 * failures; a hook of `onToolFailure` or `onToolSuccess` sees those it is for in `postToolUse` too.
 */
export type TypedHooks = {
  readonly [N in EventName as Camel<N> | Camel<AliasesOf<N>>]?: OneOrMany<Hook<N>>;
};

/** Whatever hooks can be given as in code. */
export type CodeHooks = Hook<any> | HookObject | TypedHooks | HookRecord | HookList;

/** The time limit of a hook in code, in seconds. */
const TIMEOUT = 60;

/** Compiles hooks given in code to records, in the order given, whatever the form of each. */
export function codeHooks(given: readonly CodeHooks[], source = "code"): HookRecord[] {
  return given.flatMap((hooks, n) => recordsOf(hooks, n, source));
}

function recordsOf(hooks: CodeHooks, n: number, source: string): readonly HookRecord[] {
  if (isRecord(hooks)) return [hooks];
  if (isList(hooks)) return hooks.records;
  if (typeof hooks === "function") return [record(nameOf(hooks, `${source}#${n}`), EVERY, hooks as Hook, source)];
  if (typeof hooks !== "object" || hooks === null) {
    throw new TypeError(
      `Cannot use ${shown(hooks)} as hooks: expected a function, { onEvent }, typed lists or a folder`,
    );
  }
  if ("onEvent" in hooks && typeof hooks.onEvent === "function") {
    const object = hooks as HookObject;
    return [record(object.name ?? `${source}#${n}`, EVERY, (e, ctx) => object.onEvent(e, ctx) as Answer, source)];
  }
  return typedLists(hooks as TypedHooks, n === 0 ? source : `${source}#${n}`, source);
}

/** Hooks given in code, each as a list of its own; what a registry gets later counts from the next event. */
export function liveHooks(given: readonly CodeHooks[]): HookList[] {
  return given.map((hooks, n) => isList(hooks) ? hooks : { records: recordsOf(hooks, n, "code") });
}

/** Lists of hooks as one, in their order. */
export function joinedHooks(lists: readonly HookList[]): HookList {
  if (lists.length === 1) return lists[0]!;
  let last: readonly (readonly HookRecord[])[] | undefined;
  let all: readonly HookRecord[] = [];
  return {
    get records() {
      // The order of hooks is worked out once per array, so an unchanged list must stay the same one.
      if (!last || lists.some(({ records }, i) => records !== last![i])) {
        last = lists.map(({ records }) => records);
        all = last.flat();
      }
      return all;
    },
    get problem() {
      return lists.find(({ problem }) => problem !== undefined)?.problem;
    },
  };
}

const EVERY: readonly ResolvedName[] = (Object.keys(EVENTS) as EventName[]).map((event) => ({
  event,
  scope: EVENTS[event].scope,
}));

function typedLists(lists: TypedHooks, label: string, source: string): HookRecord[] {
  return Object.entries(lists).flatMap(([key, hooks]) => {
    const resolved = expectEvent(key);
    const name = kebab(key);
    const on: ResolvedName = resolved.event === "post-tool-use" ? { outcome: "success", ...resolved } : resolved;
    const all = (Array.isArray(hooks) ? hooks : [hooks]) as Hook[];
    // What says itself which calls it is for hears all of them, wherever it stands (S4.13).
    const heard = (hook: Hook) => byOutcome.has(hook) && resolved.outcome === undefined ? resolved : on;
    return all.map((hook, i) => {
      if (typeof hook !== "function") {
        throw new TypeError(
          `Cannot use hooks.${key}[${i}] as it is not a function: current value is ${shown(hook)}`,
        );
      }
      return record(nameOf(hook, `${label}:${name}#${i}`), [heard(hook)], hook, source);
    });
  });
}

function nameOf(hook: Hook, fallback: string): string {
  return hook.name && !/^(default|anonymous|hook|\w+Hooks?)$/.test(hook.name) && !EVENT_NAMES.includes(kebab(hook.name))
    ? hook.name
    : fallback;
}

function record(name: string, on: readonly ResolvedName[], hook: Hook, source: string): HookRecord {
  return hookOn(on, hook, { name, timeout: TIMEOUT, source });
}

function isRecord(value: unknown): value is HookRecord {
  return typeof value === "object" && value !== null && "on" in value && "run" in value && "read" in value;
}

function isList(value: unknown): value is HookList {
  return typeof value === "object" && value !== null && "records" in value && Array.isArray(value.records);
}

/** Hooks that say themselves whether they are for calls that failed. */
const byOutcome = new WeakSet<Hook<any>>();

function onlyAfter(hook: Hook<"post-tool-use">, failed: boolean): Hook<"post-tool-use"> {
  const made = onlyFor("*", hook, (event) => event.failed === failed);
  byOutcome.add(made);
  return made;
}

function onlyFor<N extends "pre-tool-use" | "post-tool-use">(
  pattern: string | RegExp,
  hook: Hook<N>,
  when: (event: EventOf<N>) => boolean,
): Hook<N> {
  const test = pattern instanceof RegExp ? searching(pattern) : compileMatcher(pattern);
  return (event, ctx) => test((event as { tool_name: string }).tool_name) && when(event) ? hook(event, ctx) : undefined;
}

/** A search that remembers nothing: one with the flag `g` or `y` would miss every other call. */
function searching({ source, flags }: RegExp): (name: string) => boolean {
  const search = new RegExp(source, flags.replace(/[gy]/g, ""));
  return (name) => search.test(name);
}

/**
 * A hook for the tools whose name matches: a list of names (`"Edit|Write"`), or a regular expression.
 *
 * @example
 * ```ts
 * import { deny, matchTool } from "crochet";
 *
 * const noRm = matchTool("Bash", (event) => String(event.input.command).includes("rm -rf") ? deny("No rm -rf here") : undefined);
 * ```
 */
export function matchTool(pattern: string | RegExp, hook: Hook<"pre-tool-use">): Hook<"pre-tool-use"> {
  return onlyFor(pattern, hook, () => true);
}

/**
 * As `matchTool`, after the call.
 *
 * @example
 * ```ts
 * import { agent, context, matchToolPost, matchToolPostFailure, onToolFailure, onToolSuccess } from "crochet";
 *
 * const failures: string[] = [];
 * export default agent({
 *   hooks: {
 *     postToolUse: [
 *       matchToolPost("Edit|Write", () => context("Format what you wrote")),
 *       onToolSuccess(() => void (failures.length = 0)),
 *       onToolFailure(({ tool_name }) => void failures.push(tool_name)),
 *     ],
 *     postToolUseFailure: matchToolPostFailure("Bash", () => context("Read what it printed")),
 *   },
 * });
 * ```
 */
export function matchToolPost(pattern: string | RegExp, hook: Hook<"post-tool-use">): Hook<"post-tool-use"> {
  return onlyFor(pattern, hook, () => true);
}

/** As `matchToolPost`, for calls that failed. */
export function matchToolPostFailure(pattern: string | RegExp, hook: Hook<"post-tool-use">): Hook<"post-tool-use"> {
  return onlyFor(pattern, hook, (event) => event.failed);
}

/** A hook for failed calls only. */
export function onToolFailure(hook: Hook<"post-tool-use">): Hook<"post-tool-use"> {
  return onlyAfter(hook, true);
}

/** A hook for calls that went well only. */
export function onToolSuccess(hook: Hook<"post-tool-use">): Hook<"post-tool-use"> {
  return onlyAfter(hook, false);
}
