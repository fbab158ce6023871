import { isThenable, settle } from "./settle.ts";
import { thrownWords } from "./thrown.ts";
import type { AnyEvent } from "./events.ts";
import { Context, type HookEnv, type HookRecord, type HookRun } from "./hook.ts";
import { type HookText, NO_OPINION, type Opinion, OutOfTime, UnusableAnswer } from "./verdict.ts";

/** One hook's answer to one event, with what it did through its context. */
export interface HookReply {
  readonly hook: HookRecord;
  readonly ctx: Context;
  readonly opinion: Opinion;
  /** What became of it; a failure with what was thrown. */
  readonly run: HookRun;
  readonly error?: unknown;
}

export interface AskOptions {
  /** What the gates decided; given to observers. */
  readonly decision?: "continue" | "allow" | "deny" | "ask" | undefined;
  /** Turns a modified value into the subject, or throws `UnusableAnswer`. */
  readonly accept?: ((value: unknown) => unknown) | undefined;
}

/**
 * Asks one hook. A hook that answers at once is answered at once, and one that answers within its first
 * microtask costs no timer: most hooks are that quick, and there are many of them.
 */
export function ask(
  hook: HookRecord,
  event: AnyEvent,
  env: HookEnv,
  options: AskOptions,
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

export function saidBy(hook: string, contexts: readonly HookText[]): HookText[] {
  return contexts.map((context) => ({ ...context, hook }));
}
