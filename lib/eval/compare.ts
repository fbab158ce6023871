import { costOf, type RunLine } from "./attempt.ts";
import { concluded, type Conclusion } from "./conclusion.ts";
import {
  anyTimeInterval,
  atMost,
  differenceInterval,
  FIXTURE_LEVEL,
  holm,
  type Interval,
  interval,
  LEAST_LEVEL,
  LEVEL,
  type Look,
  looks,
  MISS,
  type Pair,
  passAll,
  pDrop,
  power,
  powerBelow,
  pWorse,
  pWorseBeyond,
  type Rate,
  SUITE_LEVEL,
} from "./exact-stats.ts";
import { addPrice, FREE } from "./grade.ts";
import { type HookDelta, hookDelta, leastChange } from "./hook-delta.ts";
import type { Fork } from "./hook-fork.ts";
import { type EvalPlan, isRunOf, type PlannedFixture, roundOf, slotName, type Variant } from "./plan.ts";
import type { Price } from "../replay/drift/drift-report.ts";

/** What came of the runs of one fixture and variant. */
export interface Cell extends Rate {
  readonly interval: Interval;
  /** How long its runs took. */
  readonly seconds: number;
  readonly passAll: number;
  readonly passAllInterval: Interval;
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
  /** How much the rate differs, if this is the only fixture: all of the interval is below 0 if and only if it is worse. */
  readonly difference?: { readonly rate: number; readonly interval: Interval; readonly level: number };
  /** Where its runs leave the recorded one, and what was served before. */
  readonly fork?: Fork;
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
  /** The same for fixtures of this kind, if there are enough of them. */
  readonly beyond?: { readonly p: number; readonly worse: boolean };
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
  /** What everything took; judges alone took `judged` of it. */
  readonly spent: { readonly tokens: number; readonly dollars?: number };
  readonly judged?: Price;
}

const MOST_IN_A_ROW = 5;

type Cells = readonly (readonly Rate[])[];

/** The rates of each fixture, by variant. */
function ratesOf(plan: EvalPlan, lines: readonly RunLine[]): Cells {
  return plan.fixtures.map((fixture) => plan.variants.map((variant) => rateOf(linesOf(lines, fixture, variant))));
}

function rateOf(lines: readonly RunLine[]): Rate {
  return { passed: lines.filter(({ pass }) => pass).length, runs: lines.length };
}

/** The runs of a fixture and variant that were not lost. */
function linesOf(lines: readonly RunLine[], fixture: PlannedFixture, variant: Variant): RunLine[] {
  return lines.filter(({ run, pass }) => pass !== undefined && isRunOf(run, { fixture, variant }));
}

interface Gate {
  readonly suite?: { readonly p: number; readonly worse: boolean };
  readonly fixtures: readonly Pick<Row, "p" | "worse" | "below">[];
}

/** What rates say at a look that spends a part of each level. A p of at most `LEVEL` is worse, whatever was spent on it. */
function gateOf({ atLeast, unchanged }: EvalPlan, cells: Cells, part: number): Gate {
  const pairs = unchanged ? [] : cells.flatMap(([now, then]): Pair[] => now && then ? [[now, then]] : []);
  const spent = (p: number, level: number) => Math.min(1, p * LEVEL / (level * part));
  const isOne = pairs.length === 1;
  const ps = holm(pairs.map((pair) => pDrop(pair))).map((p) => spent(p, isOne ? LEVEL : FIXTURE_LEVEL));
  const suite = isOne ? ps[0]! : spent(pWorse(pairs), SUITE_LEVEL);
  const below = (now: Rate) => atMost(now, atLeast!) <= LEAST_LEVEL * part / cells.length;
  return {
    ...(pairs.length > 0 && { suite: { p: suite, worse: Math.min(suite, ...ps) <= LEVEL } }),
    fixtures: cells.map(([now], i) => ({
      ...(ps[i] !== undefined && { p: ps[i], worse: ps[i]! <= LEVEL }),
      ...(atLeast !== undefined && { below: below(now!) }),
    })),
  };
}

function isRefuted({ suite, fixtures }: Gate): boolean {
  return suite?.worse === true || fixtures.some(({ below }) => below);
}

/** Whether the rates refute at a look that the agent is as good as it must be. */
export function refuted(plan: EvalPlan, lines: readonly RunLine[], part: number): boolean {
  return isRefuted(gateOf(plan, ratesOf(plan, lines), part));
}

/** Whether something can fail an eval before its end: only then it has looks. */
export function isGated({ variants, atLeast }: EvalPlan): boolean {
  return variants.length > 1 || atLeast !== undefined;
}

/** The looks of an eval; without something to compare with there is only the last. Undefined if no outcome could tell anything. */
export function looksOf(plan: EvalPlan, kept: readonly RunLine[] = []): Look[] | undefined {
  const isPaired = plan.unchanged !== undefined;
  const pairs = isPaired ? plan.runs * plan.fixtures.length : 0;
  if (pairs > 0 && leastChange(pairs) === undefined) return undefined;
  if (!isGated(plan) || isPaired) return [{ rounds: plan.runs, part: 1 }];
  const couldTell = (runs: number, part: number) => {
    const worst = plan.fixtures.map((fixture) =>
      plan.variants.map((variant, i): Rate => {
        const all = variant.kind === "kept" ? linesOf(kept, fixture, variant).length : runs;
        return { passed: i === 0 ? 0 : all, runs: all };
      })
    );
    return isRefuted(gateOf(plan, worst, part));
  };
  const found = looks(plan.runs, couldTell);
  return couldTell(plan.runs, found.at(-1)!.part) ? found : undefined;
}

/** All an eval came to, from its plan and the lines of its runs and of a kept eval's. */
export function summarise(
  plan: EvalPlan,
  lines: readonly RunLine[],
  { ended, part, measured }: Pick<Summary, "ended" | "part" | "measured">,
  judged: Price = FREE,
): Summary {
  const rates = ratesOf(plan, lines);
  const k = Math.min(MOST_IN_A_ROW, ...rates.flat().map(({ runs }) => Math.max(1, runs)));
  const own = lines.filter(({ run }) => roundOf(plan, 1).some((slot) => isRunOf(run, slot)));
  const isFixed = ended === "done" && plan.first === undefined;
  const gate = gateOf(plan, rates, part);
  const miss = plan.atLeast === undefined ? MISS : 2 * LEAST_LEVEL * part / plan.fixtures.length;
  const between = (rate: Rate) => plan.atLeast === undefined && !isFixed ? anyTimeInterval(rate) : interval(rate, miss);
  const rows = plan.fixtures.map((fixture, i): Row => {
    const [now, then] = rates[i]!;
    const isCompared = plan.fixtures.length === 1 && !plan.unchanged && now!.runs > 0 && then !== undefined &&
      then.runs > 0;
    return {
      fixture: fixture.name,
      cells: plan.variants.map((variant) => cellOf(linesOf(lines, fixture, variant), k, between)),
      ...gate.fixtures[i],
      ...(isCompared && { difference: differenceOf([now!, then], part) }),
      ...(fixture.fork && { fork: fixture.fork }),
    };
  });
  const pairs = rates.flatMap(([now, then]): Pair[] => gate.suite && now?.runs && then?.runs ? [[now, then]] : []);
  const chance = pWorseBeyond(pairs);
  const beyond = chance === undefined ? undefined : Math.min(1, chance / part);
  const { tokens, dollars } = [...own.map(costOf), judged].reduce(addPrice, FREE);
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
    ...(plan.unchanged && measured && { hooks: { ...hookDelta(pairedRuns(plan, lines)), unchanged: plan.unchanged } }),
    ...(beyond !== undefined && { beyond: { p: beyond, worse: gate.suite!.worse && beyond <= LEVEL } }),
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
    spent: { tokens, ...(dollars !== undefined && { dollars }) },
    ...(judged.calls > 0 && { judged }),
  };
  return { ...summary, conclusion: concluded(summary, plan.atLeast) };
}

/** Of each round in which both runs of a fixture were graded, whether they passed: what is lost of one is left out of the other. */
function pairedRuns(plan: EvalPlan, lines: readonly RunLine[]): [boolean, boolean][] {
  const passed = new Map(lines.flatMap(({ run, pass }) => pass === undefined ? [] : [[run, pass]]));
  return plan.fixtures.flatMap((fixture) =>
    Array.from({ length: plan.runs }, (_, i) => i + 1).flatMap((round): [boolean, boolean][] => {
      const [now, then] = plan.variants.map((variant) => passed.get(slotName({ fixture, variant, round })));
      return now === undefined || then === undefined ? [] : [[now, then]];
    })
  );
}

function differenceOf(pair: Pair, part: number): NonNullable<Row["difference"]> {
  const [now, then] = pair;
  const rate = now.passed / now.runs - then.passed / then.runs;
  return { rate, interval: differenceInterval(pair, LEVEL * part), level: 1 - 2 * LEVEL * part };
}

function cellOf(lines: readonly RunLine[], k: number, between: (rate: Rate) => Interval): Cell {
  const rate = rateOf(lines);
  const [low, high] = between(rate);
  const { calls, tokens, dollars } = lines.reduce((sum, line): Price => addPrice(sum, costOf(line)), FREE);
  const each = (sum: number) => lines.length === 0 ? 0 : sum / lines.length;
  return {
    ...rate,
    interval: [low, high],
    seconds: lines.reduce((sum, { ms }) => sum + ms, 0) / 1000,
    passAll: rate.runs < k ? 0 : passAll(rate, k),
    passAllInterval: [low ** k, high ** k],
    mean: { calls: each(calls), tokens: each(tokens), ...(dollars !== undefined && { dollars: each(dollars) }) },
    // By number: runs side by side end in any order.
    failures: lines.filter(({ pass }) => pass === false).map(({ run, grades = [] }) => {
      const { name = "", seen = "" } = grades.find(({ pass }) => !pass) ?? {};
      return { run, name, seen };
    }).sort((a, b) => a.run.localeCompare(b.run, "en", { numeric: true })),
  };
}

/** Which invariants with `when` or `sometimes` the runs of the first variant put to the test: own ones in each fixture, shared ones in any. */
function reaches(plan: EvalPlan, lines: readonly RunLine[]): Pick<Summary, "unreached" | "reached"> {
  if (plan.unchanged) return { unreached: [], reached: [] }; // these runs are about hooks
  const counts = new Map<string, { reached: number; of: number }>();
  for (const fixture of plan.fixtures) {
    for (
      const { name, reached, shared } of linesOf(lines, fixture, plan.variants[0]!).flatMap(({ grades = [] }) => grades)
    ) {
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
