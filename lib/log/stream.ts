import { present } from "../core/json.ts";
import { type ModelError, type ModelEvent } from "../core/model.ts";
import { thrownWords } from "../core/shown.ts";
import type { Attempt, TapeEvent } from "./tape.ts";
import type { CallError } from "./entry.ts";

export interface StreamEnd {
  readonly attempt: Attempt;
  readonly error?: CallError;
}

/**
 * Passes on what a model streams, and keeps it. An iterator by hand: a generator would cost a promise more for each event.
 * `ended` is called once, before the reader goes on.
 */
export class KeptStream implements AsyncIterable<ModelEvent>, AsyncIterator<ModelEvent> {
  readonly #from: AsyncIterator<ModelEvent>;
  readonly #signal: AbortSignal;
  readonly #events: TapeEvent[] = [];
  readonly #began = performance.now();
  /** What has come of it so far. */
  attempt: Attempt = { events: this.#events, took: 0 };
  #last = 0;
  #ended: ((end: StreamEnd) => void) | undefined;

  constructor(from: AsyncIterable<ModelEvent>, signal: AbortSignal, ended: (end: StreamEnd) => void) {
    this.#from = from[Symbol.asyncIterator]();
    this.#signal = signal;
    this.#ended = ended;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<ModelEvent>> {
    return this.#from.next().then((step) => {
      if (step.done) this.#end();
      else this.#keep(step.value);
      return step;
    }, (error) => {
      this.#end(error ?? new Error("Nothing was thrown"));
      throw error;
    });
  }

  return(): Promise<IteratorResult<ModelEvent>> {
    this.#end();
    return Promise.resolve(this.#from.return?.() ?? { done: true, value: undefined });
  }

  #keep(event: ModelEvent): void {
    const now = Math.round(performance.now() - this.#began);
    this.#events.push({ ms: now - this.#last, event });
    this.#last = now;
  }

  #end(error?: unknown): void {
    const ended = this.#ended;
    this.#ended = undefined;
    if (!ended) return;
    const took = Math.round(performance.now() - this.#began);
    const how = this.#signal.aborted ? "aborted" : "cut";
    const failed = error === undefined ? {} : { ended: how, why: thrownWords(error) } as const;
    this.attempt = { events: this.#events, ...failed, took };
    ended({ attempt: this.attempt, ...(error !== undefined && { error: errorOf(error) }) });
  }
}

export function errorOf(error: unknown): CallError {
  const { code, message, retryable, retryAfter } = error as Partial<ModelError>;
  if (typeof code !== "string") return { code: "error", message: thrownWords(error) };
  return { code, message: message!, ...(retryable && { retryable }), ...present({ retryAfter }) };
}
