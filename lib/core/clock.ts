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
      const timer = setTimeout(end, Math.min(ms, 2 ** 31 - 1));
      signal?.addEventListener("abort", end, { once: true });
    }),
};
