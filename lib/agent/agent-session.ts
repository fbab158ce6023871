import { isBlank, isContent, programInput, programText, type Prompt, promptText } from "../core/messages.ts";
import type { Result } from "../core/run-events.ts";
import type { ModelParams } from "../core/model.ts";
import type { AgentSpec, SessionState } from "../core/run.ts";
import type { openSession } from "./session.ts";
import { shown } from "../core/shown.ts";
import { checkOptions } from "../input/options.ts";
import type { PermissionGate } from "../permissions/gate.ts";
import { type About, changesSince, type Transcript } from "../log/stores/store.ts";
import type { TranscriptWriter } from "../log/stores/write-transcript.ts";
import { beginName, beginRun, lastResult, notBegun } from "./begin.ts";
import type { AgentSession } from "./options.ts";
import { checkModelParams, PARAM_OPTIONS, type ParamOptions } from "./params.ts";
import type { StoredPast } from "./session-past.ts";
import type { SessionPlace } from "./session-place.ts";
import { runBelow } from "./spawn.ts";

/** What a session of an agent is made of, once all of it is there. */
export interface SessionParts
  extends Pick<SessionPlace, "store" | "engine" | "tape" | "logged" | "record" | "lane" | "signals"> {
  readonly spec: AgentSpec;
  readonly state: SessionState;
  readonly session: ReturnType<typeof openSession>;
  readonly transcript: TranscriptWriter;
  /** What its transcript says of it: the first prompt is added when it comes. */
  readonly about: { -readonly [K in keyof About]: About[K] };
  readonly past: StoredPast | undefined;
  /** Its own transcript, if it continues one. */
  readonly stored: Transcript | undefined;
  readonly gate: PermissionGate | undefined;
  readonly hasModel: boolean;
  /** What a prompt asks of the model, with what it says itself. */
  readonly paramsFor: (own: ParamOptions) => Promise<ModelParams>;
  /** Called with each prompt's id, which hooks outside this process get too. */
  readonly onPrompt: (id: string) => void;
  /** Lets go of everything, once the session is closed; `stop` is how its last run ended. */
  readonly release: (stop: string | undefined) => Promise<void>;
}

export function agentSession(parts: SessionParts): AgentSession {
  const { spec, state, session, store, transcript, about, past, stored, engine, gate, tape, logged, record, lane } =
    parts;
  let hasBegun = false;
  let hasGoneOn = false;
  let lastStop: string | undefined;
  const goingOn = async () => {
    if (past && !hasGoneOn) await goOn(past, about, state, transcript);
    hasGoneOn = true;
  };
  const answer = async (
    prompt: Prompt,
    own: ParamOptions,
    signal: AbortSignal | undefined,
    hasMore: () => boolean,
  ): Promise<Result> => {
    let modelParams = Object.keys(own).length > 0 ? await parts.paramsFor(own) : undefined;
    const resumed = tape?.prompted(prompt);
    parts.onPrompt(state.clock.uuid());
    let trigger: "user" | "resume" = past || resumed ? "resume" : "user";
    if (engine) {
      const isOver = engine.result?.(beginName(state)) === undefined;
      const last = isBlank(prompt) && isOver && engine.result ? lastResult(state, stored) : undefined;
      if (last) return last;
      const begin = await beginRun(engine, { prompt, modelParams, trigger, state, transcript, stored }).catch(
        (error) => {
          if (engine.failure) return undefined;
          throw error;
        },
      );
      if (!begin) return notBegun(state, engine.failure!.error);
      ({ prompt, modelParams, trigger } = begin);
      hasGoneOn ||= begin.again;
    }
    if (logged && isBlank(prompt) && !logged.goesOn) {
      const last = lastResult(state, stored);
      if (last) return last;
    }
    if (logged) ({ prompt, modelParams, trigger } = logged.prompted({ prompt, modelParams, trigger }, state));
    await goingOn();
    if (!hasBegun) {
      Object.assign(about, { prompt: (programText(prompt) ?? promptText(prompt)).slice(0, 200), model: state.model });
    }
    hasBegun = true;
    const signals = signal ? [...parts.signals, signal] : [...parts.signals];
    const result = await session.prompt(prompt, {
      trigger,
      reopens: resumed === "opens",
      // When a person types is not on a tape: a replay could not do the same.
      hasMore: engine || tape ? undefined : hasMore,
      ...(modelParams && { modelParams }),
      ...(signals.length > 0 && { signal: AbortSignal.any(signals) }),
    });
    lastStop = result.stop;
    if (tape && result.stop === "aborted") tape.isInterrupted = true;
    // It has not ended: it continues once its engine works again.
    if (engine?.failure) return result;
    try {
      await transcript.ended(result);
    } catch (error) {
      return { ...result, stop: "error", error: { type: "store", message: (error as Error).message } };
    }
    return result;
  };
  /** The prompt before, until it is answered; how many of a person wait for that. */
  let before: Promise<void> | undefined;
  let waiting = 0;
  const made: AgentSession = {
    id: state.id,
    hasModel: parts.hasModel,
    get messages() {
      return state.messages.slice();
    },
    hookInput: (text, options) => made.prompt(programInput(text), options),
    get model() {
      return state.model;
    },
    async prompt(prompt, { signal, hasMore, ...own } = {}) {
      checkPrompt(prompt);
      checkOptions(own, PARAM_OPTIONS, "prompt an agent");
      checkModelParams(own, "prompt an agent");
      const isTyped = programText(prompt) === undefined;
      let resolve = () => {};
      const promise = new Promise<void>((done) => resolve = done); // Node 20 has no Promise.withResolvers
      const last = before;
      before = promise;
      if (last) {
        if (isTyped) waiting++;
        await last;
        if (isTyped) waiting--;
      }
      try {
        return await answer(prompt, own, signal, () => waiting > 0 || hasMore?.() === true);
      } finally {
        if (before === promise) before = undefined;
        resolve();
      }
    },
    setModel: async (name) => {
      const changed = await session.setModel(name);
      if (record && changed) record.switched = name;
      return changed;
    },
    below: (asked) =>
      runBelow({ agent: spec, state, store, engine, lane, signal: AbortSignal.any([...parts.signals]) }, asked),
    hooks: async () => (await spec.hooks()).records,
    permissions: () => gate?.permissions(),
    checkpoint: async () => {
      await goingOn();
      return await transcript.checkpoint(await session.between(), "manual");
    },
    compact: async ({ signal } = {}) => {
      await goingOn();
      return await (await import("./compact.ts")).compact(await session.between(signal), "manual");
    },
    async close(reason) {
      await session.close(reason);
      await parts.release(lastStop);
    },
  };
  return made;
}

/** @throws {TypeError} if it is neither a text nor blocks */
function checkPrompt(prompt: Prompt): void {
  if (typeof prompt === "string" || (isContent(prompt) && prompt.length > 0)) return;
  throw new TypeError(`Cannot prompt an agent as ${shown(prompt)} is neither a text nor a list of blocks`);
}

/** Warns about what has changed since a resumed session was stored, and stores the messages it has beyond its transcript. */
async function goOn(past: StoredPast, now: About, state: SessionState, transcript: TranscriptWriter): Promise<void> {
  for (const change of changesSince(past.transcript, now)) {
    state.emit({ agent_id: state.agentId, type: "warning", message: `Run ${past.from}: ${change}` });
  }
  const stored = past.isCopied ? 0 : past.transcript.messages.length;
  for (let index = stored; index < state.messages.length; index++) await transcript.copy(state.messages[index]!, index);
}
