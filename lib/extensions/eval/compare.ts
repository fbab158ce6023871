import { costOf, type RunLine } from "./attempt.ts";
import { concluded, type Conclusion } from "./conclusion.ts";
import * as stats from "./exact-stats.ts";
import type { Interval, Look, Pair, Rate } from "./exact-stats.ts";
import { addPrice, ENDS_AS_RECORDED, FREE } from "./grade.ts";
import { type EvalPlan, isContinued, isRunOf, mayFit, type PlannedFixture, roundOf, type Variant } from "./plan.ts";
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

export interface Row {
  readonly fixture: string;
  /** One for each variant. */
  readonly cells: readonly Cell[];
  /** The probability of such a drop by chance, raised for looks and for other claims: at most 0.05 is worse. */
  readonly p?: number;
  readonly worse?: boolean;
  readonly below?: boolean;
  /** Of runs that continue others: how many now fail that passed, and how many now pass that failed. */
  readonly pairs?: Pairs;
  /** How much the rate differs, if this is the only fixture: all of the interval is below 0 if and only if it is worse. */
  readonly difference?: { readonly rate: number; readonly interval: Interval; readonly level: number };
  /** If nothing grades it: how many of its runs ended as the recorded one did, which is not that they passed. */
  readonly asRecorded?: Rate;
}

/** Of so many pairs of runs: how many passed before and fail now, and how many failed and pass. */
interface Pairs {
  readonly pairs: number;
  readonly broke: number;
  readonly fixed: number;
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
export interface Summary {
  readonly id: string;
  /** What it comes to, in one sentence, and some words of it. */
  readonly conclusion: Conclusion;
  readonly variants: readonly string[];
  /** How often each interval of a rate holds. By these `--at-least` decides. */
  readonly level: number;
  /** How many runs in a row `passAll` is about. */
  readonly k: number;
  readonly rows: readonly Row[];
  readonly suite?: { readonly p: number; readonly worse: boolean };
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

/** What is known of a fixture: how often runs pass, today and before, and as pairs if those of today continue these. */
interface Outcomes {
  readonly rates: readonly Rate[];
  readonly pairs: Pairs;
  readonly isContinued: boolean;
}

/** The rates of each fixture, by variant, and its pairs. */
function seenOf(plan: EvalPlan, lines: readonly RunLine[]): Outcomes[] {
  return plan.fixtures.map((fixture) => {
    const graded = plan.variants.map((variant) => {
      const own = linesOf(lines, fixture, variant);
      return isGraded(fixture, own) ? own : [];
    });
    return { rates: graded.map(rateOf), pairs: pairsOf(graded), isContinued: isContinued(plan, fixture) };
  });
}

/** The runs of the same round that neither side has lost. */
function pairsOf([now = [], then = []]: readonly (readonly RunLine[])[]): Pairs {
  const before = new Map(then.map(({ run, pass }) => [roundIn(run), pass]));
  const both = now.filter(({ run }) => before.has(roundIn(run)));
  const differ = both.filter(({ run, pass }) => before.get(roundIn(run)) !== pass);
  const fixed = differ.filter(({ pass }) => pass).length;
  return { pairs: both.length, broke: differ.length - fixed, fixed };
}

function roundIn(run: string): string {
  return run.slice(run.lastIndexOf("/") + 1);
}

function sumOfPairs(all: readonly Pairs[]): Pairs {
  const sum = (key: keyof Pairs) => all.reduce((total, one) => total + one[key], 0);
  return { pairs: sum("pairs"), broke: sum("broke"), fixed: sum("fixed") };
}

/** Whether the runs in question are compared with others, and are not about hooks. */
function isCompared({ variants, unchanged }: EvalPlan): boolean {
  return variants.length > 1 && !unchanged;
}

/** Whether anything says when a run of a fixture passes; a file of no invariants does not. */
export function isGraded({ graders }: PlannedFixture, lines: readonly RunLine[] = []): boolean {
  const byEnd = lines.some(({ grades = [] }) => grades.some(({ name }) => name === ENDS_AS_RECORDED));
  return !byEnd && Object.keys(graders).length > 0;
}

function rateOf(lines: readonly RunLine[]): Rate {
  return { passed: lines.filter(({ pass }) => pass).length, runs: lines.length };
}

/** The runs of a fixture and variant that were not lost. */
function linesOf(lines: readonly RunLine[], fixture: PlannedFixture, variant: Variant): RunLine[] {
  return lines.filter(({ run, pass }) => pass !== undefined && isRunOf(run, { fixture, variant }));
}

interface Gate extends Pick<Summary, "suite"> {
  readonly fixtures: readonly Pick<Row, "p" | "worse" | "below">[];
}

/** What rates say at a look that spends a part of each level. A p of at most `LEVEL` is worse, whatever was spent on it. */
function gateOf(plan: EvalPlan, all: readonly Outcomes[], part: number): Gate {
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

/** At what level a hook is said to help, and to hurt. */
const HOOK_LEVEL = stats.LEVEL / 2;

/**
 * How much more often runs pass with hooks than without. The interval is that of one fixture; of several, which may each
 * differ as often as they like, it leaves 0 out only if the test of all together says so.
 */
function hookDelta(all: readonly Pairs[]): HookDelta {
  const { pairs, broke, fixed } = sumOfPairs(all);
  if (pairs === 0) return { pairs, rate: 0, interval: [-1, 1] };
  const [low, high] = stats.pairsInterval(pairs, broke, fixed, HOOK_LEVEL);
  const shows = (more: number, less: number) => all.length === 1 || stats.pPairsTogether(more, less) <= HOOK_LEVEL;
  const interval = [
    shows(fixed, broke) ? low : Math.min(0, low),
    shows(broke, fixed) ? high : Math.max(0, high),
  ] as const;
  return { pairs, rate: (fixed - broke) / pairs, interval };
}

/** The least change that so many pairs can show; undefined if no outcome of them shows one. */
export function leastChange(pairs: number, fixtures: number): number | undefined {
  const shows = (fixed: number) =>
    (fixtures === 1 ? stats.pPairs(pairs, fixed, 0) : stats.pPairsTogether(fixed, 0)) <= HOOK_LEVEL;
  for (let fixed = 1; fixed <= pairs; fixed++) if (shows(fixed)) return fixed / pairs;
  return undefined;
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
