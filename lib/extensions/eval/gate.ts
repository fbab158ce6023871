import type { RunLine } from "./attempt.ts";
import * as stats from "./exact-stats.ts";
import type { Look, Pair, Rate } from "./exact-stats.ts";
import { isCompared, linesOf, type Outcomes, roundIn, seenOf, sumOfPairs } from "./outcomes.ts";
import { type EvalPlan, isContinued } from "./plan.ts";

/** What is claimed of one fixture. */
export interface Claim {
  /** The probability of such a drop by chance, raised for looks and for other claims: at most 0.05 is worse. */
  readonly p?: number;
  readonly worse?: boolean;
  readonly below?: boolean;
}

export interface Gate {
  readonly suite?: { readonly p: number; readonly worse: boolean };
  readonly fixtures: readonly Claim[];
}

/** What rates say at a look that spends a part of each level. A p of at most `LEVEL` is worse, whatever was spent on it. */
export function gateOf(plan: EvalPlan, all: readonly Outcomes[], part: number): Gate {
  const { atLeast } = plan;
  const compared = isCompared(plan) ? all : [];
  const spent = (p: number, level: number) => Math.min(1, p * stats.LEVEL / (level * part));
  const isOne = compared.length === 1;
  const pOf = ({ rates, pairs: { pairs, broke, fixed }, isContinued }: Outcomes) =>
    isContinued ? stats.pPairs(pairs, broke, fixed) : stats.pDrop(rates as unknown as Pair);
  const ps = stats.holm(compared.map(pOf)).map((p) => spent(p, isOne ? stats.LEVEL : stats.FIXTURE_LEVEL));
  const { broke, fixed } = sumOfPairs(compared.map(({ pairs }) => pairs));
  const together = () =>
    compared.some(({ isContinued }) => isContinued)
      ? stats.pPairsTogether(broke, fixed)
      : stats.pWorse(compared.map(({ rates }) => rates as unknown as Pair));
  const suite = isOne ? ps[0]! : spent(together(), stats.SUITE_LEVEL);
  const below = (now: Rate) => stats.atMost(now, atLeast!) <= stats.LEAST_LEVEL * part / all.length;
  return {
    ...(compared.length > 0 && { suite: { p: suite, worse: Math.min(suite, ...ps) <= stats.LEVEL } }),
    fixtures: all.map(({ rates: [now] }, i) => ({
      ...(ps[i] !== undefined && { p: ps[i], worse: ps[i]! <= stats.LEVEL }),
      ...(atLeast !== undefined && { below: below(now!) }),
    })),
  };
}

function isRefuted({ suite, fixtures }: Gate): boolean {
  return suite?.worse === true || fixtures.some(({ below }) => below);
}

/** Whether the rates refute at a look that the agent is as good as it must be. */
export function refuted(plan: EvalPlan, lines: readonly RunLine[], part: number): boolean {
  return isRefuted(gateOf(plan, seenOf(plan, lines), part));
}

/** Whether something can fail an eval before its end: only then it has looks. */
export function isGated({ variants, atLeast }: EvalPlan): boolean {
  return variants.length > 1 || atLeast !== undefined;
}

/** The looks of an eval; without something to compare with there is only the last. Undefined if no outcome could tell anything. */
export function looksOf(plan: EvalPlan, kept: readonly RunLine[] = []): Look[] | undefined {
  const pairs = plan.unchanged === undefined ? 0 : plan.runs * plan.fixtures.length;
  if (pairs > 0 && leastChange(pairs, plan.fixtures.length) === undefined) return undefined;
  if (!isGated(plan) || plan.unchanged) return [{ rounds: plan.runs, part: 1 }];
  const couldTell = (runs: number, part: number) => {
    const worst = plan.fixtures.map((fixture): Outcomes => {
      const [, then] = plan.variants;
      const before = then?.kind === "kept" ? linesOf(kept, fixture, then) : undefined;
      const broke = before?.filter(({ run }) => Number(roundIn(run)) <= runs).length ?? runs;
      const all = before?.length ?? runs;
      const rates = [{ passed: 0, runs }, ...(then ? [{ passed: all, runs: all }] : [])];
      return { rates, pairs: { pairs: broke, broke, fixed: 0 }, isContinued: isContinued(plan, fixture) };
    });
    return isRefuted(gateOf(plan, worst, part));
  };
  const found = stats.looks(plan.runs, couldTell);
  return couldTell(plan.runs, found.at(-1)!.part) ? found : undefined;
}

/** The least change that so many pairs can show; undefined if no outcome of them shows one. */
export function leastChange(pairs: number, fixtures: number): number | undefined {
  const shows = (fixed: number) =>
    (fixtures === 1 ? stats.pPairs(pairs, fixed, 0) : stats.pPairsTogether(fixed, 0)) <= stats.HOOK_LEVEL;
  for (let fixed = 1; fixed <= pairs; fixed++) if (shows(fixed)) return fixed / pairs;
  return undefined;
}

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
    if (variants.length < 2) return stats.powerBelow(runs, stats.LEAST_LEVEL * part / fixtures.length, from, to);
    const level = fixtures.length === 1 ? stats.LEVEL : stats.FIXTURE_LEVEL / fixtures.length;
    const isPaired = fixtures.some((fixture) => isContinued(plan, fixture));
    return isPaired
      ? stats.powerOfPairs(Math.min(runs, then ?? runs), level * part, from, to)
      : stats.power([runs, then ?? runs], level * part, from, to);
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
