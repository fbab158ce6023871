/** Where time and chance come from: replaced as a whole when a run is recorded or replayed. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Milliseconds since any fixed moment, for durations. */
  tick(): number;
  /** `who` asks: a recorded clock gives each of them values of its own, in whatever order they ask. */
  uuid(who?: string): string;
  random(who?: string): number;
  /** Resolves after `ms`, or at once when aborted; never rejects, keeps no process alive after an abort. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** As `sleep`, for a wait in which nothing happens: a clock that is not real may let it pass at once. */
  pass?(ms: number, signal?: AbortSignal): Promise<void>;
  /** The clock of background work: its time stays at this moment, however far the run goes on. @default the same clock */
  apart?(): Clock;
}

/** What a timer can hold, in milliseconds: a longer one would fire at once. */
export const LONGEST_TIMER = 2 ** 31 - 1;

/** The time of this machine. */
export const systemClock: Clock = {
  now: () => Date.now(),
  tick: () => performance.now(),
  uuid: () => crypto.randomUUID(),
  random: () => Math.random(),
  sleep: (ms, signal) =>
    new Promise((resolve) => {
      if (signal?.aborted) return resolve();
      const end = () => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", end);
        resolve();
      };
      const timer = setTimeout(end, Math.min(ms, LONGEST_TIMER));
      signal?.addEventListener("abort", end, { once: true });
    }),
};

export function isThenable(value: unknown): value is Promise<unknown> {
  return typeof value === "object" && value !== null && typeof (value as Promise<unknown>).then === "function";
}

export function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

export const NEVER: AbortSignal = new AbortController().signal;

/** How waiting ended: with a value, with an error, or before either. */
type Settled<T> = { readonly value: T } | { readonly error: unknown } | { readonly ended: "time" | "aborted" };

/**
 * Waits for work until it settles, its time is up, or the signal aborts. Most work settles within a few
 * microtasks and never costs a timer. Work that is given up on goes on unheard.
 */
export async function settle<T>(
  work: Promise<T>,
  limit: { clock: Clock; signal: AbortSignal; ms?: number | undefined },
): Promise<Settled<T>> {
  let end: Settled<T> | undefined;
  let wake: (() => void) | undefined;
  work.then((value) => {
    end ??= { value };
    wake?.();
  }, (error) => {
    end ??= { error };
    wake?.();
  });
  for (let i = 0; i < 3 && end === undefined; i++) await undefined;
  if (end !== undefined) return end;
  const { clock, signal, ms } = limit;
  const timer = ms === undefined || ms === Infinity ? undefined : new AbortController();
  const aborted = () => {
    end ??= { ended: "aborted" };
    wake?.();
  };
  await new Promise<void>((resolve, reject) => {
    wake = resolve;
    if (signal.aborted) return aborted();
    signal.addEventListener("abort", aborted);
    if (!timer) return;
    clock.sleep(ms!, timer.signal).then(() => {
      end ??= { ended: "time" };
      resolve();
    }, reject);
  });
  signal.removeEventListener("abort", aborted);
  timer?.abort();
  return end!;
}
