import { present } from "./json.ts";
import { withSubject } from "./_event.ts";
import { type AnyEvent, type EventName, type EventRow, EVENTS } from "./events.ts";
import type { Context, HookRecord, HookRun, OnError } from "./hook.ts";
import { type HookText, NO_OPINION, type Opinion } from "./verdict.ts";

/** One hook's answer to one event, with what it did through its context. */
export interface HookReply {
  readonly hook: HookRecord;
  readonly ctx: Context;
  readonly opinion: Opinion;
  /** What became of it; a failure with what was thrown. */
  readonly run: HookRun;
  readonly error?: unknown;
}

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
  readonly contexts: readonly (HookText & { readonly hook: string })[];
  readonly inputs: readonly { readonly hook: string; readonly text: string; readonly persist?: true }[];
  readonly systemMessages: readonly { readonly hook: string; readonly text: string }[];
  readonly halt?: { readonly hook: string; readonly reason: string };
  readonly abort?: { readonly hook: string; readonly reason: string };
  readonly warnings: readonly string[];
  /** The ledger: every hook that was considered, in order. */
  readonly runs: readonly HookRun[];
}

function nothing(): { -readonly [K in keyof Folded]: Folded[K] extends readonly (infer T)[] ? T[] : Folded[K] } {
  return {
    decision: "continue",
    denials: [],
    modified: false,
    contexts: [],
    inputs: [],
    systemMessages: [],
    warnings: [],
    runs: [],
  };
}

export const NOTHING: Folded = Object.freeze(nothing());

/** Why a hook is not asked once the run is over. */
export const ENDED = "the run was ended";

/** Why a background hook has no answer in the ledger. */
export const IN_BACKGROUND = "runs in the background";

const CLEANUP: ReadonlySet<EventName> = new Set(["agent-stop", "session-end"]);

/** The fold itself: takes one answer after the other, and asks no hook. */
export class Fold {
  /** The event as the next hook sees it. */
  event: AnyEvent;
  readonly #row: EventRow;
  /** What they decided so far. */
  readonly folded = nothing();

  constructor(event: AnyEvent) {
    this.event = event;
    this.#row = EVENTS[event.event];
  }

  /** Why no further gate is asked; undefined while the walk goes on. */
  get over(): string | undefined {
    const { abort, deniedBy } = this.folded;
    // Every hook that cleans up is asked: the run is over, so none of them can end it.
    if (abort && !CLEANUP.has(this.event.event)) return ENDED;
    return this.#row.deny === "prevents" && deniedBy !== undefined ? `denied by ${deniedBy}` : undefined;
  }

  pass(hook: HookRecord, skipped: string): void {
    this.folded.runs.push({ hook: hook.name, skipped });
  }

  /** Weighs a gate's answer; after an interrupt only what holds anyway is kept. */
  take(asked: HookReply, interrupted: boolean): void {
    this.#keepBeside(asked);
    if (interrupted) return;
    if (asked.run.failure !== undefined) this.#fail(asked, asked.run.failure);
    else if (asked.opinion !== NO_OPINION) this.#weigh(asked);
  }

  observe(asked: HookReply): void {
    this.#keepBeside(asked);
    const { hook, opinion, run: { failure } } = asked;
    if (failure !== undefined) this.folded.warnings.push(failedWords(hook, this.event, failure));
    else if (opinion.decision || opinion.value || opinion.halt !== undefined) {
      this.folded.warnings.push(`Hook ${hook.name} only observes: its verdict was ignored`);
    }
  }

  /** What holds whatever is decided. */
  #keepBeside({ hook: { name: hook }, ctx, opinion, run }: HookReply): void {
    const folded = this.folded;
    folded.runs.push(run);
    if (ctx.said) { for (const said of ctx.said) folded.contexts.push({ ...said, hook }); }
    if (opinion.contexts) { for (const said of opinion.contexts) folded.contexts.push({ ...said, hook }); }
    if (ctx.inputs) { for (const input of ctx.inputs) folded.inputs.push({ hook, ...input }); }
    if (opinion.systemMessage !== undefined) folded.systemMessages.push({ hook, text: opinion.systemMessage });
    const reason = ctx.aborted ?? opinion.abort;
    if (reason !== undefined) folded.abort ??= { hook, reason };
  }

  #weigh({ hook: { name: hook }, opinion }: HookReply): void {
    const folded = this.folded;
    const { decision, reason, text, value } = opinion;
    if (opinion.halt !== undefined) {
      if (this.event.event === "session-start") {
        folded.warnings.push(`Hook ${hook} cannot halt at session start: ignored`);
      } else folded.halt ??= { hook, reason: opinion.halt };
    }
    if (decision === "deny") {
      if (this.#row.deny === "ignored") {
        folded.warnings.push(`Hook ${hook} denied ${this.event.event}, which cannot be denied: ignored`);
      } else this.#deny(hook, reason ?? `Denied by hook ${hook}`, text);
      if (this.#row.deny !== "collects") return;
    }
    if (value) {
      const isMerged = folded.modified && this.#row.takes === "view";
      folded.value = isMerged ? { ...folded.value as object, ...value.to as object } : value.to;
      folded.modified = true;
      this.event = withSubject(this.event, value.to);
    }
    if (decision === "allow" && folded.decision === "continue") this.#decide(decision, reason);
    if (decision === "ask" && !folded.asked && folded.decision !== "deny") {
      folded.asked = present({ hook, reason, text });
      this.#decide(decision, reason);
    }
  }

  #decide(decision: Folded["decision"], reason: string | undefined): void {
    this.folded.decision = decision;
    if (reason === undefined) delete this.folded.reason;
    else this.folded.reason = reason;
  }

  #deny(hook: string, reason: string, text: string | undefined): void {
    const folded = this.folded;
    folded.denials.push(present({ hook, reason, text }));
    folded.deniedBy ??= hook;
    this.#decide("deny", folded.denials.map((denial) => denial.reason).join("\n"));
    delete folded.asked;
    if (this.#row.deny !== "prevents") return;
    folded.modified = false;
    delete folded.value;
  }

  #fail({ hook, error }: HookReply, failure: string): void {
    const words = failedWords(hook, this.event, failure);
    this.folded.warnings.push(words);
    const policy = failurePolicy(hook, this.event.event);
    if (policy === "abort") this.folded.abort ??= { hook: hook.name, reason: words };
    else if (policy === "deny" && this.#row.deny !== "ignored") {
      this.#deny(hook.name, failure, hook.refusal?.(error, this.event));
    }
  }
}

function failedWords(hook: HookRecord, event: AnyEvent, failure: string): string {
  return `Hook ${hook.name} failed on ${event.event}: ${failure}`;
}

/** What a failure of a hook does at an event (U7). */
export function failurePolicy({ onError, kind, lenient }: HookRecord, event: EventName): OnError {
  return onError ?? (kind !== "module" || lenient ? "continue" : EVENTS[event].failure);
}
