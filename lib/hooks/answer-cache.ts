import { settle, systemClock } from "../core/clock.ts";

interface Call<T> {
  readonly answer: Promise<T>;
  readonly stop: AbortController;
  waiting: number;
}

/** Calls in flight by key: equal calls wait for the same answer. */
export class SharedCalls<T> {
  readonly #calls = new Map<string, Call<T>>();

  /** The call is ended when no caller waits for it any more; a caller that leaves does not affect the others. */
  async join(key: string, signal: AbortSignal, start: (signal: AbortSignal) => Promise<T>): Promise<T> {
    signal.throwIfAborted();
    const call = this.#calls.get(key) ?? this.#start(key, start);
    call.waiting++;
    try {
      const end = await settle(call.answer, { clock: systemClock, signal });
      if ("value" in end) return end.value;
      throw "error" in end ? end.error : signal.reason;
    } finally {
      if (--call.waiting === 0) {
        if (this.#calls.get(key) === call) this.#calls.delete(key);
        call.stop.abort();
      }
    }
  }

  #start(key: string, start: (signal: AbortSignal) => Promise<T>): Call<T> {
    const stop = new AbortController();
    const call: Call<T> = { answer: start(stop.signal), stop, waiting: 0 };
    this.#calls.set(key, call);
    return call;
  }
}

/** For how long an answer is good, in seconds (S3.24). */
export const CACHE_SECONDS = 300;

/** So that a long session with many different calls does not fill memory: the oldest goes first. */
const MOST_ENTRIES = 1000;

/** Answers by key, each good for a while. Times are in milliseconds of the caller's clock. */
export class ResponseCache<T> {
  readonly #ttl: number;
  readonly #kept = new Map<string, { readonly value: T; readonly until: number }>();

  /** Zero seconds: nothing is kept. */
  constructor(seconds: number = CACHE_SECONDS) {
    this.#ttl = seconds * 1000;
  }

  get(key: string, now: number): T | undefined {
    const kept = this.#kept.get(key);
    return kept && now < kept.until ? kept.value : undefined;
  }

  put(key: string, value: T, now: number): void {
    if (this.#ttl <= 0) return;
    this.#kept.delete(key);
    this.#kept.set(key, { value, until: now + this.#ttl });
    if (this.#kept.size > MOST_ENTRIES) this.cleanup(now);
    // What was put first comes first.
    if (this.#kept.size > MOST_ENTRIES) this.#kept.delete(this.#kept.keys().next().value!);
  }

  /** Drops what is good no longer. */
  cleanup(now: number): void {
    for (const [key, { until }] of this.#kept) if (now >= until) this.#kept.delete(key);
  }

  get size(): number {
    return this.#kept.size;
  }
}
