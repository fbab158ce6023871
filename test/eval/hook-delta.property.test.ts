import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { evalText } from "../../lib/cli/_eval-table.ts";
import type { RunLine } from "../../lib/eval/attempt.ts";
import { summarise } from "../../lib/eval/compare.ts";
import { interval } from "../../lib/eval/exact-stats.ts";
import { hookDelta, leastChange } from "../../lib/eval/hook-delta.ts";
import type { EvalPlan } from "../../lib/eval/plan.ts";
import { PLAIN } from "../../lib/replay/drift/drift-report.ts";
import { tries } from "../_counts.ts";

/** The probability of each number of passes of `runs` that pass with probability `p` each. */
function binomial(runs: number, p: number): number[] {
  if (p > 0.5) return binomial(runs, 1 - p).reverse();
  const all = [(1 - p) ** runs];
  for (let k = 1; k <= runs; k++) all.push(all[k - 1]! * (runs - k + 1) / k * p / (1 - p));
  return all;
}

/**
 * Whatever is expected of a count of independent runs is largest, given its mean, where each run passes always, never, or with
 * one probability that all others share (Hoeffding 1956, theorem 3): so these mixtures are all that need be looked at, each at
 * the rates where another outcome begins to miss.
 */
function worstMiss(runs: number): number {
  const intervals = Array.from({ length: runs + 1 }, (_, passed) => interval({ passed, runs }));
  // Above a half it is the same with passed and failed swapped.
  const edges = intervals.flat().filter((edge) => edge <= 0.5).flatMap((edge) => [edge - 1e-9, edge + 1e-9]);
  let worst = 0;
  for (let random = 1; random <= runs; random++) {
    for (let sure = 0; sure + random <= runs; sure++) {
      for (const mean of edges) {
        const p = (mean * runs - sure) / random;
        if (p <= 0 || p >= 1) continue;
        const miss = binomial(random, p).reduce((sum, chance, k) => {
          const [low, high] = intervals[sure + k]!;
          return mean < low || mean > high ? sum + chance : sum;
        }, 0);
        worst = Math.max(worst, miss);
      }
    }
  }
  return worst;
}

// Kills: `interval()` at 90 %, or without halving the 5 % between its ends.
test("the change of a rate is missed in at most 5 % of evals, whatever the rates of the fixtures are", () => {
  const sizes = Array.from({ length: 30 }, (_, i) => 2 * i + 2);
  const worst = Math.max(...sizes.map((runs) => worstMiss(runs)));
  assert.ok(worst <= 0.05, `${worst}`);
  assert.ok(worst > 0.045, `an interval that misses in at most ${worst} is too wide`);
});

const pairs = fc.array(fc.tuple(fc.boolean(), fc.boolean()), { minLength: 1, maxLength: 60 });

test("to swap the arms negates the change and its interval", () => {
  fc.assert(
    fc.property(pairs, (all) => {
      const [a, b] = [hookDelta(all), hookDelta(all.map(([now, then]) => [then, now]))];
      for (const [x, y] of [[a.rate, -b.rate], [a.interval[0], -b.interval[1]], [a.interval[1], -b.interval[0]]]) {
        assert.ok(Math.abs(x! - y!) < 1e-9, `${x} ${y}`);
      }
      assert.ok(a.interval[0] <= a.rate && a.rate <= a.interval[1]);
    }),
    { numRuns: tries(100, 1000) },
  );
});

test("the least change that pairs can show; two show none, whatever comes of them", () => {
  const points = [1, 2, 3, 10, 20, 30, 40, 100, 200].map((n) => leastChange(n));
  assert.deepEqual(points.map((one) => one && Math.round(one * 100)), [
    undefined,
    undefined,
    ...[100, 50, 35, 30, 25, 15, 10],
  ]);
});

/** The lines of runs of which so many passed. */
function linesOf(fixture: string, arm: string, passed: number, { calls, dollars }: { calls: number; dollars: number }) {
  return Array.from({ length: 10 }, (_, i): RunLine => ({
    run: `${fixture}/${arm}/${i + 1}`,
    pass: i < passed,
    ...{ calls, dollars, tokens: 0, ms: 0 },
  }));
}

test("what hooks change is one table and one claim, given what was recorded before", () => {
  const fork = (from: string) => ({ from, served: { calls: 3, tokens: 0, dollars: 0.5 } });
  const price = { calls: 1, tokens: 0, dollars: 0.5 };
  const fixture = (name: string, from: string) => ({
    ...{ name, folder: name, hash: "", graders: {}, price },
    fork: fork(from),
  });
  const plan: EvalPlan = {
    ...{ eval: 1, id: "x", at: "", runs: 10 },
    fixtures: [fixture("push", "main#4"), fixture("release", "main#2"), fixture("notes", "main#7")],
    variants: [{ name: "with", kind: "here" }, { name: "without", kind: "here" }],
    unchanged: { typo: "never speaks" },
  };
  const same = { calls: 2, dollars: 0.5 };
  const shown = (rates: readonly (readonly [number, number])[]) => {
    const lines = plan.fixtures.flatMap(({ name }, i) => {
      const [now, then] = rates[i]!;
      const more = [{ calls: 3.2, dollars: 0.62 }, { calls: 2.4, dollars: 0.53 }, { calls: 2, dollars: 0.48 }][i]!;
      return [...linesOf(name, "with", now, more), ...linesOf(name, "without", then, same)];
    });
    const summary = summarise(plan, lines, { ended: "done", part: 1, measured: true });
    return { text: evalText(summary, undefined, "", PLAIN), is: summary.conclusion.is };
  };
  const { text, is } = shown([[9, 5], [8, 2], [9, 9]]);
  assert.equal(
    text,
    `fixture  from    with  without  cost  calls
push     main#4  9/10  5/10     +12%  +1.2
release  main#2  8/10  2/10     +3%   +0.4
notes    main#7  9/10  9/10     -2%   0
typo     never speaks

helps: +33 points where it speaks (7 to 57), +25 over all 4 fixtures, given what was recorded before
60 runs, $31.30
`,
  );
  assert.equal(is, "good");
  const none = shown([[9, 9], [7, 5], [5, 5]]);
  assert.match(none.text, /\n\nno difference shown: \+7 points \(-20 to 33\)\n/);
  assert.equal(none.is, "good");
  const hurts = shown([[5, 9], [2, 8], [9, 9]]);
  assert.match(hurts.text, /\n\n✗ hurts: -33 points where it speaks \(-57 to -7\), -25 over all 4 fixtures, given /);
  assert.equal(hurts.is, "bad");
});

test("a pair that lost one of its runs is left out, whichever it was", () => {
  const plan: EvalPlan = {
    ...{ eval: 1, id: "x", at: "", runs: 4 },
    fixtures: [{ name: "a", folder: "a", hash: "", graders: {}, price: { calls: 0, tokens: 0, dollars: 0 } }],
    variants: [{ name: "with", kind: "here" }, { name: "without", kind: "here" }],
    unchanged: {},
  };
  const line = (run: string, pass?: boolean): RunLine => ({
    ...{ run, calls: 0, tokens: 0, dollars: 0, ms: 0 },
    ...(pass === undefined ? { lost: "529" } : { pass }),
  });
  const lines = [1, 2, 3, 4].flatMap((n) => [
    line(`a/with/${n}`, n === 2 ? undefined : true),
    line(`a/without/${n}`, n === 3 ? undefined : false),
  ]);
  const { hooks } = summarise(plan, lines, { ended: "done", part: 1, measured: true });
  assert.deepEqual([hooks!.pairs, hooks!.rate], [2, 1]);
});
