import assert from "node:assert/strict";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { test } from "node:test";
import { changed, HOOKS, pushed, requestsOf } from "./_pushed.ts";

/** What is asked in the two arms of one round: the number of messages, or that a hook asked. */
const KINDS: readonly [folder: string, from: string, asked: readonly string[], calls: string][] = [
  ["rewrite", "main#3", ["5", "5"], "0"],
  ["context", "main#3", ["5", "5"], "0"],
  ["halt", "main#3", ["5"], "-1"],
  // What a model says is random: it forks where its hook is first asked, also if the answer changes nothing.
  ["ask", "main#3", ["hook", "5", "5"], "\\+1"],
  // It speaks after the last call: without it, the run is the recorded one.
  ["stop", "end", ["7"], "\\+1"],
];

test("hooks that rewrite, tell, end, ask a model or go on each fork where they speak", async () => {
  using w = await pushed(["push"], HOOKS);
  for (const [folder, from, round, calls] of KINDS) {
    w.given.processes = folder === "stop"; // it counts in its module
    const { out, err, asked } = await changed(w, "P", "--with", folder, "--runs", "3");
    assert.deepEqual(asked, [round, round, round].flat(), `${folder}: ${err}${out}`);
    const passed = folder === "halt" ? "0/3" : "3/3";
    assert.match(out, new RegExp(`\npush +${from} +${passed} +3/3 +\\S+ +${calls}\n`), `${folder}: ${err}${out}`);
  }
});

test(
  "--without takes a hook away that fixtures were recorded with",
  async () => {
    const hook = "pre-tool-use@push.no-force.ts";
    using w = await pushed(["push"], { [`hooks/${hook}`]: HOOKS["deny/pre-tool-use@push.no-force.ts"] });
    const { code, out, err, asked } = await changed(w, "PF", "--without", hook, "--runs", "3");
    assert.equal(code, 0, err);
    assert.match(out, /\npush +main#3 +3\/3 +0\/3 .*\n\nhelps: \+100 points /, "claims are about the hook");
    assert.deepEqual(asked, Array(6).fill("5"));
    assert.match((await requestsOf(w, "push/with/1"))[2]!, /No force/);
    assert.match((await requestsOf(w, "push/without/1"))[2]!, /forced/);
    const wrong = await changed(w, "P", "--without", "pre-tool-use@push.force.ts");
    assert.equal(wrong.code, 2);
    assert.match(wrong.err, /Cannot evaluate without '.*' as no agent of these fixtures has such a hook: did you mean/);
    const had = await changed(w, "P", "--with", `hooks/${hook}`);
    assert.match(had.err, /as no fixture can be forked: push \(recorded with it: --without\)/);
  },
);

test(
  "fixtures that cannot be forked are left out by name; without a claim to come of it nothing runs",
  async () => {
    using w = await pushed(["push", "other"], HOOKS);
    const tape = (name: string) => `${w.cwd}/fixtures/${name}/tape.jsonl`;
    const other = readFileSync(tape("other"), "utf8");
    w.put({ "fixtures/other/tape.jsonl": other.replace(`"tools":false`, `"tools":true`) });
    const few = await changed(w, "P", "--with", "deny", "--runs", "2");
    assert.deepEqual([few.code, few.asked], [2, []]);
    assert.match(few.err, /^left out: other \(recorded with --tools\)\n/);
    assert.match(few.err, /Cannot tell anything from 2 runs of 1 fixture, whatever comes of them: raise --runs/);
    assert.ok(!existsSync(`${w.cwd}/.crochet/evals/last`));
    w.put({ "fixtures/other/tape.jsonl": other.replace(`"tools":false`, `"tools":false,"command":["true"]`) });
    assert.match((await changed(w, "P", "--with", "silent")).err, /^left out: other \(of another program\)\n/);
    const agent = readFileSync(`${w.cwd}/agent.ts`, "utf8");
    w.put({ "fixtures/other/tape.jsonl": other, "fixtures/other/agent.ts": agent.replace("You push.", "You pushed.") });
    const drifts = await changed(w, "P", "--with", "silent");
    assert.match(drifts.err, /^left out: other \(drifts already\)\nchanges 0 of 1 fixture /);
    rmSync(`${w.cwd}/fixtures/push`, { recursive: true });
    const none = await changed(w, "P", "--with", "silent");
    assert.equal(none.code, 2);
    assert.match(none.err, /Cannot tell what silent changes as no fixture can be forked: other \(drifts already\)/);
  },
);

test("a budget that ends it makes no claim; the rest is resumed, unless the hook has changed since", async () => {
  using w = await pushed(["push"], HOOKS);
  const poor = await changed(w, "PF", "--with", "deny", "--runs", "4", "--budget", "0.07k");
  assert.deepEqual([poor.code, poor.asked.length], [3, 4], poor.err);
  assert.match(
    poor.out,
    /\n\n✗ not measured: the budget ended before all pairs were run\n4 runs, 60 tokens of 70 tokens/,
  );
  assert.doesNotMatch(poor.out, /points/);
  const rest = await changed(w, "PF", "--resume", "--budget", "1k");
  assert.deepEqual([rest.code, rest.asked.length], [0, 4], rest.err);
  assert.match(rest.out, /\npush +main#3 +4\/4 +0\/4 /);
  w.put({ "deny/pre-tool-use@push.no-force.ts": `export default () => undefined;\n` });
  const other = await changed(w, "PF", "--resume", "--budget", "1k");
  assert.match(other.err, /Cannot continue .* as deny has changed since: start a new eval/);
});
