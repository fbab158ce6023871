import type { EventName, Fired } from "../core/events.ts";
import { type Folded, IN_BACKGROUND } from "../core/fold.ts";
import { hookEnd, type Run } from "../core/run.ts";
import type { EntryOf, HookLeft, HookSaid } from "./entry.ts";
import { plainJson } from "./tool-step.ts";

/** What hooks said, and what they left behind for others. */
export interface HookWords {
  readonly folded: Folded;
  readonly left: HookLeft;
}

/** The name of a step in which hooks are asked about an event. */
export function hookName(run: Run, event: Fired): string {
  const { tool_use_id } = event as { tool_use_id?: string };
  return run.nameOf("hook", tool_use_id === undefined ? event.event : `${event.event}:${tool_use_id}`);
}

/** The step in which hooks are asked about an event, as a line has it: in a lane there is no other such. */
export type HookStep = Pick<EntryOf<"hook">, "hook" | "event" | "about">;

export function hookStep(run: Run, fired: Fired): HookStep {
  const { event, tool_use_id: about } = fired as Fired & { tool_use_id?: string };
  const [, name = ""] = hookName(run, fired).split(`hook:${run.agent_id}:`);
  const hook = name.replace(about === undefined ? `:${event}` : `:${event}:${about}`, "");
  return { hook, event, ...(about !== undefined && { about }) };
}

/** What a run reports while it asks hooks: that each of them began and ended. */
export function hookEvents(event: EventName, runs: Folded["runs"]) {
  const asked = runs.filter(({ skipped }) => skipped === undefined);
  return asked.flatMap((run) => [{ type: "hook_start", hook: run.hook, event } as const, hookEnd(event, run)]);
}

/** Asks the hooks of one event, and notes what changed meanwhile. */
export async function askedHooks(run: Run, next: () => Promise<Folded>): Promise<HookWords> {
  const { values, sequence } = run.state;
  const before = JSON.stringify(plain(values));
  const had = [...values.keys()];
  const made = run.hookCalls.length;
  const folded = await next();
  const calls = run.hookCalls.slice(made);
  const now = plain(values);
  const gone = had.filter((key) => !values.has(key));
  return {
    folded,
    left: {
      next: sequence.next,
      ...(JSON.stringify(now) !== before && { values: now }),
      ...(gone.length > 0 && { gone }),
      ...(calls.length > 0 && { calls }),
    },
  };
}

/** Leaves behind what hooks left that are not asked again. */
export function recalledHooks(run: Run, { values = [], gone = [], calls = [], next }: HookLeft): void {
  const { state } = run;
  for (const [key, value] of values) state.values.set(key, value);
  for (const key of gone) state.values.delete(key);
  for (const call of calls) {
    state.spent.calls++;
    run.account(call.used, call);
  }
  state.sequence.next = Math.max(state.sequence.next, next);
}

/** What each hook said, of those that said something. */
export function hooksSaid({ runs = [], contexts = [] }: Partial<Folded>): HookSaid[] {
  return runs.flatMap(({ hook, opinion, failure }) => {
    const texts = contexts.filter((one) => one.hook === hook).map(({ text }) => text);
    const { decision, reason, value, halt, abort } = opinion ?? {};
    const said = {
      ...(failure !== undefined && { failure }),
      ...(decision !== undefined && { decision }),
      ...(reason !== undefined && { reason }),
      ...(value && { value: plainJson(value.to) }),
      ...(halt !== undefined && { halt: plainJson(halt) }),
      ...(abort !== undefined && { abort: plainJson(abort) }),
      ...(texts.length > 0 && { contexts: texts }),
    };
    return Object.keys(said).length === 0 ? [] : [{ hook, ...said } as HookSaid];
  });
}

/** Whether a hook still works in the background once its event is over. */
export function worksOn({ runs }: Folded): boolean {
  return runs.some(({ skipped, opinion }) => skipped === IN_BACKGROUND || opinion?.later);
}

/** What can be written down of what hooks share. */
export function plain(values: ReadonlyMap<string, unknown>): [string, unknown][] {
  return [...values].filter(([, value]) => isPlain(value));
}

function isPlain(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return value !== undefined && typeof value !== "function";
  const proto = Object.getPrototypeOf(value);
  return (proto === Object.prototype || proto === Array.prototype) && Object.values(value).every(isPlain);
}

/** A fold without its empty lists, as a line has it. */
export function withoutEmpty(folded: Folded): Partial<Folded> {
  const says = (value: unknown) => Array.isArray(value) ? value.length > 0 : value !== false && value !== "continue";
  return Object.fromEntries(Object.entries(folded).filter(([, value]) => says(value)));
}
