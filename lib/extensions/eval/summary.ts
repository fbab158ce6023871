import { costOf, type RunLine } from "./attempt.ts";
import { concluded, type Conclusion } from "./conclusion.ts";
import * as stats from "./exact-stats.ts";
import type { Interval, Pair, Rate } from "./exact-stats.ts";
import { type Claim, type Gate, gateOf } from "./gate.ts";
import { addPrice, FREE } from "./grade.ts";
import { isCompared, isGraded, linesOf, type Outcomes, type Pairs, rateOf, seenOf, sumOfPairs } from "./outcomes.ts";
import { type EvalPlan, isRunOf, mayFit, roundOf } from "./plan.ts";
import type { Price } from "../../replay/drift/drift-report.ts";

/** What came of the runs of one fixture and variant. */
export interface Cell extends Rate {
  /** Absent if the code may have been changed by looking at these runs: it fits them. */
  readonly interval?: Interval;
  /** How long its runs took. */
  readonly seconds: number;
  readonly passAll: number;
  /** Of one run; dollars are absent if a price is unknown. */
  readonly mean: { readonly calls: number; readonly tokens: number; readonly dollars?: number };
  /** Its failed runs, each with what the first grader that failed it saw. */
  readonly failures: readonly { readonly run: string; readonly name: string; readonly seen: string }[];
}

export interface Row extends Claim {
  readonly fixture: string;
  /** One for each variant. */
  readonly cells: readonly Cell[];
  /** Of runs that continue others: how many now fail that passed, and how many now pass that failed. */
  readonly pairs?: Pairs;
  /** How much the rate differs, if this is the only fixture: all of the interval is below 0 if and only if it is worse. */
  readonly difference?: { readonly rate: number; readonly interval: Interval; readonly level: number };
  /** If nothing grades it: how many of its runs ended as the recorded one did, which is not that they passed. */
  readonly asRecorded?: Rate;
}

/** What hooks change where they speak. */
interface HookDelta {
  readonly pairs: number;
  /** How much more often a run passes with them, and between what that lies, each end missed in at most 2.5 % of evals. */
  readonly rate: number;
  readonly interval: Interval;
}

/** Why an eval ended. */
export type Ended = "done" | "refuted" | "budget" | "lost" | "aborted";

/** What an eval came to: `summary.json`. */
export interface Summary extends Pick<Gate, "suite"> {
  readonly id: string;
  /** What it comes to, in one sentence, and some words of it. */
  readonly conclusion: Conclusion;
  readonly variants: readonly string[];
  /** How often each interval of a rate holds. By these `--at-least` decides. */
  readonly level: number;
  /** How many runs in a row `passAll` is about. */
  readonly k: number;
  readonly rows: readonly Row[];
  /** What hooks change where they speak, and the fixtures in which they change nothing; only of an eval about hooks. */
  readonly hooks?: HookDelta & { readonly unchanged: NonNullable<EvalPlan["unchanged"]> };
  readonly ended: Ended;
  /** The part of each level that the last look spent. */
  readonly part: number;
  /** Whether a first look was reached: otherwise nothing was measured. */
  readonly measured: boolean;
  /** Invariants that no run put to the test, and those that only some did. */
  readonly unreached: readonly string[];
  readonly reached: readonly string[];
  /** Runs that counted, attempts that were lost, and runs that were given up. */
  readonly runs: number;
  readonly lostAttempts: number;
  readonly lost: number;
  /** Why the last attempt was lost. */
  readonly lostAs?: string;
  /** Runs that are kept but not graded, and why the last is not. */
  readonly ungraded: number;
  readonly ungradedAs?: string;
  /** What runs took that was paid, and what was kept of those that they continue. */
  readonly paid: Price;
  readonly kept: Price;
  /** Whether today's code may fit the runs of the earlier eval: then its rates would be wrong. */
  readonly mayFit?: boolean;
  /** In how many runs models were asked that might have been answered by the run that it continues, by why. */
  readonly anew?: { readonly [why: string]: number };
  /** What everything took that was paid; judges alone took `judged` of it. */
  readonly spent: { readonly tokens: number; readonly dollars?: number };
  readonly judged?: Price;
}

const MOST_IN_A_ROW = 5;

/** All an eval came to, from its plan and the lines of its runs and of a kept eval's. */
export function summarise(
  plan: EvalPlan,
  lines: readonly RunLine[],
  { ended, part, measured }: Pick<Summary, "ended" | "part" | "measured">,
  judged: Price = FREE,
): Summary {
  const all = seenOf(plan, lines);
  const k = Math.min(MOST_IN_A_ROW, ...all.flatMap(({ rates }) => rates).map(({ runs }) => Math.max(1, runs)));
  const own = lines.filter(({ run }) => roundOf(plan, 1).some((slot) => isRunOf(run, slot)));
  const isFixed = ended === "done" && plan.first === undefined;
  const gate = gateOf(plan, all, part);
  const miss = plan.atLeast === undefined ? stats.MISS : 2 * stats.LEAST_LEVEL * part / plan.fixtures.length;
  const between = (rate: Rate) =>
    plan.atLeast === undefined && !isFixed ? stats.anyTimeInterval(rate) : stats.interval(rate, miss);
  const rows = plan.fixtures.map((fixture, i): Row => {
    const { rates, pairs, isContinued } = all[i]!;
    const isClaimed = !plan.variants.some((one) => mayFit(plan, fixture, one));
    const isOnly = plan.fixtures.length === 1 && isCompared(plan) && isClaimed && pairs.pairs > 0;
    const runs = plan.variants.map((variant) => linesOf(lines, fixture, variant));
    return {
      fixture: fixture.name,
      cells: runs.map((own, j) => {
        const fits = mayFit(plan, fixture, plan.variants[j]);
        return cellOf(own, rates[j]!, k, fits ? undefined : between(rates[j]!));
      }),
      ...gate.fixtures[i],
      ...(isContinued && { pairs }),
      ...(isOnly && { difference: differenceOf(all[i]!, part) }),
      ...(!isGraded(fixture, runs[0]) && { asRecorded: rateOf(runs[0]!) }),
    };
  });
  const paid = own.map(costOf).reduce(addPrice, FREE);
  const { tokens, dollars } = addPrice(paid, judged);
  const whys = own.filter(({ lost }) => lost === undefined).flatMap(({ anew = [] }) => anew);
  const lostLines = own.filter(({ lost }) => lost !== undefined);
  const ungraded = own.flatMap(({ ungraded }) => ungraded ?? []);
  const counted = own.length - lostLines.length - ungraded.length;
  const summary = {
    id: plan.id,
    variants: plan.variants.map(({ name }) => name),
    level: 1 - miss,
    k,
    rows,
    ...(gate.suite && { suite: gate.suite }),
    ...(plan.unchanged && measured && {
      hooks: { ...hookDelta(all.map(({ pairs }) => pairs)), unchanged: plan.unchanged },
    }),
    ...{ ended, part, measured },
    ...reaches(plan, lines),
    runs: counted,
    lostAttempts: lostLines.length,
    lost: new Set(
      lostLines.map(({ run }) => run).filter((run) => !own.some((one) => one.run === run && one.pass !== undefined)),
    ).size,
    ...(lostLines.length > 0 && { lostAs: lostLines.at(-1)!.lost! }),
    ungraded: ungraded.length,
    ...(ungraded.length > 0 && { ungradedAs: ungraded.at(-1)! }),
    paid,
    kept: own.map(({ kept = FREE }) => kept).reduce(addPrice, FREE),
    ...(plan.fixtures.some((fixture) => mayFit(plan, fixture)) && { mayFit: true }),
    ...(whys.length > 0 && {
      anew: Object.fromEntries([...Map.groupBy(whys, String)].map(([why, all]) => [why, all.length])),
    }),
    spent: { tokens, ...(dollars !== undefined && { dollars }) },
    ...(judged.calls > 0 && { judged }),
  };
  return { ...summary, conclusion: concluded(summary, plan.atLeast) };
}

/**
 * How much more often runs pass with hooks than without. The interval is that of one fixture; of several, which may each
 * differ as often as they like, it leaves 0 out only if the test of all together says so.
 */
function hookDelta(all: readonly Pairs[]): HookDelta {
  const { pairs, broke, fixed } = sumOfPairs(all);
  if (pairs === 0) return { pairs, rate: 0, interval: [-1, 1] };
  const [low, high] = stats.pairsInterval(pairs, broke, fixed, stats.HOOK_LEVEL);
  const shows = (more: number, less: number) =>
    all.length === 1 || stats.pPairsTogether(more, less) <= stats.HOOK_LEVEL;
  const interval = [
    shows(fixed, broke) ? low : Math.min(0, low),
    shows(broke, fixed) ? high : Math.max(0, high),
  ] as const;
  return { pairs, rate: (fixed - broke) / pairs, interval };
}

function differenceOf({ rates, pairs, isContinued }: Outcomes, part: number): NonNullable<Row["difference"]> {
  const [now, then] = rates as unknown as Pair;
  const [level, { pairs: all, broke, fixed }] = [stats.LEVEL * part, pairs];
  return {
    rate: isContinued ? (fixed - broke) / all : now.passed / now.runs - then.passed / then.runs,
    interval: isContinued
      ? stats.pairsInterval(all, broke, fixed, level)
      : stats.differenceInterval([now, then], level),
    level: 1 - 2 * level,
  };
}

function cellOf(lines: readonly RunLine[], rate: Rate, k: number, interval: Interval | undefined): Cell {
  const { calls, tokens, dollars } = lines.reduce<Price>(addPrice, FREE);
  const each = (sum: number) => lines.length === 0 ? 0 : sum / lines.length;
  return {
    ...rate,
    ...(interval && { interval }),
    seconds: lines.reduce((sum, { ms }) => sum + ms, 0) / 1000,
    passAll: rate.runs < k ? 0 : stats.passAll(rate, k),
    mean: { calls: each(calls), tokens: each(tokens), ...(dollars !== undefined && { dollars: each(dollars) }) },
    // By number: runs side by side end in any order.
    failures: lines.filter(({ pass }) => pass === false).map(({ run, log = run, grades = [] }) => {
      const { name = "", seen = "" } = grades.find(({ pass }) => !pass) ?? {};
      return { run: log, name, seen };
    }).sort((a, b) => a.run.localeCompare(b.run, "en", { numeric: true })),
  };
}

/** Which invariants with `when` or `sometimes` the runs of the first variant put to the test: own ones in each fixture, shared ones in any. */
function reaches(plan: EvalPlan, lines: readonly RunLine[]): Pick<Summary, "unreached" | "reached"> {
  if (plan.unchanged) return { unreached: [], reached: [] }; // these runs are about hooks
  const counts = new Map<string, { reached: number; of: number }>();
  for (const fixture of plan.fixtures) {
    const all = linesOf(lines, fixture, plan.variants[0]!).flatMap(({ grades = [] }) => grades);
    for (const { name, reached, shared } of all) {
      if (shared && !plan.whole) continue;
      const key = shared ? `"${name}"` : `${fixture.name}: "${name}"`;
      const count = counts.get(key) ?? { reached: 0, of: 0 };
      counts.set(key, { reached: count.reached + (reached === false ? 0 : 1), of: count.of + 1 });
    }
  }
  const partly = [...counts].filter(([, { reached, of }]) => reached < of);
  return {
    unreached: partly.filter(([, { reached }]) => reached === 0).map(([key]) => key),
    reached: partly.filter(([, { reached }]) => reached > 0).map(([key, { reached, of }]) =>
      `${key} was put to the test in ${reached} of ${of} runs`
    ),
  };
}
