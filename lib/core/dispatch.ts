import { isView, stamp, withSubject } from "./_event.ts";
import { failurePolicy, passedOver } from "./_policy.ts";
import { isThenable, settle } from "./_settle.ts";
import { type AnyEvent, type EventName, EVENTS, type Fired } from "./events.ts";
import { Context, type HookEnv, type HookRecord, type HookRun } from "./hook.ts";
import { NO_OPINION, type Opinion, type Said, UnusableAnswer } from "./verdict.ts";

/** What all hooks together decided at one event (U5). */
export interface Folded {
  readonly decision: "continue" | "allow" | "deny" | "ask";
  /** Why, in the words of the hook that decided; where reasons are collected, all of them, a line each. */
  readonly reason?: string;
  readonly deniedBy?: string;
  /** Each denial, in order, with the dialect's own words for the model where it has them. */
  readonly denials: readonly { readonly hook: string; readonly reason: string; readonly text?: string }[];
  readonly asked?: { readonly hook: string; readonly reason?: string; readonly text?: string };
  /** The subject as the hooks left it; meaningless unless `modified`. */
  readonly value?: unknown;
  readonly modified: boolean;
  readonly contexts: readonly (Said & { readonly hook: string })[];
  readonly inputs: readonly { readonly hook: string; readonly text: string }[];
  readonly systemMessages: readonly { readonly hook: string; readonly text: string }[];
  readonly halt?: { readonly hook: string; readonly reason: string };
  readonly abort?: { readonly hook: string; readonly reason: string };
  readonly warnings: readonly string[];
  /** The ledger: every hook that was considered, in order. */
  readonly runs: readonly HookRun[];
}

const NOTHING: Folded = Object.freeze({
  decision: "continue",
  denials: [],
  modified: false,
  contexts: [],
  inputs: [],
  systemMessages: [],
  warnings: [],
  runs: [],
});

export interface FireOptions {
  /** Turns a modified value into the subject, or throws `UnusableAnswer`. */
  readonly accept?: (value: unknown) => unknown;
}

/**
 * Asks the hooks of one event, one after the other, and folds what they say. Order never depends on speed:
 * priority, then place in the list.
 */
export async function fire<N extends EventName>(
  records: readonly HookRecord[],
  fired: Fired<N>,
  env: HookEnv,
  options: FireOptions = {},
): Promise<Folded> {
  const listening = listeners(records, fired.event);
  if (listening.length === 0) return NOTHING;
  return await new Walk(stamp(fired as Fired<EventName>, env), env, options).over(listening);
}

/** Whether anybody listens to an event: lets a caller skip building it. */
export function isHeard(records: readonly HookRecord[], event: EventName): boolean {
  return listeners(records, event).length > 0;
}

const sorted = new WeakMap<readonly HookRecord[], Map<EventName, readonly HookRecord[]>>();

/** The hooks of an event in the order they are asked. Kept per list: a changed set of hooks is a new list. */
export function listeners(records: readonly HookRecord[], event: EventName): readonly HookRecord[] {
  let byEvent = sorted.get(records);
  if (!byEvent) sorted.set(records, byEvent = new Map());
  let found = byEvent.get(event);
  if (!found) {
    found = records.filter((r) => r.on.some((on) => on.event === event)).sort((a, b) => a.priority - b.priority);
    byEvent.set(event, found);
  }
  return found;
}

class Walk {
  #event: AnyEvent;
  readonly #env: HookEnv;
  readonly #options: FireOptions;
  readonly #runs: HookRun[] = [];
  readonly #warnings: string[] = [];
  readonly #contexts: (Said & { hook: string })[] = [];
  readonly #inputs: { hook: string; text: string }[] = [];
  readonly #systemMessages: { hook: string; text: string }[] = [];
  readonly #denials: { hook: string; reason: string; text?: string }[] = [];
  #value: { to: unknown } | undefined;
  #allowed: { hook: string; reason?: string } | undefined;
  #asked: { hook: string; reason?: string; text?: string } | undefined;
  #halt: { hook: string; reason: string } | undefined;
  #abort: { hook: string; reason: string } | undefined;

  constructor(event: AnyEvent, env: HookEnv, options: FireOptions) {
    this.#event = event;
    this.#env = env;
    this.#options = options;
  }

  async over(listening: readonly HookRecord[]): Promise<Folded> {
    const { deny } = EVENTS[this.#event.event];
    for (const hook of listening) {
      if (hook.mode !== "gate") continue;
      const over = this.#abort !== undefined || this.#env.signal.aborted ||
        (deny === "prevents" && this.#denials.length > 0);
      if (over) {
        this.#runs.push({
          hook: hook.name,
          skipped: this.#denials.length > 0 ? `denied by ${this.#denials[0]!.hook}` : "the run was ended",
        });
        continue;
      }
      await this.#ask(hook);
    }
    for (const hook of listening) {
      if (hook.mode === "observe") await this.#ask(hook, this.#decision());
    }
    for (const hook of listening) {
      if (hook.mode === "async") this.#queue(hook);
    }
    return this.#fold();
  }

  async #ask(hook: HookRecord, decision?: Folded["decision"]): Promise<void> {
    const why = passedOver(hook, this.#event, this.#env);
    if (why !== undefined) {
      this.#runs.push({ hook: hook.name, skipped: why });
      return;
    }
    const env = this.#env;
    const { clock } = env;
    const { event, event_id } = this.#event;
    env.onHook?.({ phase: "start", hook: hook.name, event, event_id });
    const ctx = new Context(this.#env, hook.name, decision);
    const start = clock.tick();
    let opinion = NO_OPINION;
    let failure: string | undefined;
    try {
      let raw = hook.run(this.#event, ctx);
      if (isThenable(raw)) raw = await answerOf(raw, hook, ctx, this.#env);
      opinion = hook.read(raw, this.#event);
      if (opinion.value && this.#options.accept) {
        opinion = { ...opinion, value: { to: this.#options.accept(opinion.value.to) } };
      }
    } catch (error) {
      failure = error instanceof Error ? error.message || error.name : String(error);
      opinion = NO_OPINION;
    }
    const run: HookRun = failure === undefined
      ? { hook: hook.name, opinion, ms: clock.tick() - start }
      : { hook: hook.name, failure, ms: clock.tick() - start };
    this.#runs.push(run);
    env.onHook?.({ phase: "end", hook: hook.name, event, event_id, run });
    this.#keepBeside(hook, ctx, opinion);
    if (this.#env.signal.aborted) return;
    if (failure !== undefined) this.#fail(hook, failure);
    else if (decision === undefined) this.#weigh(hook, opinion);
    else if (opinion.decision || opinion.value || opinion.halt !== undefined) {
      this.#warnings.push(`Hook ${hook.name} only observes: its verdict was ignored`);
    }
  }

  /** What holds whatever is decided. */
  #keepBeside(hook: HookRecord, ctx: Context, opinion: Opinion): void {
    const name = hook.name;
    for (const said of ctx.said ?? []) this.#contexts.push({ ...said, hook: name });
    for (const said of opinion.contexts ?? []) this.#contexts.push({ ...said, hook: name });
    for (const text of ctx.inputs ?? []) this.#inputs.push({ hook: name, text });
    if (opinion.systemMessage !== undefined) this.#systemMessages.push({ hook: name, text: opinion.systemMessage });
    const ended = ctx.aborted ?? opinion.abort;
    if (ended !== undefined) this.#abort ??= { hook: name, reason: ended };
  }

  #weigh(hook: HookRecord, opinion: Opinion): void {
    const name = hook.name;
    const reason = opinion.reason;
    if (opinion.halt !== undefined) {
      if (this.#event.event === "session-start") {
        this.#warnings.push(`Hook ${name} cannot halt at session start: ignored`);
      } else this.#halt ??= { hook: name, reason: opinion.halt };
    }
    if (opinion.decision === "deny") {
      if (EVENTS[this.#event.event].deny === "ignored") {
        this.#warnings.push(`Hook ${name} denied ${this.#event.event}, which cannot be denied: ignored`);
      } else {
        this.#denials.push({
          hook: name,
          reason: reason ?? `Denied by hook ${name}`,
          ...(opinion.text !== undefined ? { text: opinion.text } : {}),
        });
      }
      return;
    }
    if (opinion.value) {
      const before = isView(this.#event.event) ? this.#value?.to as object : undefined;
      this.#value = before ? { to: { ...before, ...opinion.value.to as object } } : opinion.value;
      this.#event = withSubject(this.#event, opinion.value.to);
    }
    if (opinion.decision === "ask") {
      this.#asked ??= {
        hook: name,
        ...(reason !== undefined && { reason }),
        ...(opinion.text !== undefined && { text: opinion.text }),
      };
    } else if (opinion.decision === "allow") this.#allowed ??= { hook: name, ...(reason !== undefined && { reason }) };
  }

  #fail(hook: HookRecord, failure: string): void {
    const policy = hook.onError ?? failurePolicy(hook, this.#event.event);
    const message = `Hook ${hook.name} failed on ${this.#event.event}: ${failure}`;
    this.#warnings.push(message);
    if (policy === "abort") this.#abort ??= { hook: hook.name, reason: message };
    else if (policy === "deny" && EVENTS[this.#event.event].deny !== "ignored") {
      this.#denials.push({ hook: hook.name, reason: failure });
    }
  }

  /** Starts a hook nobody waits for. Its verdict is void; what it says reaches the model at the next boundary. */
  #queue(hook: HookRecord): void {
    const why = passedOver(hook, this.#event, this.#env);
    this.#runs.push({ hook: hook.name, skipped: why ?? "runs in the background" });
    if (why !== undefined) return;
    const env = this.#env;
    const event = this.#event;
    const ctx = new Context(this.#env, hook.name);
    const work = (async () => {
      try {
        const raw = hook.run(event, ctx);
        const opinion = hook.read(isThenable(raw) ? await answerOf(raw, hook, ctx, this.#env) : raw, event);
        for (const said of [...ctx.said ?? [], ...opinion.contexts ?? []]) env.deliver?.({ ...said, hook: hook.name });
      } catch (error) {
        env.log?.(hook.name, `failed in the background: ${error instanceof Error ? error.message : error}`);
      }
    })();
    env.background?.(work);
  }

  #decision(): Folded["decision"] {
    return this.#denials.length > 0 ? "deny" : this.#asked ? "ask" : this.#allowed ? "allow" : "continue";
  }

  #fold(): Folded {
    const decision = this.#decision();
    const denied = decision === "deny";
    const reason = denied
      ? this.#denials.map((d) => d.reason).join("\n")
      : decision === "ask"
      ? this.#asked!.reason
      : this.#allowed?.reason;
    return {
      decision,
      ...(reason !== undefined && { reason }),
      ...(denied && { deniedBy: this.#denials[0]!.hook }),
      denials: this.#denials,
      ...(this.#asked && !denied && { asked: this.#asked }),
      ...(this.#value && !(denied && EVENTS[this.#event.event].deny === "prevents") && { value: this.#value.to }),
      modified: this.#value !== undefined && !(denied && EVENTS[this.#event.event].deny === "prevents"),
      contexts: this.#contexts,
      inputs: this.#inputs,
      systemMessages: this.#systemMessages,
      ...(this.#halt && { halt: this.#halt }),
      ...(this.#abort && { abort: this.#abort }),
      warnings: this.#warnings,
      runs: this.#runs,
    };
  }
}

/** What the hook answers, or the reason why it did not. */
async function answerOf(work: Promise<unknown>, hook: HookRecord, ctx: Context, env: HookEnv): Promise<unknown> {
  const ms = hook.timeout === undefined ? undefined : hook.timeout * 1000;
  const end = await settle(work, { clock: env.clock, signal: env.signal, ms });
  if ("value" in end) return end.value;
  if ("error" in end) throw end.error;
  ctx.expire();
  throw new UnusableAnswer(
    end.ended === "time" ? `it took longer than its limit of ${hook.timeout} s` : "it was interrupted",
  );
}
