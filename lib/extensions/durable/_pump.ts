import type { RestatePromise } from "@restatedev/restate-sdk/fetch";

type Race = (promises: readonly RestatePromise<Settled>[]) => RestatePromise<Settled>;

/** How one of the promises that are raced ended. */
interface Settled {
  readonly n: number;
  readonly end: { readonly value: unknown } | { readonly error: Error };
}

/** More microtasks than an agent takes from one step to the next; one that takes more is only waited for a little later. */
const QUIET = 100;

/** The same once it has asked for a step: others that run together with it ask at once. */
const TOGETHER = 3;

interface Waiting {
  readonly promise: RestatePromise<unknown>;
  /** As it is raced: made once. */
  settled?: RestatePromise<Settled>;
  readonly resolve: (value: never) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Lets an agent wait for many of the engine's promises at once, though the engine allows only one wait: all of them are
 * raced, in one journaled wait, and the branch that waited for it runs, alone, until it waits again. So the order
 * in which branches run is in the journal, and is the same when the run is run again.
 *
 * Between two steps an agent must do nothing but compute.
 */
export class Pump {
  readonly #race: Race;
  readonly #isCancelled: (error: unknown) => boolean;
  readonly #waiting = new Map<number, Waiting>();
  #next = 0;
  #over: { readonly error: unknown } | undefined;
  #wake: (() => void) | undefined;

  constructor(race: Race, isCancelled: (error: unknown) => boolean) {
    this.#race = race;
    this.#isCancelled = isCancelled;
  }

  /** A promise of the engine's as any other. */
  wait<T>(promise: RestatePromise<T>): Promise<T> {
    if (this.#over) return Promise.reject(this.#over.error);
    const n = this.#next++;
    return new Promise<T>((resolve, reject) => {
      this.#waiting.set(n, { promise, resolve: resolve as Waiting["resolve"], reject });
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

  /** The first that ends. Most of the time there is only one, which costs less to wait for than a race. */
  async #first(): Promise<Settled> {
    if (this.#waiting.size > 1) {
      return await this.#race(
        [...this.#waiting].map(([n, waiting]) =>
          waiting.settled ??= waiting.promise.map((value, error): Settled => ({
            n,
            end: error ? { error } : { value },
          }))
        ),
      );
    }
    const [[n, { promise }]] = this.#waiting as unknown as [[number, Waiting]];
    try {
      return { n, end: { value: await promise } };
    } catch (error) {
      if (this.#isCancelled(error)) throw error;
      return { n, end: { error: error as Error } };
    }
  }

  /** Lets the running branch compute until it waits for something, or ends. */
  async #quiet(isOver: () => boolean): Promise<void> {
    let asked = this.#next;
    let patience = QUIET;
    for (let still = 0; still < patience && !isOver(); still++) {
      await undefined;
      if (this.#next !== asked) [asked, still, patience] = [this.#next, 0, TOGETHER];
    }
  }

  /** Runs an agent to its end. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    let end: { value: T } | { error: unknown } | undefined;
    const wake = () => this.#wake?.();
    work().then((value) => end = { value }, (error) => end = { error }).then(wake, wake);
    for (;;) {
      await this.#quiet(() => end !== undefined);
      if (end) break;
      if (this.#waiting.size === 0) {
        await new Promise<void>((resolve) => this.#wake = resolve);
        this.#wake = undefined;
        continue;
      }
      const { n, end: one } = await this.#first();
      const waiting = this.#waiting.get(n);
      this.#waiting.delete(n);
      if ("error" in one) waiting?.reject(one.error);
      else waiting?.resolve(one.value as never);
    }
    if ("error" in end) throw end.error;
    return end.value;
  }
}
