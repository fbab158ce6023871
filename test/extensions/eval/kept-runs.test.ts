import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import evaluate from "../../../lib/extensions/eval/command.ts";
import fixtures from "../../../lib/cli/fixtures.ts";
import replay from "../../../lib/cli/replay.ts";
import view from "../../../lib/extensions/view/command.ts";
import type { RunLine } from "../../../lib/extensions/eval/attempt.ts";
import { emptyRunFolder, readPlan, runFolder, writePlan } from "../../../lib/extensions/eval/kept-evals.ts";
import type { EvalPlan } from "../../../lib/extensions/eval/plan.ts";
import { rounds } from "../../_counts.ts";
import { ended } from "../../_crochet.ts";
import { withEnv } from "../../_env.ts";
import type { Place } from "../../_place.ts";
import { LIB, OUR_RUNTIME } from "../../_runtime.ts";
import { scratch } from "../../_scratch.ts";
import { evaluated, tossed } from "./_tossed.ts";

const linesOf = (w: Place): RunLine[] =>
  readFileSync(`${w.cwd}/.crochet/evals/last/runs.jsonl`, "utf8").trimEnd().split("\n").map((line) => JSON.parse(line));

test("evals that begin at the same time all begin, and the last one is named", async () => {
  const plan = new URL("../../../lib/extensions/eval/kept-evals.ts", import.meta.url).href;
  using folder = scratch({
    "begin.ts": `import { readPlan, writePlan } from ${JSON.stringify(plan)};
      for (let i = 0; i < ${
      rounds(20, 200, 200)
    }; i++) writePlan(process.cwd(), { eval: 1, id: process.argv[2] + i } as any);
      readPlan(process.cwd(), "last");`,
  });
  const begin = (id: string) =>
    ended([...OUR_RUNTIME, join(folder.path, "begin.ts"), id], { cwd: folder.path, env: {} });
  for (const { code, err } of await Promise.all(["a", "b", "c"].map(begin))) assert.equal(code, 0, err);
});

test("a folder of an eval that is a link is not followed: nothing outside is removed or written", async () => {
  using w = await tossed("PP");
  w.put({ "else/now/1/kept.txt": "kept" });
  const evals = join(w.cwd, ".crochet/evals");
  mkdirSync(join(evals, "one"), { recursive: true });
  symlinkSync(join(w.cwd, "else"), join(evals, "one/toss"));
  for (const run of ["toss/now/1", "toss"]) {
    assert.throws(() => emptyRunFolder(join(evals, "one"), run), /toss as it is a link: remove it$/);
    assert.throws(() => runFolder(join(evals, "one"), run), /toss as it is a link: remove it$/);
  }
  assert.throws(() => runFolder(join(evals, "one"), "../../../else/now/1"), /as it leads elsewhere$/);
  symlinkSync(join(w.cwd, "else"), join(evals, "two"));
  assert.throws(() => writePlan(evals, { id: "two" } as EvalPlan), /two as it is a link: remove it$/);
  assert.throws(() => readPlan(evals, "two"), /two as it is a link: remove it$/);
  assert.deepEqual(readdirSync(join(w.cwd, "else"), { recursive: true }).sort(), ["now", "now/1", "now/1/kept.txt"]);
});

test("kept runs are graded again without an agent, and an eval may be compared with a kept one", async () => {
  using w = await tossed("PPF");
  const first = await evaluated(w, "--runs", "3");
  assert.match(first.out, /toss +2\/3 /);
  const { id } = JSON.parse(readFileSync(`${w.cwd}/.crochet/evals/last/eval.json`, "utf8"));
  w.put({
    "fixtures/toss/grade.same.sh": '#!/bin/sh\n[ -f README ] && [ -f "$CROCHET_RUN/tape.jsonl" ] && exit 0; exit 1\n',
  });
  const graded = await evaluated(w, "--against", id, "--runs", "3");
  assert.match(graded.err, new RegExp(`toss was graded otherwise: crochet eval --regrade ${id}`));
  const before = linesOf(w).map(({ ms }) => ms);
  const again = await evaluated(w, "--regrade", id);
  assert.deepEqual([again.out, linesOf(w).map(({ ms }) => ms)], [first.out, before], "no run was made again");
  assert.deepEqual(linesOf(w)[0]!.grades!.map(({ name, pass }) => [name, pass]), [["it is good", true], [
    "same",
    true,
  ]]);
  const kept = await evaluated(w, "--against", id, "--runs", "3");
  assert.match(kept.out, new RegExp(`fixture +now +95% +pass\\^3 +${id} +95% +pass\\^3 .*\\ntoss +2/3 .*2/3 `));
  assert.match(kept.out, /\n3 runs,/, "those of the kept eval are not run again");
});

test("every run is a tape that view, replay and fixtures show take", async () => {
  using w = await tossed("P");
  await evaluated(w, "--runs", "1");
  const run = ".crochet/evals/last/toss/now/1";
  assert.match((await w.call(view, run)).out, /1\.html\n$/);
  assert.match((await w.call(fixtures, "show", run)).out, /good/);
  const replayed = await w.call(replay, run, "--trust");
  assert.deepEqual([replayed.code, / held /.test(replayed.out)], [0, true], replayed.out);
});

test("a run of an eval becomes a fixture, which replays with real tools and the same agent", async () => {
  using w = await tossed("P");
  w.put({
    "agent.ts": `
import { agent } from "${LIB}/agent/agent.ts";
import { scripted } from "${LIB}/models/scripted.ts";
import { Write } from "${LIB}/tools/index.ts";
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
    /fixtures\/toss-now-2\/tape\.jsonl exists: remove it first/,
  );
});

test("calls are decided by the rules on the tape, never by the settings of this machine", async () => {
  const asks = `[{ tools: [{ name: "Write", input: { file_path: "a", content: "a" } }] }, { text: "done" }]`;
  const script = (model: string) => `
import { agent } from "${LIB}/agent/agent.ts";
import { scripted } from "${LIB}/models/scripted.ts";
import { Write } from "${LIB}/tools/index.ts";
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

test("runs happen side by side, and each is graded by itself", async () => {
  using w = await tossed("P");
  const { code, out } = await w.call(evaluate, "--runs", "8", "--at-once", "4", "--json");
  const { runs, rows: [{ cells: [cell] }] } = JSON.parse(out);
  assert.deepEqual([code, runs, cell.passed], [0, 8, 8]);
  assert.ok(existsSync(`${w.cwd}/.crochet/evals/last/toss/now/8/tape.jsonl`));
});
