import { type Interval, interval } from "./exact-stats.ts";

/** What hooks change: in how many pairs of runs, by how much, and between what. */
export interface HookDelta {
  readonly pairs: number;
  /** How much more often a run passes with them. */
  readonly rate: number;
  readonly interval: Interval;
}

/**
 * How much more often runs pass with hooks than without. Of 2N runs count those that passed with them and those that failed
 * without: the mean of that is N(1 + Δ), whatever the rates of each fixture are, and its tails are largest if all are equal
 * (Hoeffding 1956), for which the interval is exact.
 */
export function hookDelta(pairs: readonly (readonly [passedWith: boolean, passedWithout: boolean])[]): HookDelta {
  const all = pairs.length;
  const passed = pairs.reduce((sum, [now, then]) => sum + Number(now) + Number(!then), 0);
  const [low, high] = interval({ passed, runs: 2 * all });
  return { pairs: all, rate: all === 0 ? 0 : passed / all - 1, interval: [2 * low - 1, 2 * high - 1] };
}

/** The least change that so many pairs can show; undefined if no outcome of them shows one. */
export function leastChange(pairs: number): number | undefined {
  for (let passed = pairs; passed <= 2 * pairs; passed++) {
    if (interval({ passed, runs: 2 * pairs })[0] > 0.5) return passed / pairs - 1;
  }
  return undefined;
}
