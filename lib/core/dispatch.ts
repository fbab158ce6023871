import { stamp } from "./_event.ts";
import type { AnyEvent, EventName, Fired } from "./events.ts";
import { ENDED, Fold, type Folded, type HookReply, IN_BACKGROUND, NOTHING } from "./fold.ts";
import { Context, type HookEnv, type HookRecord, type HookRun } from "./hook.ts";
import { isThenable, settle } from "./clock.ts";
import { thrownWords } from "./shown.ts";
import { type HookText, NO_OPINION, type Opinion, OutOfTime, UnusableAnswer } from "./verdict.ts";

export interface FireOptions {
  /** Turns a modified value into the subject, or throws `UnusableAnswer`. */
  readonly accept?: ((value: unknown) => unknown) | undefined;
}

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
      const asking = ask(hook, fold.event, env, isGate ? options : { decision: fold.folded.decision });
      const asked = asking instanceof Promise ? await asking : asking;
      if (isGate) fold.take(asked, env.signal.aborted);
      else fold.observe(asked);
    }
  }
  return fold.folded;
}

/** Asks one hook. One that answers at once costs no promise and no timer: most are that quick, and there are many. */
function ask(
  hook: HookRecord,
  event: AnyEvent,
  env: HookEnv,
  options: FireOptions & { readonly decision?: Folded["decision"] },
): HookReply | Promise<HookReply> {
  env.onHook?.(hook.name, event.event);
  const ctx = new Context(env, hook.name, options.decision, event);
  const start = env.clock.tick();
  const end = (opinion: Opinion, failure?: string, error?: unknown): HookReply => {
    const ms = env.clock.tick() - start;
    const run: HookRun = failure === undefined ? { hook: hook.name, opinion, ms } : { hook: hook.name, failure, ms };
    env.onHook?.(hook.name, event.event, run);
    hook.ended?.(run);
    return { hook, ctx, opinion, run, error };
  };
  const failed = (error: unknown): HookReply => end(NO_OPINION, thrownWords(error), error);
  const answered = (raw: unknown) => {
    let opinion: Opinion;
    try {
      opinion = hook.read(raw, event);
      if (opinion.value && options.accept) opinion = { ...opinion, value: { to: options.accept(opinion.value.to) } };
    } catch (error) {
      return failed(error);
    }
    // It answered and works on: what it says in the end reaches the model at the next boundary.
    if (opinion.later) env.background?.(opinion.later.then((contexts) => saidBy(hook.name, contexts)), hook.name);
    return end(opinion);
  };

  let raw: unknown;
  try {
    raw = hook.run(event, ctx);
    // To look at an answer may throw too: it can be a proxy.
    if (!isThenable(raw)) return answered(raw);
  } catch (error) {
    return failed(error);
  }
  const { timeout } = hook;
  const limit = { clock: env.clock, signal: env.signal, ms: timeout === undefined ? undefined : timeout * 1000 };
  return settle(Promise.resolve(raw), limit).then((end) => {
    if ("value" in end) return answered(end.value);
    if ("error" in end) return failed(end.error);
    const why = end.ended === "time"
      ? new OutOfTime(`it took longer than its limit of ${timeout} s`)
      : new UnusableAnswer("it was interrupted");
    ctx.expire(why);
    return failed(why);
  });
}

function saidBy(hook: string, contexts: readonly HookText[]): HookText[] {
  return contexts.map((context) => ({ ...context, hook }));
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

/** Which of two hooks is asked first; of two that are equal in this, the one that is first in the list. */
export function askedFirst(a: HookRecord, b: HookRecord): number {
  return MODES.indexOf(a.mode) - MODES.indexOf(b.mode) || a.priority - b.priority;
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
    .sort(askedFirst);
  const byEvent = sorted.get(records) ?? new Map<EventName, readonly HookRecord[]>();
  sorted.set(records, byEvent.set(event, found));
  return found;
}
