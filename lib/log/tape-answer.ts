import { abortedError, callError } from "../http/errors.ts";
import { ModelError, type ModelEvent } from "../core/model.ts";
import { parsed, present } from "../core/json.ts";
import { makeOnce } from "../core/maps.ts";
import type { LaneClock } from "./tape-clock.ts";
import { runDelta, withText } from "./call-lines.ts";
import { eventsOf } from "./recorded-reply.ts";
import { namesPlace } from "./redact/places.ts";
import type { Attempt, Call } from "./tape.ts";

/** What an agent is given for a call: the events of its last attempt, and what it is thrown after them. */
export interface TapeAnswer {
  readonly events: readonly ModelEvent[];
  readonly error?: unknown;
  /** Milliseconds since the tape began at which it was over. */
  readonly end: number;
}

/** The answer to a call as its agent saw it, without anything being waited for. */
export function answerOf(call: Call): TapeAnswer {
  const { attempts } = call;
  const last = attempts.at(-1);
  const end = attempts.reduce((time, attempt) => time + tookUp(attempt), call.at);
  if (!last) return { events: [], error: thrown(call), end };
  const isReply = last.status === undefined ? last.events !== undefined : last.status < 300;
  const { events, error } = isReply ? eventsOf(last) : { events: [], error: undefined };
  const failed = call.error !== undefined || last.ended !== undefined || !isReply;
  const failure = error ?? (failed ? failureOf(call, last) : undefined);
  return { events, ...present({ error: failure }), end };
}

/** How much rounding may have lost when times of a tape are added up, in milliseconds. */
export const ROUNDED = 10;

/** The time an attempt took up; what ended an agent in it is over by then. */
export function tookUp({ waited = 0, took, ended }: Attempt): number {
  return waited + took + (ended === "aborted" ? ROUNDED : 0);
}

/** The same answer with the pieces of each block put together: it comes to the same, in fewer events. */
function inOnePiece(answer: TapeAnswer): TapeAnswer {
  const events: ModelEvent[] = [];
  let last: ReturnType<typeof runDelta>;
  for (const event of answer.events) {
    if (event.type === "ping") continue;
    const delta = runDelta(event);
    if (delta && last?.type === delta.type && last.index === delta.index) {
      last = { ...delta, text: last.text + delta.text };
      events[events.length - 1] = withText(event, last.text);
    } else {
      last = delta;
      events.push(event);
    }
  }
  return { ...answer, events };
}

const [whole, quiet] = [makeOnce(answerOf), makeOnce((call: Call) => inOnePiece(answerOf(call)))];

/** The answer to a call that is the same on every machine, made once; in one piece if no listener sees it stream. */
export function sharedAnswer(call: Call, isWatched: boolean): TapeAnswer {
  return isWatched ? whole(call) : quiet(call);
}

/** Whether places of this machine are put into what a call is answered with. */
export const namesPlaces: (call: Call) => boolean = makeOnce(({ attempts, error }) =>
  namesPlace(JSON.stringify([attempts, error]))
);

function thrown({ id, error }: Call): ModelError {
  const { message, ...rest } = error ??
    { message: `Cannot answer ${id} as the tape has no attempt at it`, code: "tape" };
  return new ModelError(message, rest);
}

/** The error after an attempt: the recorded one, or the one it would have been. */
export function failureOf(call: Call, { status, headers = {}, body = "", ended, why = "" }: Attempt): unknown {
  if (call.error) return thrown(call);
  const about = { model: call.request.model, baseURL: "the API", attempts: call.attempts.length, timeout: 600_000 };
  const broken = (code: string, why: string) =>
    new ModelError(`Cannot finish the reply as ${why}`, { code, retryable: true });
  switch (ended) {
    case "cut":
      return broken("cut", `the connection broke: ${why}`);
    case "stall":
      return broken("stalled", "nothing came for 60 s: raise idleTimeout if the model needs longer");
    case "aborted":
      return new ModelError("Cannot finish the model call as it was aborted", { code: "aborted" });
    case "reset":
    case "timeout":
      return callError(new Error(why), { ...about, missing: ended === "reset" ? "network" : ended });
  }
  const error = Object.assign(new Error(`${status} ${body}`), {
    status,
    headers: new Headers(headers),
    error: parsed(body),
  });
  return callError(error, { ...about, missing: undefined });
}

/** What an answer at the Model seam is served to. */
interface SeamListener {
  readonly signal: AbortSignal;
  readonly clock: LaneClock;
  /** Whether a listener sees it stream. */
  readonly isWatched: boolean;
}

/**
 * Serves an answer at the Model seam; in one go if no listener sees it stream. An iterator by hand: a replay is mostly
 * this, and a generator would cost a promise more for each event.
 */
export class SeamAnswer implements AsyncIterable<ModelEvent>, AsyncIterator<ModelEvent> {
  declare [Symbol.iterator]?: () => Iterator<ModelEvent>;
  readonly #answer: TapeAnswer;
  readonly #to: SeamListener;
  #at = 0;
  #open = true;

  constructor(answer: TapeAnswer, to: SeamListener) {
    this.#answer = answer;
    this.#to = to;
    const { isWatched, signal, clock } = to;
    // A listener that sees a piece may end the run, and so may a deadline that passes with the answer: both must take effect.
    if (isWatched || signal.aborted || answer.error !== undefined || !clock.isQuietUntil(answer.end)) return;
    this[Symbol.iterator] = () => this.#atOnce();
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  *#atOnce(): Generator<ModelEvent> {
    try {
      yield* this.#answer.events;
    } finally {
      this.#end();
    }
  }

  next(): Promise<IteratorResult<ModelEvent>> {
    const { events } = this.#answer;
    if (this.#to.signal.aborted) {
      this.#end();
      return Promise.reject(abortedError(this.#to.signal));
    }
    return this.#at < events.length ? Promise.resolve({ value: events[this.#at++]!, done: false }) : this.#last();
  }

  return(): Promise<IteratorResult<ModelEvent>> {
    this.#end();
    return Promise.resolve(OVER);
  }

  async #last(): Promise<IteratorResult<ModelEvent>> {
    if (!this.#open) return OVER;
    const { error } = this.#answer;
    if (error === undefined) return this.return();
    // A deadline has set its alarm by then; if it rings as time moves on, it comes before the error.
    await turn();
    this.#to.clock.advance(this.#answer.end);
    await turn();
    this.#end();
    throw this.#to.signal.aborted ? abortedError(this.#to.signal) : error;
  }

  #end(): void {
    if (!this.#open) return;
    this.#open = false;
    this.#to.clock.advance(this.#answer.end);
    if (!this.#to.signal.aborted) this.#to.clock.nextStep();
  }
}

/** Lets everything go on that waits for nothing else. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

const OVER: IteratorResult<ModelEvent> = { value: undefined, done: true };
