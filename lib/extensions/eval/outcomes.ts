import type { RunLine } from "./attempt.ts";
import type { Rate } from "./exact-stats.ts";
import { ENDS_AS_RECORDED } from "./grade.ts";
import { type EvalPlan, isContinued, isRunOf, type PlannedFixture, type Variant } from "./plan.ts";

/** Of so many pairs of runs: how many passed before and fail now, and how many failed and pass. */
export interface Pairs {
  readonly pairs: number;
  readonly broke: number;
  readonly fixed: number;
}

/** What is known of a fixture: how often runs pass, today and before, and as pairs if those of today continue these. */
export interface Outcomes {
  readonly rates: readonly Rate[];
  readonly pairs: Pairs;
  readonly isContinued: boolean;
}

/** The rates of each fixture, by variant, and its pairs. */
export function seenOf(plan: EvalPlan, lines: readonly RunLine[]): Outcomes[] {
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

export function roundIn(run: string): string {
  return run.slice(run.lastIndexOf("/") + 1);
}

export function sumOfPairs(all: readonly Pairs[]): Pairs {
  const sum = (key: keyof Pairs) => all.reduce((total, one) => total + one[key], 0);
  return { pairs: sum("pairs"), broke: sum("broke"), fixed: sum("fixed") };
}

/** Whether the runs in question are compared with others, and are not about hooks. */
export function isCompared({ variants, unchanged }: EvalPlan): boolean {
  return variants.length > 1 && !unchanged;
}

/** Whether anything says when a run of a fixture passes; a file of no invariants does not. */
export function isGraded({ graders }: PlannedFixture, lines: readonly RunLine[] = []): boolean {
  const byEnd = lines.some(({ grades = [] }) => grades.some(({ name }) => name === ENDS_AS_RECORDED));
  return !byEnd && Object.keys(graders).length > 0;
}

export function rateOf(lines: readonly RunLine[]): Rate {
  return { passed: lines.filter(({ pass }) => pass).length, runs: lines.length };
}

/** The runs of a fixture and variant that were not lost. */
export function linesOf(lines: readonly RunLine[], fixture: PlannedFixture, variant: Variant): RunLine[] {
  return lines.filter(({ run, pass }) => pass !== undefined && isRunOf(run, { fixture, variant }));
}
