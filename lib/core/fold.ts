import type { Asked } from "./_ask.ts";
import { isView, withSubject } from "./_event.ts";
import { type AnyEvent, type EventName, EVENTS } from "./events.ts";
import type { HookRecord, HookRun, OnError } from "./hook.ts";
import { NO_OPINION, type Said } from "./verdict.ts";

/** What all hooks together decided at one event (U5). */
export interface Folded {
  readonly decision: "continue" | "allow" | "deny" | "ask";
  /** Why, in the words of the hook that decided; where reasons are collected, all of them, a line each. */
  readonly reason?: string;
  readonly deniedBy?: string;
  /** Each denial, in order, with the dialect's own words for the model if it has them. */
  readonly denials: readonly { readonly hook: string; readonly reason: string; readonly text?: string }[];
  readonly asked?: { readonly hook: string; readonly reason?: string; readonly text?: string };
  /** The subject as the hooks left it; meaningless unless `modified`. */
  readonly value?: unknown;
  readonly modified: boolean;
  readonly contexts: readonly (Said & { readonly hook: string })[];
  readonly inputs: readonly { readonly hook: string; readonly text: string; readonly persist?: true }[];
  readonly systemMessages: readonly { readonly hook: string; readonly text: string }[];
  readonly halt?: { readonly hook: string; readonly reason: string };
  readonly abort?: { readonly hook: string; readonly reason: string };
  readonly warnings: readonly string[];
  /** The ledger: every hook that was considered, in order. */
  readonly runs: readonly HookRun[];
}

/** The result of an event without hooks. */
export const NOTHING: Folded = Object.freeze({
  decision: "continue",
  denials: [],
  modified: false,
  contexts: [],
  inputs: [],
  systemMessages: [],
  warnings: [],
  runs: [],
});

/** Why a hook is not asked once the run is over. */
export const ENDED = "the run was ended";

/** Why a background hook has no answer in the ledger. */
export const IN_BACKGROUND = "runs in the background";

const CLEANUP: ReadonlySet<EventName> = new Set(["agent-stop", "session-end"]);

type Mutable<T> = { -readonly [K in keyof T]: T[K] };
type Denial = Folded["denials"][number];

/** The fold itself: takes one answer after the other, and asks no hook. */
export class Fold {
  /** The event as the next hook sees it. */
  event: AnyEvent;
  readonly #deny: "prevents" | "collects" | "ignored";
  readonly #denials: Denial[] = [];
  readonly #contexts: Folded["contexts"][number][] = [];
  readonly #inputs: Folded["inputs"][number][] = [];
  readonly #systemMessages: Folded["systemMessages"][number][] = [];
  readonly #warnings: string[] = [];
  readonly #runs: HookRun[] = [];
  #value: { to: unknown } | undefined;
  #allowed: { reason: string | undefined } | undefined;
  #asked: Mutable<NonNullable<Folded["asked"]>> | undefined;
  #halt: Folded["halt"];
  #abort: Folded["abort"];

  constructor(event: AnyEvent) {
    this.event = event;
    this.#deny = EVENTS[event.event].deny;
  }

  /** Why no further gate is asked; undefined while the walk goes on. */
  get over(): string | undefined {
    // Those who clean up are all asked: there is nothing left that one of them could end.
    if (this.#abort && !CLEANUP.has(this.event.event)) return ENDED;
    return this.#deny === "prevents" && this.#denials.length > 0 ? `denied by ${this.#denials[0]!.hook}` : undefined;
  }

  get decision(): Folded["decision"] {
    return this.#denials.length > 0 ? "deny" : this.#asked ? "ask" : this.#allowed ? "allow" : "continue";
  }

  pass(hook: HookRecord, skipped: string): void {
    this.#runs.push({ hook: hook.name, skipped });
  }

  /** Weighs a gate's answer; after an interrupt only what holds anyway is kept. */
  take(asked: Asked, interrupted: boolean): void {
    this.#keepBeside(asked);
    if (interrupted) return;
    if (asked.failure !== undefined) this.#fail(asked, asked.failure);
    else if (asked.opinion !== NO_OPINION) this.#weigh(asked);
  }

  observe(asked: Asked): void {
    this.#keepBeside(asked);
    const { hook, opinion, failure } = asked;
    if (failure !== undefined) this.#warnings.push(failedWords(hook, this.event, failure));
    else if (opinion.decision || opinion.value || opinion.halt !== undefined) {
      this.#warnings.push(`Hook ${hook.name} only observes: its verdict was ignored`);
    }
  }

  /** What holds whatever is decided. */
  #keepBeside({ hook: { name }, ctx, opinion, run }: Asked): void {
    this.#runs.push(run);
    if (ctx.said) { for (const said of ctx.said) this.#contexts.push({ ...said, hook: name }); }
    if (opinion.contexts) { for (const said of opinion.contexts) this.#contexts.push({ ...said, hook: name }); }
    if (ctx.inputs) { for (const input of ctx.inputs) this.#inputs.push({ hook: name, ...input }); }
    if (opinion.systemMessage !== undefined) this.#systemMessages.push({ hook: name, text: opinion.systemMessage });
    const ended = ctx.aborted ?? opinion.abort;
    if (ended !== undefined) this.#abort ??= { hook: name, reason: ended };
  }

  #weigh({ hook: { name }, opinion }: Asked): void {
    const { reason, text } = opinion;
    if (opinion.halt !== undefined) {
      if (this.event.event === "session-start") {
        this.#warnings.push(`Hook ${name} cannot halt at session start: ignored`);
      } else this.#halt ??= { hook: name, reason: opinion.halt };
    }
    if (opinion.decision === "deny") {
      if (this.#deny === "ignored") {
        this.#warnings.push(`Hook ${name} denied ${this.event.event}, which cannot be denied: ignored`);
      } else {
        const denial = { hook: name, reason: reason ?? `Denied by hook ${name}` };
        this.#denials.push(text === undefined ? denial : { ...denial, text });
      }
      if (this.#deny !== "collects") return;
    }
    if (opinion.value) {
      const before = isView(this.event.event) ? this.#value?.to as object : undefined;
      this.#value = before ? { to: { ...before, ...opinion.value.to as object } } : opinion.value;
      this.event = withSubject(this.event, opinion.value.to);
    }
    if (opinion.decision === "allow") this.#allowed ??= { reason };
    else if (opinion.decision === "ask" && !this.#asked) {
      this.#asked = { hook: name };
      if (reason !== undefined) this.#asked.reason = reason;
      if (text !== undefined) this.#asked.text = text;
    }
  }

  #fail({ hook, error }: Asked, failure: string): void {
    const words = failedWords(hook, this.event, failure);
    this.#warnings.push(words);
    const policy = hook.onError ?? failurePolicy(hook, this.event.event);
    if (policy === "abort") this.#abort ??= { hook: hook.name, reason: words };
    else if (policy === "deny" && this.#deny !== "ignored") {
      const denial = { hook: hook.name, reason: failure };
      const text = hook.refusal?.(error, this.event);
      this.#denials.push(text === undefined ? denial : { ...denial, text });
    }
  }

  result(): Folded {
    const { decision } = this;
    const modified = this.#value !== undefined && !(decision === "deny" && this.#deny === "prevents");
    const folded: Mutable<Folded> = {
      decision,
      denials: this.#denials,
      modified,
      contexts: this.#contexts,
      inputs: this.#inputs,
      systemMessages: this.#systemMessages,
      warnings: this.#warnings,
      runs: this.#runs,
    };
    if (modified) folded.value = this.#value!.to;
    if (this.#halt) folded.halt = this.#halt;
    if (this.#abort) folded.abort = this.#abort;
    if (decision === "deny") {
      folded.reason = this.#denials.map((d) => d.reason).join("\n");
      folded.deniedBy = this.#denials[0]!.hook;
    } else {
      if (this.#asked) folded.asked = this.#asked;
      const reason = (this.#asked ?? this.#allowed)?.reason;
      if (reason !== undefined) folded.reason = reason;
    }
    return folded;
  }
}

function failedWords(hook: HookRecord, event: AnyEvent, failure: string): string {
  return `Hook ${hook.name} failed on ${event.event}: ${failure}`;
}

/** Where a module that fails must not let the thing happen, and where the run cannot continue without it (U7). */
const FAILURE: { readonly [N in EventName]?: OnError } = {
  "pre-tool-use": "deny",
  "model-switch": "deny",
  "user-prompt-submit": "deny",
  "session-start": "abort",
  "turn-start": "abort",
  "iteration": "abort",
  "agent-start": "abort",
};

/** What a failure does if the hook does not say (U7). */
export function failurePolicy({ kind, lenient }: HookRecord, event: EventName): OnError {
  return kind !== "module" || lenient ? "continue" : FAILURE[event] ?? "continue";
}
