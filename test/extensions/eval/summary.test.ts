import assert from "node:assert/strict";
import { test } from "node:test";
import evaluate from "../../../lib/extensions/eval/command.ts";
import { looksOf, refuted, sightOf } from "../../../lib/extensions/eval/gate.ts";
import { summarise } from "../../../lib/extensions/eval/summary.ts";
import { type EvalPlan, type PlannedFixture, slotName, type Variant } from "../../../lib/extensions/eval/plan.ts";
import type { RunLine } from "../../../lib/extensions/eval/attempt.ts";
import { rounds } from "../../_counts.ts";
import { evaluated, tossed } from "./_tossed.ts";

test("of simulated A/A tests at most one in 20 calls the agent worse, looks and all", () => {
  const price = { calls: 1, tokens: 1, dollars: 0 };
  const plan = (names: readonly string[]): EvalPlan => ({
    eval: 1,
    id: "a",
    at: "",
    runs: 10,
    fixtures: names.map((name) => ({ name, folder: name, hash: "", graders: { "grade.sh": "" }, price })),
    variants: [{ name: "now", kind: "here" }, { name: ".", kind: "here" }],
  });
  let seed = 7;
  const random = () => (seed = seed * 48271 % 0x7fff_ffff) / 0x7fff_ffff;
  const evals = rounds(100, 4000, 400);
  for (const names of [["a"], ["a", "b", "c"]]) {
    const looks = looksOf(plan(names))!;
    let all = 0;
    for (const p of [0.5, 0.8, 0.95]) {
      let alarms = 0;
      for (let n = 0; n < evals; n++) {
        const lines: RunLine[] = [];
        let last = 0;
        for (const look of looks) {
          for (let round = last + 1; round <= look.rounds; round++) {
            for (const name of names) {
              for (const variant of ["now", "here"]) {
                lines.push({ run: `${name}/${variant}/${round}`, pass: random() < p, calls: 1, tokens: 1, ms: 1 });
              }
            }
          }
          last = look.rounds;
          if (!refuted(plan(names), lines, look.part)) continue;
          alarms++;
          break;
        }
      }
      assert.ok(alarms / evals <= 0.05, `${names.length} fixtures at ${p}: ${alarms} of ${evals}`);
      all += alarms;
    }
    assert.ok(all > 0, "a test that never says worse would prove nothing");
  }
});

/** A plan of fixtures that are compared, and lines of so many runs that passed: of the agent, and of the other. */
function played(counts: readonly (readonly [now: number, then: number])[], runs: number, atLeast?: number) {
  const price = { calls: 1, tokens: 1, dollars: 0 };
  const fixtures = counts.map((_, i) => ({
    name: `f${i}`,
    folder: `f${i}`,
    hash: "",
    graders: { "grade.sh": "" },
    price,
  }));
  const variants: Variant[] = [{ name: "now", kind: "here" }, { name: "main", kind: "ref" }];
  const plan: EvalPlan = { eval: 1, id: "a", at: "", runs, ...(atLeast && { atLeast }), fixtures, variants };
  const lines = fixtures.flatMap((fixture, i) =>
    variants.flatMap((variant, which) =>
      Array.from({ length: runs }, (_, n): RunLine => {
        const run = slotName({ fixture, variant, round: n + 1 });
        return { run, pass: n < counts[i]![which]!, calls: 1, tokens: 1, ms: 1 };
      })
    )
  );
  return { plan, lines };
}

test("no p and no interval ever contradicts the words beside it", () => {
  let seed = 3;
  const random = (most: number) => (seed = seed * 48271 % 0x7fff_ffff) % most;
  const seen = { worse: 0, not: 0, below: 0 };
  for (let n = 0; n < rounds(40, 1500, 150); n++) {
    const counts = Array.from({ length: 1 + random(3) }, () => [random(9), random(9)] as const);
    const { plan, lines } = played(counts, 8, random(2) === 0 ? 0.9 : undefined);
    const part = looksOf(plan)?.at(-1)?.part ?? 1;
    const { rows, suite, conclusion } = summarise(plan, lines, { ended: "done", part, measured: true });
    for (const { p, worse, below, difference, cells: [now] } of rows) {
      assert.equal(worse, p! <= 0.05);
      if (difference) assert.equal(difference.interval[1] <= 0, worse);
      if (plan.atLeast !== undefined) assert.equal(below, now!.interval![1] <= 0.9 + 1e-9);
      if (below) seen.below++;
    }
    const shown = [...conclusion.words.matchAll(/\(p (?:< )?([\d.]+)\)/g)].map(([, p]) => Number(p));
    assert.ok(shown.length > 0 || !/worse/.test(conclusion.words), conclusion.words);
    for (const p of shown) assert.equal(p <= 0.05, suite!.worse, conclusion.words);
    assert.ok(conclusion.words.includes(conclusion.badge), conclusion.badge);
    seen[suite!.worse ? "worse" : "not"]++;
  }
  assert.ok(seen.worse > 5 && seen.not > 5 && seen.below > 5, JSON.stringify(seen));
});

test("a claim names what it is about: the fixture that is worse, though all together are not", () => {
  const { plan, lines } = played([[0, 20], [20, 0], [20, 0]], 20);
  const { conclusion, suite } = summarise(plan, lines, { ended: "done", part: 1, measured: true });
  assert.equal(conclusion.words, "worse on f0 (p < 0.001), compared with main");
  assert.equal(suite!.p, 1);
});

test("--detect chooses the fewest runs that find such a drop in 80 of 100 evals", async () => {
  const plan = { ...played([[0, 0]], 10).plan, fresh: true };
  const { runs = 0, from, to, oftenBy } = sightOf(plan, 0.5)!;
  assert.deepEqual([from, to, oftenBy(runs) >= 0.8, oftenBy(runs - 1) >= 0.8], [0.9, 0.4, true, false]);
  using w = await tossed("P");
  const { code, err } = await w.call(evaluate, "--against", ".", "--detect", "0.8");
  assert.equal(code, 0, err);
  const [, made] = /(\d+) runs find a drop from 90 % to 10 % in (?:8|9)\d of 100 evals\n/.exec(err)!;
  assert.equal(Number(made), sightOf(plan, 0.8)!.runs);
});

test("real A/A tests, --against '.', do not call the agent worse than itself", async () => {
  for (const outcomes of ["PFPPFFPPPFPF", "FFPFPPFPFFFP", "PPPPPPFPPPPP"].slice(0, rounds(1, 3, 3))) {
    using w = await tossed(outcomes);
    const { code, out, err } = await evaluated(w, "--against", ".", "--runs", "6");
    assert.equal(code, 0, err + out);
    assert.match(out, /^\nnot shown to be worse than \. \(p \d\.\d{3}\)\n\nfixture +now /);
  }
});

test("of failed runs that ended in any order, the first by number is shown", () => {
  const fixture = { name: "toss", graders: {} } as unknown as PlannedFixture;
  const variant = { name: "now" } as Variant;
  const plan: EvalPlan = { eval: 1, id: "e", at: "", runs: 11, fixtures: [fixture], variants: [variant] };
  const lines = [10, 2, 1].map((round) => ({
    run: slotName({ fixture, variant, round }),
    ...{ pass: false, calls: 1, tokens: 1, ms: 1 },
  }));
  const { rows: [row] } = summarise(plan, lines, { ended: "done", part: 1, measured: true });
  assert.deepEqual(row!.cells[0]!.failures.map(({ run }) => run), ["toss/now/1", "toss/now/2", "toss/now/10"]);
});

/** What an eval about hooks comes to, in which so many pairs of each fixture broke and were fixed. */
function claimOf(counts: readonly (readonly [broke: number, fixed: number])[], runs: number) {
  const { plan, lines } = played(counts.map(() => [0, 0]), runs);
  const variants: Variant[] = ["with", "without"].map((name) => ({
    ...{ name, kind: "here", hooks: { names: ["x"], has: name === "with" } },
  }));
  const arms = lines.map((line, at): RunLine => {
    const [fixture, arm, n] = line.run.split("/") as [string, string, string];
    const [broke, fixed] = counts[Number(fixture.slice(1))]!;
    const differs = Number(n) <= broke ? -1 : Number(n) <= broke + fixed ? 1 : 0;
    const isNow = arm === "now";
    const lost = at === 0 ? { lost: "529" } : {};
    const { pass: _, ...rest } = { ...line, run: `${fixture}/${isNow ? "with" : "without"}/${n}` };
    return { ...rest, ...(at === 0 ? lost : { pass: differs === 0 || (differs > 0) === isNow }) };
  });
  const of = { ...plan, variants, unchanged: { quiet: "never speaks" } };
  return summarise(of, arms, { ended: "done", part: 1, measured: true });
}

// Kills: pairs of a round that lost one of its runs, and several fixtures that are tested as if each differed as often.
test("what a hook changes is one claim about its pairs: of several fixtures only what all together show", () => {
  const of = (counts: readonly (readonly [number, number])[], runs: number) => {
    const { conclusion, hooks } = claimOf(counts, runs);
    return { ...conclusion, ...hooks! };
  };
  const helps = of([[0, 9], [0, 9]], 10);
  assert.deepEqual(
    [helps.is, helps.badge, helps.pairs, helps.rate],
    ["good", "helps", 19, 17 / 19],
    "one pair is lost",
  );
  assert.match(helps.words, /^helps: \+89 points where it speaks \(\d+ to \d+\), \+60 over all 3 fixtures$/);
  assert.deepEqual([of([[9, 0], [9, 0]], 10).is, of([[9, 0], [9, 0]], 10).badge], ["bad", "hurts"]);
  const one = of([[0, 6]], 11);
  const two = of([[0, 5], [0, 1]], 6);
  assert.deepEqual([one.badge, two.badge], ["helps", "no difference shown"]);
  assert.ok(two.interval[0] <= 0 && two.rate > 0, "five pairs that differ are no proof, however few fixtures differ");
});
