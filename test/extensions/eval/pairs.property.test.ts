import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import {
  LEVEL,
  looks,
  pairsInterval,
  powerOfPairs,
  pPairs,
  pPairsTogether,
} from "../../../lib/extensions/eval/exact-stats.ts";
import { rounds } from "../../_counts.ts";
import { testData } from "../../_data.ts";

const PAIRED: readonly { pairs: number; broke: number; fixed: number; one: number; together: number }[] = JSON.parse(
  readFileSync(testData("pay/paired.json"), "utf8"),
);

test("the p of pairs is the largest tail over the share that differs, and of all fixtures that of a fair coin", () => {
  for (const { pairs, broke, fixed, one, together } of PAIRED) {
    const at = `${broke} broke and ${fixed} fixed of ${pairs}`;
    assert.ok(Math.abs(pPairs(pairs, broke, fixed) - one) <= 1e-4, `${at}: ${pPairs(pairs, broke, fixed)}, not ${one}`);
    assert.ok(Math.abs(pPairsTogether(broke, fixed) - together) <= 1e-6, `${at}: ${pPairsTogether(broke, fixed)}`);
  }
});

const shares = (steps: number) => Array.from({ length: steps + 1 }, (_, i) => i / steps);

/** All laws of a pair in which today's rate is not below: how often it broke, and how often it was fixed. */
const laws = (steps: number) =>
  shares(steps).flatMap((share) => [share / 2, share / 3, share / 10].map((broke) => [broke, share - broke] as const));

/** How often some look calls today's runs worse, by all numbers of pairs that broke and were fixed. */
function alarms(pairs: number, [broke, fixed]: readonly [number, number], level: number): number {
  const planned = looks(pairs, (at, part) => pPairs(at, at, 0) <= level * part);
  let open = new Map([[0, 1]]);
  let found = 0;
  for (let round = 1; round <= pairs; round++) {
    const next = new Map<number, number>();
    for (const [key, chance] of open) {
      for (const [step, p] of [[1000, broke], [1, fixed], [0, 1 - broke - fixed]] as const) {
        if (p > 0) next.set(key + step, (next.get(key + step) ?? 0) + chance * p);
      }
    }
    const look = planned.find(({ rounds }) => rounds === round);
    for (const [key, chance] of look ? [...next] : []) {
      if (pPairs(round, Math.floor(key / 1000), key % 1000) > level * look!.part) continue;
      found += chance;
      next.delete(key);
    }
    open = next;
  }
  return found;
}

// Kills: a p of coins alone that counts pairs which do not differ, Boschloo's test of them, and looks that each spend the whole level.
test("of equal agents whose runs share beginnings in any way, at most 5 % are called worse, looks and all (enumerated)", () => {
  for (const pairs of [5, 10, 20]) {
    const sizes = laws(rounds(20, 100, 50)).map((law) => alarms(pairs, law, LEVEL));
    const most = Math.max(...sizes);
    assert.ok(most <= LEVEL, `${pairs} pairs: ${most}`);
    assert.ok(most > (pairs === 5 ? 0.02 : 0.025), `${pairs} pairs: ${most} finds too little`);
  }
});

// Kills: an interval that ends above 0 beside "worse", and one of another order than the test's.
test("the interval of pairs is below 0 exactly if they are called worse, and covers the true change (enumerated)", () => {
  const n = 6;
  const tables = shares(n).flatMap((_, x) => Array.from({ length: n - x + 1 }, (_, y) => [x, y] as const));
  const intervals = tables.map(([broke, fixed]) => pairsInterval(n, broke, fixed, LEVEL));
  for (const [i, [broke, fixed]] of tables.entries()) {
    const [low, high] = intervals[i]!;
    assert.equal(high <= 0, pPairs(n, broke, fixed) <= LEVEL, `${broke} broke, ${fixed} fixed: to ${high}`);
    assert.ok(-1 <= low && low <= (fixed - broke) / n && (fixed - broke) / n <= high && high <= 1, `${low} to ${high}`);
    const swapped = intervals[tables.findIndex(([x, y]) => x === fixed && y === broke)]!;
    assert.deepEqual([low, high].map((end) => end.toFixed(6)), swapped.map((end) => (0 - end).toFixed(6)).toReversed());
  }
  const factorial = (k: number): number => k <= 1 ? 1 : k * factorial(k - 1);
  for (const [broke, fixed] of laws(10).flatMap(([a, b]) => [[a, b], [b, a]] as const)) {
    const missed = tables.reduce((sum, [x, y], i) => {
      const [low, high] = intervals[i]!;
      if (low - 1e-3 <= fixed - broke && fixed - broke <= high + 1e-3) return sum;
      const ways = factorial(n) / factorial(x) / factorial(y) / factorial(n - x - y);
      return sum + ways * broke ** x * fixed ** y * Math.max(0, 1 - broke - fixed) ** (n - x - y);
    }, 0);
    assert.ok(missed <= 2 * LEVEL, `${broke} and ${fixed}: ${missed}`);
  }
});

test("the power that is promised for pairs is that of independent runs (enumerated)", () => {
  for (const n of [5, 10, 20]) {
    assert.ok(Math.abs(powerOfPairs(n, LEVEL, 0.9, 0.7) - alarmsOnce(n, 0.27, 0.07)) < 0.005);
  }
});

/** How often one look at the end calls today's runs worse. */
function alarmsOnce(n: number, broke: number, fixed: number): number {
  let open = new Map([["0 0", 1]]);
  for (let i = 0; i < n; i++) {
    const next = new Map<string, number>();
    for (const [key, chance] of open) {
      const [x, y] = key.split(" ").map(Number) as [number, number];
      for (const [at, p] of [[[x + 1, y], broke], [[x, y + 1], fixed], [[x, y], 1 - broke - fixed]] as const) {
        next.set(at.join(" "), (next.get(at.join(" ")) ?? 0) + chance * p);
      }
    }
    open = next;
  }
  return [...open].reduce((sum, [key, chance]) => {
    const [x, y] = key.split(" ").map(Number) as [number, number];
    return pPairs(n, x, y) <= LEVEL ? sum + chance : sum;
  }, 0);
}
