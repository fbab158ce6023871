import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import evaluate from "../../lib/cli/eval.ts";
import fixtures from "../../lib/cli/fixtures.ts";
import replay from "../../lib/cli/replay.ts";
import view from "../../lib/cli/view.ts";
import { looksOf, refuted, sightOf, summarise } from "../../lib/eval/compare.ts";
import { type EvalPlan, type PlannedFixture, slotName, type Variant } from "../../lib/eval/plan.ts";
import type { RunLine } from "../../lib/eval/attempt.ts";
import { rounds } from "../_counts.ts";
import { withEnv } from "../_env.ts";
import { evaluated, tossed, tosser } from "./_tossed.ts";

const LONG = { timeout: 120_000 };

test("an agent is compared with the one of a git ref, whose worktree goes when the eval ends", LONG, async () => {
  using w = await tossed("P");
  const git = (...args: string[]) =>
    execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@example.com", ...args], {
      cwd: w.cwd,
      stdio: "pipe",
    });
  // What a script reads from its working directory is that of its ref too.
  const reading = tosser("PF", "./").replace("ended()", `(readFileSync("prompt.txt", "utf8") === "good" ? 0 : 1)`);
  w.put({ "agent.ts": reading, "prompt.txt": "good" });
  git("init", "-qb", "main");
  git("add", "-A");
  git("commit", "-qm", "good");
  w.put({ "prompt.txt": "bad" });
  const { code, out, err } = await w.crochet(["eval", "--against", "main", "--runs", "6"]);
  assert.equal(code, 1, err);
  assert.match(out, /toss +0\/4 .* 4\/4 .*worse \(p 0\.016\)/);
  const plan: EvalPlan = JSON.parse(readFileSync(`${w.cwd}/.crochet/evals/last/eval.json`, "utf8"));
  assert.deepEqual(plan.variants.map(({ name, kind }) => [name, kind]), [["now", "here"], ["main", "ref"]]);
  assert.match(plan.variants[1]!.commit!, /^[0-9a-f]{40}$/);
  assert.ok(!readdirSync(`${w.cwd}/.crochet/evals/last/`).some((name) => name.startsWith("tree-")));
  assert.equal(git("worktree", "list").toString().trim().split("\n").length, 1);
});

test(
  "every run starts fresh: an agent that is bad from its fourth run on has the same rate on both sides",
  LONG,
  async () => {
    using w = await tossed("P");
    const lib = (path: string) => fileURLToPath(new URL(`../../lib/${path}`, import.meta.url));
    w.put({
      "agent.ts": `
import { agent } from "${lib("agent/agent.ts")}";
import { scripted } from "${lib("testing/index.ts")}";
let runs = 0;
const then = () => ({ text: ++runs > 3 ? "bad" : "good" });
export default agent({ from: import.meta.url, model: scripted([], { then }) });
`,
    });
    const git = (...args: string[]) =>
      execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@example.com", ...args], { cwd: w.cwd });
    git("init", "-qb", "main");
    git("add", "-A");
    git("commit", "-qm", "stateful");
    const { code, out, err } = await w.call(evaluate, "--against", "HEAD", "--runs", "6");
    assert.deepEqual([code, /toss +6\/6 .* 6\/6 /.test(out)], [0, true], err + out);
  },
);

test("every run is a tape that view, replay and fixtures show take", LONG, async () => {
  using w = await tossed("P");
  await evaluated(w, "--runs", "1");
  const run = ".crochet/evals/last/toss/now/1";
  assert.match((await w.call(view, run)).out, /1\.html\n$/);
  assert.match((await w.call(fixtures, "show", run)).out, /good/);
  const replayed = await w.call(replay, run, "--trust");
  assert.deepEqual([replayed.code, / ok /.test(replayed.out)], [0, true], replayed.out);
});

test("a run of an eval becomes a fixture, which replays with real tools and the same agent", LONG, async () => {
  using w = await tossed("P");
  const lib = (path: string) => fileURLToPath(new URL(`../../lib/${path}`, import.meta.url));
  w.put({
    "agent.ts": `
import { agent } from "${lib("agent/agent.ts")}";
import { scripted } from "${lib("testing/index.ts")}";
import { Write } from "${lib("tools/index.ts")}";
const input = { file_path: "a.txt", content: "a\\n" };
const then = ({ messages }) => messages.length > 1 ? { text: "good" } : { tools: [{ name: "Write", input }] };
export default agent({ from: import.meta.url, tools: [Write], model: scripted([], { then }) });
`,
  });
  await evaluated(w, "--runs", "2");
  const run = ".crochet/evals/last/toss/now/2";
  const { code, out, err } = await w.call(fixtures, "import", run);
  assert.equal(code, 0, err);
  assert.match(out, /run +2 +fixtures\/toss-now-2\/tape\.jsonl\n1 imported, 0 refused/);
  const tape = readFileSync(`${w.cwd}/fixtures/toss-now-2/tape.jsonl`, "utf8");
  assert.deepEqual([/"tools":false/.test(tape), /^\{"tool":/m.test(tape)], [true, false]);
  const replayed = await w.call(replay, "toss-now-2", "--verify", "--trust");
  assert.equal(replayed.code, 0, replayed.out);
  assert.match(
    (await w.call(fixtures, "import", run)).out,
    /fixtures\/toss-now-2\/tape\.jsonl exists: overwrite it with --rep/,
  );
});

test("calls are decided by the rules on the tape, never by the settings of this machine", LONG, async () => {
  const lib = (path: string) => fileURLToPath(new URL(`../../lib/${path}`, import.meta.url));
  const asks = `[{ tools: [{ name: "Write", input: { file_path: "a", content: "a" } }] }, { text: "done" }]`;
  const script = (model: string) => `
import { agent } from "${lib("agent/agent.ts")}";
import { scripted } from "${lib("testing/index.ts")}";
import { Write } from "${lib("tools/index.ts")}";
let n = 0;
const then = () => ${model}[n++ % 2];
export default agent({ from: import.meta.url, tools: [Write], model: scripted([], { then }) });
`;
  for (const [deny, outcome] of [[["Write"], "denied"], [[], "success"]] as const) {
    using w = await tossed("P", []);
    const allow = JSON.stringify({ permissions: { allow: ["Write"], deny: deny.length > 0 ? [] : ["Write"] } });
    w.put({
      "agent.ts": script(asks),
      ".claude/settings.json": allow,
      "fixtures/invariants.ts": "export default [];\n",
    });
    const { default: writer } = await import(pathToFileURL(`${w.cwd}/agent.ts`).href);
    const tape = { path: `${w.cwd}/fixtures/write`, mode: "record", agent: "../../agent.ts" };
    const permissions = { mode: "bypassPermissions", deny };
    await withEnv({ CI: undefined }, () => writer.run("Write", { cwd: `${w.cwd}/fixtures`, tape, permissions }));
    w.put({
      "fixtures/write/invariants.ts":
        `export default [{ name: "outcome", broken: (o) => o.calls("Write")[0].outcome }];\n`,
    });
    const { out } = await evaluated(w, "--runs", "1", "--trust");
    assert.match(out, new RegExp(`1 of 1: "outcome": ${outcome}\n`));
  }
});

test("runs happen side by side, and each is graded by itself", LONG, async () => {
  using w = await tossed("P");
  const { code, out } = await w.call(evaluate, "--runs", "20", "--at-once", "5", "--json");
  const { runs, rows: [{ cells: [cell] }] } = JSON.parse(out);
  assert.deepEqual([code, runs, cell.passed], [0, 20, 20]);
  assert.ok(existsSync(`${w.cwd}/.crochet/evals/last/toss/now/20/tape.jsonl`));
});

test("of 400 simulated A/A tests at most 20 call the agent worse, looks and all", LONG, () => {
  const price = { calls: 1, tokens: 1, dollars: 0 };
  const plan = (names: readonly string[]): EvalPlan => ({
    eval: 1,
    id: "a",
    at: "",
    runs: 10,
    fixtures: names.map((name) => ({ name, folder: name, hash: "", graders: {}, price })),
    variants: [{ name: "now", kind: "here" }, { name: ".", kind: "here" }],
  });
  let seed = 7;
  const random = () => (seed = seed * 48271 % 0x7fff_ffff) / 0x7fff_ffff;
  const evals = rounds(400, 4000);
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
  const fixtures = counts.map((_, i) => ({ name: `f${i}`, folder: `f${i}`, hash: "", graders: {}, price }));
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

test("no p and no interval ever contradicts the words beside it", LONG, () => {
  let seed = 3;
  const random = (most: number) => (seed = seed * 48271 % 0x7fff_ffff) % most;
  const seen = { worse: 0, not: 0, below: 0 };
  for (let n = 0; n < rounds(150, 1500); n++) {
    const counts = Array.from({ length: 1 + random(3) }, () => [random(9), random(9)] as const);
    const { plan, lines } = played(counts, 8, random(2) === 0 ? 0.9 : undefined);
    const part = looksOf(plan)?.at(-1)?.part ?? 1;
    const { rows, suite, conclusion } = summarise(plan, lines, { ended: "done", part, measured: true });
    for (const { p, worse, below, difference, cells: [now] } of rows) {
      assert.equal(worse, p! <= 0.05);
      if (difference) assert.equal(difference.interval[1] <= 0, worse);
      if (plan.atLeast !== undefined) assert.equal(below, now!.interval[1] <= 0.9 + 1e-9);
      if (below) seen.below++;
    }
    const shown = [...conclusion.words.matchAll(/\(p (?:< )?([\d.]+)\)/g)].map(([, p]) => Number(p));
    assert.ok(shown.length > 0 || !/worse/.test(conclusion.words), conclusion.words);
    for (const p of shown) assert.equal(p <= 0.05, suite!.worse, conclusion.words);
    assert.ok(conclusion.words.includes(conclusion.badge), conclusion.badge);
    seen[suite!.worse ? "worse" : "not"]++;
  }
  assert.ok(seen.worse > 20 && seen.not > 20 && seen.below > 20, JSON.stringify(seen));
});

test("a claim names what it is about: the fixture that is worse, though all together are not", () => {
  const { plan, lines } = played([[0, 20], [20, 0], [20, 0]], 20);
  const { conclusion, suite } = summarise(plan, lines, { ended: "done", part: 1, measured: true });
  assert.equal(conclusion.words, "worse on f0 (p < 0.001), compared with main");
  assert.equal(suite!.p, 1);
});

test("--detect chooses the fewest runs that find such a drop in 80 of 100 evals", LONG, async () => {
  const { plan } = played([[0, 0]], 10);
  const { runs = 0, from, to, oftenBy } = sightOf(plan, 0.5)!;
  assert.deepEqual([from, to, oftenBy(runs) >= 0.8, oftenBy(runs - 1) >= 0.8], [0.9, 0.4, true, false]);
  using w = await tossed("P");
  const { code, err } = await w.call(evaluate, "--against", ".", "--detect", "0.8");
  assert.equal(code, 0, err);
  const [, made] = /(\d+) runs find a drop from 90 % to 10 % in (?:8|9)\d of 100 evals\n/.exec(err)!;
  assert.equal(Number(made), sightOf(plan, 0.8)!.runs);
});

test("three real A/A tests, --against '.', do not call the agent worse than itself", LONG, async () => {
  for (const outcomes of ["PFPPFFPPPFPF", "FFPFPPFPFFFP", "PPPPPPFPPPPP"]) {
    using w = await tossed(outcomes);
    const { code, out, err } = await evaluated(w, "--against", ".", "--runs", "6");
    assert.equal(code, 0, err + out);
    assert.match(out, /^\nnot shown to be worse than \. \(p \d\.\d{3}\)\n\nfixture +now /);
  }
});

test("of failed runs that ended in any order, the first by number is shown", () => {
  const fixture = { name: "toss" } as PlannedFixture;
  const variant = { name: "now" } as Variant;
  const plan: EvalPlan = { eval: 1, id: "e", at: "", runs: 11, fixtures: [fixture], variants: [variant] };
  const lines = [10, 2, 1].map((round) => ({
    run: slotName({ fixture, variant, round }),
    ...{ pass: false, calls: 1, tokens: 1, ms: 1 },
  }));
  const { rows: [row] } = summarise(plan, lines, { ended: "done", part: 1, measured: true });
  assert.deepEqual(row!.cells[0]!.failures.map(({ run }) => run), ["toss/now/1", "toss/now/2", "toss/now/10"]);
});
