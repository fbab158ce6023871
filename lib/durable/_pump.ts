import { setImmediate } from "node:timers";
import type { RestatePromise } from "@restatedev/restate-sdk/fetch";

type Race = (promises: readonly RestatePromise<Settled>[]) => RestatePromise<Settled>;

/** How one of the promises that are raced ended. */
interface Settled {
  readonly n: number;
  readonly end: { readonly value: unknown } | { readonly error: Error };
}

interface Waiting {
  readonly settled: RestatePromise<Settled>;
  readonly resolve: (value: never) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Lets an agent wait for many of the engine's promises at once, though the engine allows only one wait: all of them are
 * raced, in one journaled wait, and who waited for the one that ended goes on, alone, until it waits again. So the order
 * in which branches go on is in the journal, and is the same when the run is run again.
 *
 * Between two steps an agent must do nothing but compute: then it waits again before a turn of the event loop is over.
 */
export class Pump {
  readonly #race: Race;
  readonly #waiting = new Map<number, Waiting>();
  #next = 0;
  #over: { readonly error: unknown } | undefined;
  #wake: (() => void) | undefined;

  constructor(race: Race) {
    this.#race = race;
  }

  /** A promise of the engine's as any other. */
  wait<T>(promise: RestatePromise<T>): Promise<T> {
    if (this.#over) return Promise.reject(this.#over.error);
    const n = this.#next++;
    const settled = promise.map((value, error): Settled => ({ n, end: error ? { error } : { value } }));
    return new Promise<T>((resolve, reject) => {
      this.#waiting.set(n, { settled, resolve: resolve as Waiting["resolve"], reject });
      this.#wake?.();
    });
  }

  /** Ends every wait with an error: the engine has given this attempt up. */
  end(error: unknown): void {
    this.#over ??= { error };
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
    this.#wake?.();
  }

  /** Runs an agent to its end. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    let end: { value: T } | { error: unknown } | undefined;
    work().then((value) => end = { value }, (error) => end = { error }).then(() => this.#wake?.());
    for (;;) {
      await new Promise<void>((resolve) => setImmediate(resolve));
      if (end) break;
      if (this.#waiting.size === 0) {
        await new Promise<void>((resolve) => this.#wake = resolve);
        this.#wake = undefined;
        continue;
      }
      const { n, end: one } = await this.#race([...this.#waiting.values()].map(({ settled }) => settled));
      const waiting = this.#waiting.get(n);
      this.#waiting.delete(n);
      if ("error" in one) waiting?.reject(one.error);
      else waiting?.resolve(one.value as never);
    }
    if ("error" in end) throw end.error;
    return end.value;
  }
}
