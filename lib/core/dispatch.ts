import { ask, type AskOptions, saidBy } from "./_ask.ts";
import { stamp } from "./_event.ts";
import type { AnyEvent, EventName, Fired } from "./events.ts";
import { ENDED, Fold, type Folded, IN_BACKGROUND, NOTHING } from "./fold.ts";
import type { HookEnv, HookRecord } from "./hook.ts";

export type FireOptions = Pick<AskOptions, "accept">;

/**
 * Asks the hooks of one event, one after the other, and folds what they say. Order never depends on speed: gates, then
 * observers, then those in the background; of one mode by priority, then place in the list.
 */
export async function fire(
  records: readonly HookRecord[],
  fired: Fired,
  env: HookEnv,
  options: FireOptions = {},
): Promise<Folded> {
  const listening = listeners(records, fired.event);
  if (listening.length === 0) return NOTHING;
  const fold = new Fold(stamp(fired, env));
  for (const hook of listening) {
    const isGate = hook.mode === "gate";
    const why = (isGate ? fold.over : undefined) ?? passedOver(hook, fold.event, env);
    if (why !== undefined) fold.pass(hook, why);
    else if (hook.mode === "async") {
      fold.pass(hook, IN_BACKGROUND);
      queue(hook, fold.event, env);
    } else {
      const asking = ask(hook, fold.event, env, isGate ? options : { decision: fold.decision });
      const asked = asking instanceof Promise ? await asking : asking;
      if (isGate) fold.take(asked, env.signal.aborted);
      else fold.observe(asked);
    }
  }
  return fold.result();
}

/** Starts a hook in the background. Its verdict is ignored; what it says reaches the model at the next boundary. */
function queue(hook: HookRecord, event: AnyEvent, env: HookEnv): void {
  // The place and time of the event: by the time the hook looks, the agent may be elsewhere. Listeners stay the same.
  const then: HookEnv = Object.create(env, {
    clock: { value: env.clock.apart?.() ?? env.clock },
    cwd: { value: env.cwd },
    onHook: { value: env.onHook?.bind(env) },
    log: { value: env.log?.bind(env) },
  });
  const work = async () => {
    const { ctx, opinion, run: { failure } } = await ask(hook, event, then, {});
    if (failure !== undefined) env.log?.(hook.name, `failed in the background: ${failure}`);
    return saidBy(hook.name, [...ctx.said ?? [], ...opinion.contexts ?? []]);
  };
  const said = work();
  env.background?.(said, hook.name);
}

/** Why a hook is not asked about an event; undefined when it is. */
function passedOver(hook: HookRecord, event: AnyEvent, env: HookEnv): string | undefined {
  if (env.signal.aborted) return ENDED;
  if (!hook.enabled) return "disabled";
  const sub = env.parent_agent_id !== undefined;
  const on = hook.on.find((o) => o.event === event.event && (o.scope === "all" || (o.scope === "sub") === sub));
  if (!on) return sub ? "not for sub-agents" : "only for sub-agents";
  const outcome = event.event === "post-tool-use" ? event.outcome : undefined;
  if (outcome && !hook.on.some((o) => o.event === event.event && (o.outcome === undefined || o.outcome === outcome))) {
    return `not for outcome ${outcome}`;
  }
  return hook.misses?.(event);
}

const MODES: readonly HookRecord["mode"][] = ["gate", "observe", "async"];

const sorted = new WeakMap<readonly HookRecord[], Map<EventName, readonly HookRecord[]>>();

/** The hooks of an event in the order they are asked. Kept per list: a changed set of hooks is a new list. */
export function listeners(records: readonly HookRecord[], event: EventName): readonly HookRecord[] {
  return sorted.get(records)?.get(event) ?? inOrder(records, event);
}

/** Apart from the lookup, which is made several times an event: compiled with it, sorting is most of what a short run compiles. */
function inOrder(records: readonly HookRecord[], event: EventName): readonly HookRecord[] {
  const found = records.filter((r) => r.on.some((on) => on.event === event))
    .sort((a, b) => MODES.indexOf(a.mode) - MODES.indexOf(b.mode) || a.priority - b.priority);
  const byEvent = sorted.get(records) ?? new Map<EventName, readonly HookRecord[]>();
  sorted.set(records, byEvent.set(event, found));
  return found;
}
