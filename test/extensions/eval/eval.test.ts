import assert from "node:assert/strict";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { test } from "node:test";
import evaluate from "../../../lib/extensions/eval/command.ts";
import { evalPage } from "../../../lib/extensions/eval/page.ts";
import { revoke } from "../../../lib/hooks/hook-trust.ts";
import { evaluated, tossed } from "./_tossed.ts";

test("the table of an eval with known outcomes is the one computed by hand", async () => {
  using w = await tossed("PPFPPPPFPP", ["heads", "tails"]);
  const { code, out, err } = await evaluated(w, "--runs", "10");
  assert.equal(code, 0, err);
  assert.equal(err, "2 fixtures x 10 runs: about 300 tokens by their tapes\n");
  // Rounds are interleaved: heads has the odd letters, tails the even ones. C(8,5) / C(10,5) is 56/252.
  assert.equal(
    out,
    `
passed 16 of 20 runs

fixture  now   95%     pass^5  cost       calls
heads    8/10  44-97%  0.22    15 tokens  1.0
tails    8/10  44-97%  0.22    15 tokens  1.0

  heads  2 of 10: "it is good": it said bad
         crochet view .crochet/evals/last/heads/now/2
  tails  2 of 10: "it is good": it said bad
         crochet view .crochet/evals/last/tails/now/4
20 runs, 300 tokens
held: 3 claims
`,
  );
});

test(
  "what the API fails is lost: it moves no rate, is repeated, and too much of it is not measured",
  async () => {
    using plain = await tossed("PPFPPPPFPP");
    using lossy = await tossed("PLPFRPPPLRPFPP");
    const untimed = ({ rows }: any) => JSON.parse(JSON.stringify(rows), (key, value) => key === "seconds" ? 0 : value);
    const [a, b] = [
      JSON.parse((await evaluated(plain, "--json")).out),
      JSON.parse((await evaluated(lossy, "--json")).out),
    ];
    assert.deepEqual(untimed(b), untimed(a));
    assert.deepEqual([a.lostAttempts, b.lostAttempts, b.lost, b.runs], [0, 4, 0, 10]);
    using dead = await tossed("L");
    const { code, out } = await evaluated(dead);
    assert.equal(code, 3);
    assert.match(
      out,
      /^\n✗ not measured: more than 10 % of the runs were lost, the last as .*529.*\n\n[^]*toss +- +-.*\n\n0 runs, 4 lost and repeated, 2 given up/,
    );
    using own = await tossed("E");
    const failed = await evaluated(own, "--runs", "2");
    assert.match(
      failed.out,
      /toss +0\/2 .*\n\n {2}toss {2}2 of 2: "it ends well": .*HTTP 400/,
      "an error of the agent's own is a failure",
    );
  },
);

test("a budget is never overrun: a round begins only if it fits", async () => {
  for (
    const [tokens, runs, atOnce] of [[29, 1, "4"], [30, 2, "1"], [74, 4, "4"], [75, 5, "1"], [99, 5, "4"]] as const
  ) {
    using w = await tossed("P");
    const args = ["--runs", "5", "--budget", `${tokens / 1000}k`, "--at-once", atOnce];
    const { code, out } = await w.call(evaluate, ...args, "--json");
    const { spent, ...summary } = JSON.parse(out);
    assert.deepEqual([code, summary.runs, spent.tokens], [0, runs, runs * 15], `${tokens} tokens, ${atOnce} at once`);
    assert.equal(summary.ended, runs === 5 ? "done" : "budget");
  }
  using w = await tossed("P");
  const { code, out } = await w.call(evaluate, "--budget", "0.014k");
  assert.deepEqual([code, existsSync(`${w.cwd}/.crochet/evals/last/toss`)], [3, false]);
  assert.match(
    out,
    /^\n✗ not measured: the budget ended before the first look\n[^]*\n0 runs, 0 tokens of 14 tokens, the budget ended it/,
  );
});

const REFUSED: readonly [args: readonly string[], words: RegExp][] = [
  [["nothing"], /Cannot evaluate 'nothing' as there is no such fixture/],
  [["--runs", "0"], /Cannot use --runs 0 as it is not a whole number from 1 to 999999/],
  [["--at-once", "x"], /Cannot use --at-once x as it is not a whole number from 1 to/],
  [["--at-least", "90"], /Cannot use --at-least 90 as it is not between 0 and 1: --at-least 0.9/],
  [["--budget", "much"], /Cannot use --budget much as it is neither dollars nor tokens: --budget 5, --budget 500k/],
  [["--budget", "5"], /Cannot keep a budget in dollars as the price of toss is unknown: --budget 500k/],
  [["--detect", "2"], /Cannot use --detect 2 as it is not between 0 and 1: --detect 0.2/],
  [["--detect", "0.2"], /Cannot detect a drop of 0.2 as nothing is compared: add --against or --at-least/],
  [["--detect", "0.2", "--runs", "4"], /Cannot use --runs with --detect as it chooses the runs: leave one of them out/],
  [["--against", "now"], /Cannot compare with 'now' as the agent here has that name: give the commit/],
  [["--against", "gone.ts"], /Cannot compare with 'gone.ts' as there is no such script/],
  [["--against", "nowhere"], /Cannot compare with 'nowhere' as it is neither a git ref, nor a script, nor a kept eval/],
  [
    ["--against", "agent.ts", "--runs", "2"],
    /Cannot tell anything from 2 runs of 1 fixture, whatever comes of them: raise --runs/,
  ],
  [["--at-least", "0.9", "--runs", "1"], /Cannot tell anything from 1 run of 1 fixture/],
  [["--resume"], /Cannot find an eval 'last': 'crochet eval' makes one/],
  [["--regrade", "--runs", "5"], /Cannot use --runs with --regrade as no agent runs: leave one of them out/],
];

for (const [args, words] of REFUSED) {
  test(`an eval is refused before anything runs: ${args.join(" ")}`, async () => {
    using w = await tossed("P");
    const { code, err } = await evaluated(w, ...args);
    assert.equal(code, 2, err);
    assert.match(err, words);
    assert.ok(!existsSync(`${w.cwd}/.crochet/evals/last`));
  });
}

test("an eval needs trust as a replay does, and a budget in CI, where it may record", async () => {
  using w = await tossed("P");
  revoke(w.cwd, w.env);
  const refused = await evaluated(w, "--runs", "1");
  assert.match(
    refused.err,
    /Cannot evaluate as fixtures\/toss, fixtures\/invariants\.ts are not trusted/,
  );
  assert.equal((await evaluated(w, "--runs", "1", "--trust")).code, 0);
  w.env.CI = "true";
  const poor = await evaluated(w, "--runs", "1", "--trust");
  assert.equal(poor.code, 2);
  assert.match(poor.err, /Cannot run an eval in CI without a budget: add --budget <dollars>, or tokens as 500k/);
  assert.equal((await evaluated(w, "--runs", "1", "--trust", "--budget", "1k")).code, 0);
});

for (const invariants of [undefined, "export default [];\n"]) {
  test(`what ${invariants ? "a file of no invariants" : "nothing"} grades has not passed, and is not measured`, async () => {
    using w = await tossed("PFE");
    rmSync(`${w.cwd}/fixtures/invariants.ts`);
    if (invariants) w.put({ "fixtures/invariants.ts": invariants });
    const claim = await evaluated(w, "--runs", "5", "--at-least", "0.9", "--trust");
    assert.equal(claim.code, 2);
    assert.match(claim.err, /Cannot judge toss as nothing grades it: add a grader, such as fixtures\/toss\/grade\.sh/);
    assert.ok(!existsSync(`${w.cwd}/.crochet/evals/last`), "nothing is paid");
    const { code, out, err } = await evaluated(w, "--runs", "3", "--trust");
    assert.equal(code, 3);
    assert.match(err, /\nnothing grades toss: add a grader/);
    const summary = JSON.parse(readFileSync(`${w.cwd}/.crochet/evals/last/summary.json`, "utf8"));
    assert.doesNotMatch(evalPage(summary, [[[]]]), /intervals of rates/, "none is shown");
    assert.match(out, /^\nnot graded: 2 of 3 runs ended as recorded\n[^]*\ntoss +- +- +10 tokens +0\.7\n/);
    assert.match(out, /1 of 3: "it ends well": [^]*\nnot measured: 2 claims\n$/);
  });
}

test("fixtures that nothing grades are named beside the rate of the others, and are not measured", async () => {
  using w = await tossed("P", ["heads", "tails"]);
  w.put({ "fixtures/heads/invariants.ts": readFileSync(`${w.cwd}/fixtures/invariants.ts`, "utf8") });
  rmSync(`${w.cwd}/fixtures/invariants.ts`);
  const { code, out, err } = await evaluated(w, "--runs", "2", "--trust", "--json");
  const { conclusion, items, rows } = JSON.parse(out);
  assert.deepEqual([code, conclusion.is], [3, "measured"]);
  assert.equal(conclusion.words, "passed 2 of 2 runs; not graded: 2 of 2 runs ended as recorded");
  assert.deepEqual(items.map(({ name, word, why }: any) => [name, word, why]), [
    ["heads", "held", undefined],
    ["tails", "not measured", "Nothing grades it: add a grader"],
    ["all fixtures", "held", undefined],
  ]);
  assert.deepEqual([rows[1].cells[0].passed, rows[1].asRecorded], [0, { passed: 2, runs: 2 }]);
  assert.equal(err, "");
  for (const claim of [["--at-least", "0.9"], ["--against", "."], ["--detect", "0.2"]]) {
    const refused = await evaluated(w, ...claim, "--trust");
    assert.equal(refused.code, 2);
    assert.match(
      refused.err,
      /Cannot judge tails as nothing grades it: add a grader, such as fixtures\/tails\/grade\.sh/,
    );
  }
});
