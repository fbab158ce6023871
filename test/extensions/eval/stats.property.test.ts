import assert from "node:assert/strict";
import { test } from "node:test";
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
  looks,
  type Pair,
  passAll,
  pDrop,
  power,
  probability,
  pWorse,
  type Rate,
  SUITE_LEVEL,
} from "../../../lib/extensions/eval/exact-stats.ts";
import { rounds } from "../../_counts.ts";

const outcomes = (runs: number): Rate[] => Array.from({ length: runs + 1 }, (_, passed) => ({ passed, runs }));
const grid = (steps: number) => Array.from({ length: steps - 1 }, (_, i) => (i + 1) / steps);
const covers = ([low, high]: Interval, p: number) => low <= p && p <= high;
const near = (a: number, b: number, words?: string) => assert.ok(Math.abs(a - b) < 1e-9, words ?? `${a} is not ${b}`);

test("the interval of a rate always covers it with at least 95 %, at every rate and number of runs (enumerated)", () => {
  let least = 1;
  for (const runs of [1, 2, 3, 5, 8, 10, 20, 50]) {
    const intervals = outcomes(runs).map((one) => interval(one));
    for (const p of grid(rounds(66, 1000, 200))) {
      const coverage = outcomes(runs).reduce(
        (sum, o) => covers(intervals[o.passed]!, p) ? sum + probability(o, p) : sum,
        0,
      );
      least = Math.min(least, coverage);
    }
  }
  assert.ok(least >= 0.95, String(least));
  assert.deepEqual(
    [interval({ passed: 17, runs: 20 }), interval({ passed: 10, runs: 20 })].map((ends) =>
      ends.map((end) => Math.round(end * 100))
    ),
    [[62, 97], [27, 73]],
  );
  assert.deepEqual(interval({ passed: 0, runs: 0 }), [0, 1]);
});

test("E[pass^k] is always p^k (enumerated)", () => {
  for (const runs of [1, 2, 5, 10, 20]) {
    for (let k = 1; k <= runs; k++) {
      for (const p of grid(20)) {
        near(outcomes(runs).reduce((sum, o) => sum + probability(o, p) * passAll(o, k), 0), p ** k);
      }
    }
  }
  const biased = outcomes(10).reduce((sum, o) => sum + probability(o, 0.9) * (o.passed / o.runs) ** 10, 0);
  assert.ok(biased > 0.5, "the power of the rate, which others report, would say .51 for .35");
});

/** How often a comparison of two equal agents says that one is worse, by all outcomes of all fixtures. */
function falseAlarms(ps: readonly number[], runs: number, alarm: (pairs: Pair[]) => boolean): number {
  const walk = (pairs: Pair[], left: readonly number[], chance: number): number => {
    const [p, ...rest] = left;
    if (p === undefined) return alarm(pairs) ? chance : 0;
    let sum = 0;
    for (const now of outcomes(runs)) {
      for (const then of outcomes(runs)) {
        const both = chance * probability(now, p) * probability(then, p);
        if (both > 1e-12) sum += walk([...pairs, [now, then]], rest, both);
      }
    }
    return sum;
  };
  return walk([], ps, 1);
}

/** What a comparison at its end says. */
function alarm(pairs: readonly Pair[], part = 1): boolean {
  const ps = holm(pairs.map((pair) => pDrop(pair)));
  if (pairs.length === 1) return ps[0]! <= LEVEL * part;
  return pWorse(pairs) <= SUITE_LEVEL * part || Math.min(...ps) <= FIXTURE_LEVEL * part;
}

test("the test of one fixture never raises more than 5 % of false alarms, and finds more than Fisher's (enumerated)", () => {
  for (const [now, then] of [[3, 3], [5, 5], [8, 8], [10, 10], [10, 4], [4, 12], [16, 16]] as const) {
    const drops = outcomes(now).map((a) => outcomes(then).map((b) => pDrop([a, b]) <= LEVEL));
    const fisher = outcomes(now).map((a) => outcomes(then).map((b) => pWorse([[a, b]]) <= LEVEL));
    const chance = (found: boolean[][], p: number, q: number) =>
      found.reduce((sum, row, a) => {
        const of = probability({ passed: a, runs: now }, p);
        return row.reduce((all, is, b) => is ? all + of * probability({ passed: b, runs: then }, q) : all, sum);
      }, 0);
    for (const p of grid(rounds(66, 1000, 200))) {
      const size = chance(drops, p, p);
      assert.ok(size <= LEVEL, `${now} and ${then} runs at ${p}: ${size}`);
    }
    assert.ok(chance(drops, 0.4, 0.9) >= chance(fisher, 0.4, 0.9), `${now} and ${then}`);
  }
});

test("the power that is promised is the one that is there (enumerated)", () => {
  for (const runs of [5, 10, 16]) {
    const found = outcomes(runs).flatMap((a) => outcomes(runs).map((b): Pair => [a, b])).filter((pair) =>
      pDrop(pair) <= LEVEL
    )
      .reduce((sum, [a, b]) => sum + probability(a, 0.7) * probability(b, 0.9), 0);
    assert.ok(Math.abs(power([runs, runs], LEVEL, 0.9, 0.7) - found) < 0.01, `${runs}: ${found}`);
  }
});

test("the interval of a difference is below 0 exactly if it is called worse, and covers the true one (enumerated)", () => {
  const runs = 5;
  const tables = outcomes(runs).flatMap((a) => outcomes(runs).map((b): Pair => [a, b]));
  const intervals = tables.map((pair) => differenceInterval(pair, LEVEL));
  for (const [i, pair] of tables.entries()) {
    const [low, high] = intervals[i]!;
    assert.equal(high <= 0, pDrop(pair) <= LEVEL, JSON.stringify(pair));
    assert.ok(low <= high && low >= -1 && high <= 1);
  }
  const [low, high] = differenceInterval([{ passed: 10, runs: 10 }, { passed: 10, runs: 10 }], LEVEL);
  assert.ok(low > -0.45 && high < 0.45, `all passed: ${low} to ${high}`);
  for (const p of grid(10)) {
    for (const q of grid(10)) {
      const missed = tables.reduce((sum, [a, b], i) => {
        return covers(intervals[i]!, p - q) ? sum : sum + probability(a, p) * probability(b, q);
      }, 0);
      assert.ok(missed <= 2 * LEVEL, `${p} and ${q}: ${missed}`);
    }
  }
});

test("two equal agents are never said to differ in more than 5 % of evals (enumerated)", () => {
  let most = 0;
  for (const p of grid(10)) most = Math.max(most, falseAlarms([p], 10, alarm), falseAlarms([p, 0.9], 5, alarm));
  assert.ok(most <= 0.05 && most > 0.005, String(most));
});

test("looking three times never raises more than 5 % of false alarms (enumerated on the lattice of outcomes)", () => {
  const runs = 12;
  const planned = looks(runs, (at, part) => alarm([[{ passed: 0, runs: at }, { passed: at, runs: at }]], part));
  assert.deepEqual(planned.map(({ rounds }) => rounds), [8, 12], "after 4 of 12 nothing could be said");
  near(planned.reduce((sum, { part }) => sum + part, 0), 1);
  for (const p of [0.5, 0.7, 0.9, 0.95]) {
    // The chance of each pair of passes among the evals that no look has ended.
    let open = new Map([["0 0", 1]]);
    let alarms = 0;
    for (let round = 1; round <= runs; round++) {
      const next = new Map<string, number>();
      for (const [key, chance] of open) {
        const [a, b] = key.split(" ").map(Number) as [number, number];
        for (const [da, db] of [[0, 0], [0, 1], [1, 0], [1, 1]] as const) {
          const both = chance * (da ? p : 1 - p) * (db ? p : 1 - p);
          next.set(`${a + da} ${b + db}`, (next.get(`${a + da} ${b + db}`) ?? 0) + both);
        }
      }
      const look = planned.find(({ rounds }) => rounds === round);
      for (const [key, chance] of look ? [...next] : []) {
        const [a, b] = key.split(" ").map(Number) as [number, number];
        if (!alarm([[{ passed: a, runs: round }, { passed: b, runs: round }]], look!.part)) continue;
        alarms += chance;
        next.delete(key);
      }
      open = next;
    }
    assert.ok(alarms <= 0.05, `${p}: ${alarms}`);
  }
});

test("an any-time interval misses the rate in at most 5 % of evals looked at after every run; the fixed one does not (enumerated)", () => {
  const missed = (of: (rate: Rate) => Interval, p: number, looks: number): number => {
    let open = [1]; // by passes, evals that were right at every look
    let gone = 0;
    for (let runs = 1; runs <= looks; runs++) {
      const next = new Array<number>(runs + 1).fill(0);
      for (const [passed, chance] of open.entries()) {
        next[passed]! += chance * (1 - p);
        next[passed + 1]! += chance * p;
      }
      for (const [passed, chance] of next.entries()) {
        if (chance === 0 || covers(of({ passed, runs }), p)) continue;
        gone += chance;
        next[passed] = 0;
      }
      open = next;
    }
    return gone;
  };
  const rates = [0.5, 0.8, 0.9, 0.95];
  const most = Math.max(...rates.map((p) => missed(anyTimeInterval, p, 100)));
  assert.ok(most <= 0.05, String(most));
  const peeked = missed(interval, 0.5, 50);
  assert.ok(peeked > 0.08, `peeking makes the fixed interval wrong in ${peeked}`);
});

test("--at-least never fails an agent that is good enough in more than 2.5 % of evals (enumerated)", () => {
  for (const runs of [2, 5, 10, 20]) {
    for (const least of [0.5, 0.8, 0.9, 0.95]) {
      const fails = (rate: Rate) => atMost(rate, least) <= LEAST_LEVEL;
      for (const p of grid(100).filter((p) => p >= least)) {
        const failed = outcomes(runs).reduce((sum, o) => fails(o) ? sum + probability(o, p) : sum, 0);
        assert.ok(failed <= LEAST_LEVEL, `${runs} runs, ${p} at least ${least}: ${failed}`);
      }
      for (const o of outcomes(runs)) {
        assert.equal(
          fails(o),
          interval(o)[1] <= least + 1e-9,
          `${o.passed} of ${runs}: the whole interval lies below ${least}`,
        );
      }
    }
  }
});

test("the test of several fixtures is the one over their tables together; of one, Fisher's, by which Boschloo's has its order", () => {
  const fisher = (a: Rate, b: Rate) => pWorse([[a, b]]);
  near(fisher({ passed: 0, runs: 4 }, { passed: 4, runs: 4 }), 1 / 70);
  near(fisher({ passed: 10, runs: 20 }, { passed: 19, runs: 20 }), (167_960 + 184_756 * 20) / 2_311_801_440);
  near(
    pWorse([[{ passed: 0, runs: 2 }, { passed: 2, runs: 2 }], [{ passed: 0, runs: 2 }, { passed: 2, runs: 2 }]]),
    1 / 36,
  );
  near(pWorse([[{ passed: 3, runs: 3 }, { passed: 3, runs: 3 }]]), 1);
  assert.equal(pWorse([]), 1);
});

test("Holm's rule raises ps from the surest on, each by how many claims are left", () => {
  const near4 = (got: number[], expected: number[]) => got.forEach((p, i) => near(p, expected[i]!));
  near4(holm([0.5, 0.004, 0.009]), [0.5, 0.012, 0.018]);
  near4(holm([0.02, 0.011]), [0.022, 0.022]);
  assert.deepEqual([holm([]), holm([0.9, 0.8])], [[], [1, 1]]);
});
