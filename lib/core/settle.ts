import type { Clock } from "./clock.ts";

export function isThenable(value: unknown): value is Promise<unknown> {
  return typeof value === "object" && value !== null && typeof (value as Promise<unknown>).then === "function";
}

export const NEVER: AbortSignal = new AbortController().signal;

/** How waiting ended: with a value, with an error, or before either. */
export type Settled<T> = { readonly value: T } | { readonly error: unknown } | { readonly ended: "time" | "aborted" };

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
  await new Promise<void>((resolve) => {
    wake = resolve;
    if (signal.aborted) return aborted();
    signal.addEventListener("abort", aborted);
    if (!timer) return;
    clock.sleep(ms!, timer.signal).then(() => {
      end ??= { ended: "time" };
      resolve();
    });
  });
  signal.removeEventListener("abort", aborted);
  timer?.abort();
  return end!;
}
