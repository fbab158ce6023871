import assert from "node:assert/strict";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import evaluate from "../../lib/cli/eval.ts";
import type { RunLine } from "../../lib/eval/attempt.ts";
import { revoke } from "../../lib/hooks/hook-trust.ts";
import { ended } from "../_crochet.ts";
import type { Place } from "../_place.ts";
import { OUR_RUNTIME } from "../_runtime.ts";
import { scratch } from "../_scratch.ts";
import { evaluated, tossed, tosser } from "./_tossed.ts";

const LONG = { timeout: 120_000 };

const linesOf = (w: Place): RunLine[] =>
  readFileSync(`${w.cwd}/.crochet/evals/last/runs.jsonl`, "utf8").trimEnd().split("\n").map((line) => JSON.parse(line));

test("evals that begin at the same time all begin, and the last one is named", LONG, async () => {
  const plan = new URL("../../lib/eval/plan.ts", import.meta.url).href;
  using folder = scratch({
    "begin.ts": `import { readPlan, writePlan } from ${JSON.stringify(plan)};
      for (let i = 0; i < 200; i++) writePlan(process.cwd(), { eval: 1, id: process.argv[2] + i } as any);
      readPlan(process.cwd(), "last");`,
  });
  const begin = (id: string) =>
    ended([...OUR_RUNTIME, join(folder.path, "begin.ts"), id], { cwd: folder.path, env: {} });
  for (const { code, err } of await Promise.all(["a", "b", "c"].map(begin))) assert.equal(code, 0, err);
});

test("the table of an eval with known outcomes is the one computed by hand", LONG, async () => {
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
`,
  );
});

test(
  "what the API fails is lost: it moves no rate, is repeated, and too much of it is not measured",
  LONG,
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

test("a budget is never overrun: a round begins only if it fits", LONG, async () => {
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

test(
  "an agent that is worse than another is refuted, by a script, with what failed and where to look",
  LONG,
  async () => {
    using w = await tossed("F");
    w.put({ "old.ts": tosser("P", "./") });
    const { code, out, err } = await evaluated(w, "--against", "old.ts", "--runs", "12", "--junit", "eval.xml");
    assert.equal(code, 1);
    assert.match(
      err,
      /\n12 runs find a drop from 90 % to 70 % in \d\d of 100 evals; \d\d runs in 80\n/,
      "what can be seen is said before it is paid",
    );
    assert.match(
      out,
      /^\n✗ worse on toss \(p < 0\.001\), compared with old\.ts\n\nfixture +now +95% +pass\^5 +old\.ts /,
    );
    assert.match(out, /\ntoss +0\/8 .* 8\/8 .*worse \(p < 0\.001\)\n/);
    assert.match(
      out,
      /\nthe rate differs by -100 points, between -100 and -\d\d \(97\.5%\)\nended early: the runs that are left would not/,
    );
    assert.match(
      out,
      / {2}toss {2}8 of 8: "it is good": it said bad\n {8}crochet view \.crochet\/evals\/last\/toss\/now\/1\n16 runs/,
    );
    const xml = readFileSync(`${w.cwd}/eval.xml`, "utf8");
    assert.match(xml, /name="crochet eval" tests="2" failures="2" errors="0" time="(?!0\.000)/);
    assert.match(xml, /<failure message="worse than old\.ts \(p &#60; 0\.001\): 0 of 8 passed"\/>/);
    assert.match(xml, /<failure message="worse on toss \(p &#60; 0\.001\), compared with old\.ts"\/>/);
    using same = await tossed("P");
    same.put({ "old.ts": tosser("P", "./") });
    const equal = await evaluated(same, "--against", "old.ts", "--runs", "3");
    assert.equal(equal.code, 0);
    assert.match(equal.out, /^\nnot shown to be worse than old\.ts \(p 1\.000\)\n[^]*\n6 runs/);
  },
);

test("--at-least fails only an agent whose whole interval lies below", LONG, async () => {
  for (const [outcomes, code] of [["PPPPF", 0], ["PF", 1], ["F", 1], ["P", 0]] as const) {
    using w = await tossed(outcomes);
    const { code: got, out } = await evaluated(w, "--at-least", "0.9", "--runs", "10");
    assert.equal(got, code, out);
    assert.match(out, code === 1 ? /^\n✗ below 0\.9 on toss\n/ : /^\nnot shown to be below 0\.9\n/);
  }
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
    assert.equal(code, args[0] === "--resume" ? 1 : 2, err);
    assert.match(err, words);
    assert.ok(!existsSync(`${w.cwd}/.crochet/evals/last`));
  });
}

test("an eval needs trust as a replay does, and a budget in CI, where it may record", LONG, async () => {
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

test("an invariant that no run puts to the test fails an eval; one that some do is reported", LONG, async () => {
  using w = await tossed("PF");
  const when = (word: string) => `when: ({ results }) => results.at(-1).text === "${word}", broken: () => undefined`;
  w.put({
    "fixtures/toss/invariants.ts": `export default [{ name: "bad ones", ${when("bad")} }, { name: "best ones", ${
      when("best")
    } }];\n`,
  });
  const { code, out } = await evaluated(w, "--runs", "4");
  assert.equal(code, 1);
  assert.match(out, /^\n✗ never put to the test: toss: "best ones"\n/);
  assert.match(out, /toss: "bad ones" was put to the test in 2 of 4 runs\n/);
});

test("kept runs are graded again without an agent, and an eval may be compared with a kept one", LONG, async () => {
  using w = await tossed("PPF");
  const first = await evaluated(w, "--runs", "9");
  assert.match(first.out, /toss +6\/9 /);
  const { id } = JSON.parse(readFileSync(`${w.cwd}/.crochet/evals/last/eval.json`, "utf8"));
  w.put({
    "fixtures/toss/grade.same.sh": '#!/bin/sh\n[ -f README ] && [ -f "$CROCHET_RUN/tape.jsonl" ] && exit 0; exit 1\n',
  });
  const graded = await evaluated(w, "--against", id, "--runs", "9");
  assert.match(graded.err, new RegExp(`toss was graded otherwise: crochet eval --regrade ${id}`));
  const before = linesOf(w).map(({ ms }) => ms);
  const again = await evaluated(w, "--regrade", id);
  assert.deepEqual([again.out, linesOf(w).map(({ ms }) => ms)], [first.out, before], "no run was made again");
  assert.deepEqual(linesOf(w)[0]!.grades!.map(({ name, pass }) => [name, pass]), [["it is good", true], [
    "same",
    true,
  ]]);
  const kept = await evaluated(w, "--against", id, "--runs", "9");
  assert.match(kept.out, new RegExp(`fixture +now +95% +pass\\^5 +${id} +95% +pass\\^5 .*\\ntoss +6/9 .*6/9 `));
  assert.match(kept.out, /\n9 runs,/, "those of the kept eval are not run again");
});

test("runs that are added later have an interval that is right whenever someone looks", LONG, async () => {
  using w = await tossed("PPF");
  const first = JSON.parse((await evaluated(w, "--runs", "6", "--json")).out);
  const more = JSON.parse((await evaluated(w, "--resume", "--runs", "12", "--json")).out);
  using other = await tossed("PPF");
  const fixed = JSON.parse((await evaluated(other, "--runs", "12", "--json")).out);
  const width = ({ rows: [{ cells: [{ interval: [low, high] }] }] }: any) => high - low;
  assert.deepEqual([first.runs, more.runs, fixed.runs], [6, 12, 12]);
  assert.ok(width(more) > width(fixed), `${width(more)} is not wider than ${width(fixed)}`);
  assert.equal(more.rows[0].cells[0].passed, fixed.rows[0].cells[0].passed);
  const fewer = await evaluated(w, "--resume", "--runs", "3");
  assert.match(fewer.err, /Cannot take runs away from .*, which has 12: raise --runs/);
  w.put({ "fixtures/toss/files/README": "b\n" });
  assert.match((await evaluated(w, "--resume")).err, /Cannot continue .* as toss has changed since: start a new eval/);
});

test("without graders a run passes if it ends as recorded, and a line says so", LONG, async () => {
  using w = await tossed("PF");
  rmSync(`${w.cwd}/fixtures/invariants.ts`);
  const { code, out, err } = await evaluated(w, "--runs", "2");
  assert.equal(code, 0);
  assert.match(out, /toss +2\/2 /);
  assert.match(err, /without graders, so a run passes if it ends as recorded: toss\n/);
});
