interface Call<T> {
  readonly answer: Promise<T>;
  readonly stop: AbortController;
  waiting: number;
}

/** Calls in flight by key: whoever asks the same meanwhile waits for the same answer. */
export class SharedCalls<T> {
  readonly #calls = new Map<string, Call<T>>();

  /** The call is ended when nobody waits for it any more; one who leaves takes nothing from the others. */
  async join(key: string, signal: AbortSignal, start: (signal: AbortSignal) => Promise<T>): Promise<T> {
    signal.throwIfAborted();
    const call = this.#calls.get(key) ?? this.#start(key, start);
    call.waiting++;
    try {
      return await settledOrAborted(call.answer, signal);
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

function settledOrAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const leave = () => reject(signal.reason);
    signal.addEventListener("abort", leave, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", leave));
  });
}
