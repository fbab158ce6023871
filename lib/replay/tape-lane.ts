import type { Refusal } from "../core/hook-words.ts";
import { abortedError } from "../http/errors.ts";
import { wireOf } from "../models/anthropic/anthropic-model.ts";
import { systemClock, untilAborted } from "../core/clock.ts";
import type { Spent } from "../core/limits.ts";
import type { Folded } from "../core/fold.ts";
import type { AgentSpec, Interceptor } from "../core/run.ts";
import type { Model, ModelEvent, ModelRequest } from "../core/model.ts";
import type { Tool } from "../core/tool.ts";
import { whyAskedAfter } from "./continue-run.ts";
import { type Difference, explain } from "./drift/difference.ts";
import { LaneClock } from "../log/tape-clock.ts";
import type { Divergence } from "./drift/drift-report.ts";
import { hookDrift } from "./drift/hook-drift.ts";
import type { ClockFact, LogEntry, SaidFact } from "../log/entry.ts";
import { hooksSaid, type HookStep, hookStep, type ToolSteps } from "../log/step.ts";
import { Lane } from "../log/lane.ts";
import { LaneMatcher } from "./match-call.ts";
import { namesPlaces, ROUNDED, SeamAnswer } from "../log/tape-answer.ts";
import { type Call, fromModel } from "../log/tape.ts";
import type { TapedSession } from "./taped-session.ts";
import { TapeTools, Verification } from "./tape-tools.ts";

/** One agent on a tape: it answers what was recorded, hooks are asked again; what it lacks is drift, or recorded. */
export class TapeLane extends Lane {
  readonly #session: TapedSession;
  readonly #above: TapeLane | undefined;
  readonly #matcher: LaneMatcher | undefined;
  readonly #verification: Verification | undefined;
  readonly #refusals: ReturnType<typeof laneRefusals>;
  /** What its hooks said when it was recorded. */
  readonly #said: readonly SaidFact[] | undefined;
  /** The lanes of agents it has started that work. */
  readonly #below = new Set<TapeLane>();
  /** Whether no agent of it is working: it has ended, waits to be ended, or only hooks are left. */
  #isAtRest = true;
  /** Whether the session ended before the agent's report was read: it makes its recorded calls and is then ended. */
  readonly #isLeft: boolean;

  constructor(session: TapedSession, name: string, above: TapeLane | undefined, isLeft = false) {
    const { program, earlier, epoch, seed } = session;
    // What an agent starts that has left its tape was never recorded.
    const live = !earlier || (above !== undefined && above.clock.isLive);
    const recorded = live ? [] : earlier.tape.clocks.filter((fact) => fact.clock === name)
      .map(({ spent, ...fact }) => program && spent ? { ...fact, spent } : fact); // today's run spends its own
    const noted = (fact: ClockFact) => session.line(fact);
    super(
      name,
      new LaneClock({ lane: name, epoch, seed, live, recorded, noted, ...(above && { above: above.clock }) }),
    );
    for (const fact of recorded) if (fact.step === 0) noted(fact);
    this.#session = session;
    this.#above = above;
    this.#isLeft = isLeft || (above !== undefined && above.#isLeft);
    this.#refusals = laneRefusals(session, name, () => this.clock.isLive);
    this.#said = program?.tape.said?.filter((fact) => fact.lane === name);
    this.#matcher = earlier && new LaneMatcher(earlier, name, session.toTape);
    if (session.policy.calls === "compare") this.#verification = new Verification(session, name);
  }

  protected line(entry: LogEntry): void {
    this.#session.line(entry);
  }

  protected wanted(inbox: string, look: number): readonly string[] | undefined {
    return this.#isReplayed ? this.#session.takes(inbox, look) ?? [] : undefined;
  }

  protected override ending(): void | Promise<void> {
    if (this.#isReplayed) return this.#session.catchUp(this.name);
  }

  /** Whether the lane still does what was recorded: an agent under faults or one that went live may do anything. */
  get #isReplayed(): boolean {
    return this.#session.replays && !this.#mutate && !this.clock.isLive;
  }

  get #mutate(): TapedSession["policy"]["mutate"] {
    return this.#session.policy.mutate;
  }

  override spec(agent: AgentSpec): AgentSpec {
    this.#isAtRest = false;
    this.#mutate?.meet(agent.tools);
    this.#session.hooks ??= agent.hooks;
    // Agents below have the hooks of the one above them.
    const hooks = this.#above ? undefined : this.#mutate?.seams?.hooks(agent.hooks);
    return super.spec(hooks ? { ...agent, hooks } : agent);
  }

  protected override tool(stepped: Tool): Tool {
    return this.#mutate?.seams?.tool(stepped, this.name, this.clock) ?? stepped;
  }

  protected override spent(now: Spent): Pick<Spent, "tokens" | "dollars"> {
    return this.#mutate ? now : super.spent(now);
  }

  protected around({ hooks: ask = (_run, _event, next) => next() }: Interceptor): Interceptor {
    return {
      isOrdered: true,
      refusals: this.#refusals,
      ...((this.#said ?? this.#session.recording) &&
        { hooks: async (run, event, next) => this.#heard(hookStep(run, event), await ask(run, event, next)) }),
      ...(this.#verification && { result: this.#verification.retell }),
    };
  }

  /** Compares what hooks say with what they said, until the run leaves its tape. */
  #heard({ hook: step, event, about }: HookStep, folded: Folded): Folded {
    const said = hooksSaid(folded);
    const at = { lane: this.name, step, event, ...(about !== undefined && { about }) };
    if (said.length > 0) this.line({ said, ...at });
    if (!this.#said || !this.#isReplayed) return folded;
    const drift = hookDrift(at, this.#session.mask.on(said), this.#said);
    if (drift) this.#session.drift.hooks.push(drift);
    return folded;
  }

  protected lower(name: string, by?: { readonly call: string; readonly background: boolean }): TapeLane {
    if (!by) return this.#session.lane(name, this);
    const { inboxes } = this.#session.program?.tape ?? {};
    const wasHeard = () => inboxes?.some(({ inbox, from }) => inbox === this.name && from.includes(by.call)) ?? false;
    const below = this.#session.lane(name, this, by.background && this.#isReplayed && !wasHeard());
    this.#below.add(below);
    return below;
  }

  override ended(): void {
    if (this.#above) this.#above.#below.delete(this);
    this.#isAtRest = true;
  }

  /** Whether all its calls were made that were recorded. */
  get isSpent(): boolean {
    const { program, served } = this.#session;
    return program?.tape.calls.every((call) => call.lane !== this.name || served.calls.has(call)) ?? true;
  }

  /** Whether its agent has come as far as it did when it was recorded. An agent that waits for others is as far as they are. */
  get hasCaughtUp(): boolean {
    return this.isSpent && (this.#isAtRest || this.#below.size > 0);
  }

  /** From the tape; the model is called itself if the mode allows it. */
  protected reply(real: Model, request: ModelRequest, signal: AbortSignal): ReturnType<Model> {
    if (this.#isLeft && this.isSpent) return this.#unanswered(request, signal, real);
    const call = this.#take(real, request);
    if (call) {
      const answer = this.#serve(call, request, signal, real);
      return this.#mutate?.listen(this.name, answer) ?? answer;
    }
    if (this.#session.policy.isOffline) {
      this.clock.nextStep();
      return { [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(this.#session.drift.error(this.name)) }) };
    }
    return this.#ask(real, request, signal);
  }

  #take(real: Model, request: ModelRequest): Call | undefined {
    const { program, earlier, served, policy: { mutate }, toTape } = this.#session;
    if (!this.#matcher || !earlier) return undefined;
    const whyNot = program ? undefined : whyAskedAfter(earlier.tape.header.url, real.named?.(request.model) ?? real);
    if (whyNot !== undefined) return void this.#session.drift.anew.add(whyNot);
    const asked = () => toTape ? toTape(fromModel(request)) : fromModel(request);
    if (mutate) return mutate.take(this.name, fromModel(request), asked());
    const match = this.#matcher.find(request, served);
    if (match && "call" in match) return match.call;
    if (!program) return undefined;
    this.#session.drift.note(this.name, (): Divergence => {
      const is = asked();
      const found = explain(program, this.name, is, served, match);
      const was = program.tape.calls.find(({ id }) => id === found.call);
      this.#session.options.onDrift?.(this.name, was?.request, is);
      return this.#refusals.wereShown(found.actual) ? { ...found, words: `${found.words}, ${IS_REFUSED}` } : found;
    });
    return undefined;
  }

  #serve(call: Call, request: ModelRequest, signal: AbortSignal, real: Model): ReturnType<Model> {
    const session = this.#session;
    this.clock.advance(call.at);
    if (this.#isLeft && isUnfinished(call)) return this.#unanswered(request, signal, real);
    const seen = call.attempts.some(({ status, events }) => status !== undefined || !events);
    if (!session.wire || (!seen && call.error)) {
      const { clock } = this;
      return new SeamAnswer(session.answer(call), { signal, clock, isWatched: session.isWatched });
    }
    return this.#overWire(call, request, signal, real);
  }

  /** No answer, as an agent was ended before it had one: it is ended here, too, unless the run takes another way. */
  async *#unanswered(request: ModelRequest, signal: AbortSignal, real: Model): AsyncGenerator<ModelEvent> {
    this.#isAtRest = true;
    await untilAborted(AbortSignal.any([signal, this.#session.hasLeft.signal]));
    if (!signal.aborted) return yield* this.#ask(real, request, signal);
    throw abortedError(signal);
  }

  /** A reply through the SDK. If the SDK sends another request, the reply is not served; an update calls the model instead. */
  async *#overWire(call: Call, request: ModelRequest, signal: AbortSignal, real: Model): AsyncGenerator<ModelEvent> {
    const session = this.#session;
    const { options } = wireOf(real.named?.(request.model) ?? real) ?? NO_WIRE;
    let asksAnew = false;
    const { serveAttempts, sharedWire } = session.wire!;
    const middleware = serveAttempts(call, {
      mask: namesPlaces(call) || session.toTape ? session.mask : undefined,
      normalise: session.program!.normalise,
      clock: this.clock,
      cutAt: session.options.cutAt ?? (session.isWatched ? undefined : WHOLE),
      diverged: (difference) => {
        asksAnew = !session.policy.isOffline;
        session.served.calls.delete(call);
        return this.#wireDiverged(call, difference);
      },
    });
    try {
      yield* sharedWire(options, session.program!.tape.header.url).call(request, signal, [middleware]);
    } catch (error) {
      if (!asksAnew) throw error;
    } finally {
      if (!asksAnew && !signal.aborted) this.clock.nextStep();
    }
    if (asksAnew) yield* this.#ask(real, request, signal);
  }

  #ask(real: Model, request: ModelRequest, signal: AbortSignal): ReturnType<Model> {
    this.clock.goLive();
    this.#session.hasLeft.abort();
    const ended = () => this.clock.nextStep();
    return this.#session.recording!.ask(real, request, signal, { lane: this.name, at: this.clock.elapsed(), ended });
  }

  #wireDiverged(call: Call, difference: Difference): Error {
    const words = difference.cause === "order"
      ? `the SDK makes ${difference.actual} attempts, ${difference.expected} were recorded`
      : `what the SDK sends differs at ${difference.path}`;
    this.#session.drift.note(this.name, () => ({ lane: this.name, call: call.id, words, ...difference }));
    return this.#session.drift.error(this.name);
  }

  protected toolSteps(): ToolSteps {
    return new TapeTools(this.#session, this, this.#verification);
  }

  /** Waits for the run to be aborted, as it was recorded. */
  async untilAborted(signal: AbortSignal, ms: number): Promise<void> {
    await this.#session.catchUp(this.name);
    await this.clock.pass(ms + ROUNDED);
    this.#isAtRest = true;
    // If the limit that ended it is gone, nothing ends it now, and the replay must report that.
    await (this.#isLeft ? untilAborted(signal) : systemClock.sleep(PATIENCE, signal));
  }
}

const PATIENCE = 1000;

/** Whether its agent was ended before the answer came to an end. */
function isUnfinished({ attempts, error }: Call): boolean {
  return error ? error.code === "aborted" : attempts.length === 0 || attempts.at(-1)!.ended === "aborted";
}

/** A model without a wire of its own is replayed over a plain one. */
const NO_WIRE = { options: {} };
/** If no listener sees the pieces of a body, it comes in one. */
const WHOLE = Number.MAX_SAFE_INTEGER;

/** What is said of drift that is a refusal. */
const IS_REFUSED =
  "as it is refused here: a replay asks no person, so a rule of the agent, or the hook that asks, must allow it";

/** The refusals of one lane. What the agent's own rules refuse they refuse again: only what others refused is on the tape. */
function laneRefusals(session: TapedSession, lane: string, isLive: () => boolean) {
  const { program } = session;
  /** What the model read about calls that were refused here, as the tape would have it. */
  const shown = new Set<unknown>();
  return {
    note(refused: string, { words, by }: Refusal): void {
      if (session.replays) shown.add(session.mask.on(words));
      if (session.isRuled) session.line({ refused, lane, words, by });
    },
    recall(toolUseId: string): Refusal | undefined {
      const fact = program?.tape.refusals?.find((one) => one.lane === lane && one.refused === toolUseId);
      if (!fact || isLive()) return undefined;
      const here = session.mask.off(fact);
      session.line(here);
      return { words: here.words, reason: here.words, by: here.by };
    },
    /** Whether this is what the model read about a call that was refused here. */
    wereShown: (words: unknown) => shown.has(words),
  };
}
