import type { RunLine } from "./attempt.ts";
import { isGated, linesOf, looksOf } from "./compare.ts";
import type { EvalPlan } from "./plan.ts";
import { FIXTURE_LEVEL, LEAST_LEVEL, LEVEL, power, powerBelow } from "./exact-stats.ts";

/** Of which rate a drop is looked for if nothing better is known. */
const USUAL = 0.9;
/** How often a drop is to be found by as many runs as `--detect` chooses. */
const OFTEN = 0.8;
/** With more runs than this a drop is not worth looking for. */
const MOST_RUNS = 5000;

/** A drop that an eval may find. */
export interface Sight {
  readonly from: number;
  readonly to: number;
  /** How often it does with so many runs. */
  readonly oftenBy: (runs: number) => number;
  /** How many runs find it in 80 of 100 evals; undefined if no number does. */
  readonly runs?: number;
}

/** How often an eval finds a drop of one fixture, and how many runs it takes to find it often; undefined if it compares nothing. */
export function sightOf(plan: EvalPlan, drop: number, kept: readonly RunLine[] = []): Sight | undefined {
  if (!isGated(plan) || plan.unchanged) return undefined;
  const { fixtures, variants, atLeast } = plan;
  const from = variants.length > 1 ? USUAL : atLeast!;
  const to = Math.max(0, from - drop);
  const other = variants.find(({ kind }) => kind === "kept");
  const then = other && Math.min(...fixtures.map((fixture) => linesOf(kept, fixture, other).length));
  const oftenBy = (runs: number): number => {
    const part = looksOf({ ...plan, runs }, kept)?.at(-1)?.part ?? 0;
    if (part === 0) return 0;
    if (variants.length < 2) return powerBelow(runs, LEAST_LEVEL * part / fixtures.length, from, to);
    const level = fixtures.length === 1 ? LEVEL : FIXTURE_LEVEL / fixtures.length;
    return power([runs, then ?? runs], level * part, from, to);
  };
  let [few, many] = [1, 8];
  while (oftenBy(many) < OFTEN && many < MOST_RUNS) [few, many] = [many, many * 2];
  const isFound = many < MOST_RUNS;
  while (isFound && many - few > 1) {
    const middle = Math.floor((few + many) / 2);
    if (oftenBy(middle) < OFTEN) few = middle;
    else many = middle;
  }
  return { from, to, oftenBy, ...(isFound && { runs: many }) };
}
