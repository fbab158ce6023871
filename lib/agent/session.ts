import type { EventFields } from "../core/events.ts";
import type { Folded } from "../core/fold.ts";
import { Ended } from "../core/limits.ts";
import type { Prompt } from "../core/messages.ts";
import { runPrompt, type Typed } from "../core/prompt.ts";
import type { ModelParams } from "../core/model.ts";
import { type AgentSpec, Run, type SessionState } from "../core/run.ts";
import type { Result } from "../core/run-events.ts";
import { NEVER, settle } from "../core/clock.ts";
import { switchModel } from "./recovery.ts";

interface PromptBy {
  readonly signal?: AbortSignal;
  readonly trigger?: "user" | "resume";
  readonly hasMore?: (() => boolean) | undefined;
  readonly modelParams?: ModelParams;
  /** Whether the session is opened again, as it was in another process. */
  readonly reopens?: boolean;
}

/** How a session begins, and the files whose text is in its system prompt. */
interface SessionBegin extends Partial<Omit<EventFields["session-start"], "model">> {
  readonly source: EventFields["session-start"]["source"];
  readonly instructions?: readonly EventFields["instructions-loaded"][];
}

/**
 * The prompts of an agent: opened once, prompted once or often, closed once. `session-start` is fired by the first
 * prompt, so that an interrupt reaches it too; an agent below another has no `start`, and no session of its own.
 */
export function openSession(agent: AgentSpec, state: SessionState, start?: SessionBegin) {
  const opened = state.clock.tick();
  let started = false;
  let closed = false;
  let busy: Promise<unknown> | undefined;
  /** Aborted when it is closed; `closing` once what cleans up has run. */
  const stopping = new AbortController();
  const closing = new AbortController();
  let last: Run | undefined;
  const later: Typed["later"] = [];
  const newRun = (signal?: AbortSignal, modelParams?: ModelParams) =>
    new Run(agent, state, { signal, closing: closing.signal, modelParams });
  const between = async (signal?: AbortSignal) => {
    const run = newRun(signal);
    run.list = await agent.hooks();
    return run;
  };
  const background = () => {
    const all = Promise.allSettled([...state.background]);
    return settle(all, { clock: state.clock, signal: NEVER, ms: GRACE_MS });
  };
  return {
    /** @throws {TypeError} if the session is closed, or still running the previous prompt */
    async prompt(
      prompt: Prompt,
      { signal, trigger = "user", hasMore, modelParams, reopens = false }: PromptBy = {},
    ): Promise<Result> {
      if (closed) throw new TypeError("Cannot prompt a session as it is closed: open another");
      if (busy) throw new TypeError("Cannot prompt a session as it is still running: wait for its Result");
      const run = last = newRun(signal ? AbortSignal.any([signal, stopping.signal]) : stopping.signal, modelParams);
      const opening = reopens && start ? { ...start, source: "resume" as const } : start;
      const first = (started && !reopens) || run.signal.aborted ? undefined : opening;
      started ||= first !== undefined;
      const open = first && (() => fireStart(run, first));
      const running = busy = runPrompt(run, prompt, { trigger, open, typed: hasMore && { hasMore, later } });
      try {
        return await running;
      } finally {
        busy = undefined;
      }
    },
    /** Changes the model for later calls; a hook may refuse. Whether it was changed. */
    setModel: async (model: string): Promise<boolean> => await switchModel(await between(), model),
    /** A run between prompts, for what a person asks of the session itself. */
    between,
    /** Fires session-end, once. */
    async close(reason = "other"): Promise<void> {
      if (closed) return;
      closed = true;
      const run = last ?? newRun();
      await state.reports?.ending();
      stopping.abort(CLOSED);
      await busy;
      await background();
      if (start && started) {
        const duration_ms = Math.round(state.clock.tick() - opened);
        await run.fire({ event: "session-end", reason, duration_ms }, { final: true });
      }
      closing.abort(CLOSED);
      await background();
    },
  };
}

async function fireStart(run: Run, start: SessionBegin): Promise<Folded> {
  const { source, instructions = [], profile = null, config = null } = start;
  const said = await run.fire({ event: "session-start", source, model: run.state.model, profile, config });
  for (const file of instructions) await run.fire({ event: "instructions-loaded", ...file });
  return said;
}

/** Made once: to make an error takes longer than to close a session. */
const CLOSED = new Ended("aborted", "The session was closed");

/** How long work in the background may take to end once its session does. */
const GRACE_MS = 2000;
