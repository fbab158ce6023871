import assert from "node:assert/strict";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { test } from "node:test";
import { HOOKS, pushed, requestsOf } from "./_pushed.ts";

/** What is asked in the run of one round that has the hook, after the whole of the one without: the number of messages, or that a hook asked. */
const KINDS: readonly [folder: string, asked: readonly string[], calls: string][] = [
  ["rewrite", ["5"], "0"],
  ["context", ["5"], "0"],
  ["halt", [], "-1"],
  // What its model says changes nothing: all else is kept.
  ["ask", ["hook"], "\\+1"],
  ["stop", ["7"], "\\+1"],
];

test("hooks that rewrite, tell, end, ask a model or go on each are paid from where they speak", async () => {
  await pushed(["push"], HOOKS, async ({ w, changed }) => {
    for (const [folder, own, calls] of KINDS) {
      w.given.processes = folder === "stop"; // it counts in its module
      const { out, err, asked } = await changed("P", "--with", folder, "--runs", "6");
      assert.deepEqual(asked, Array(6).fill(["1", "3", "5", ...own]).flat(), `${folder}: ${err}${out}`);
      const passed = folder === "halt" ? "0/6" : "6/6";
      assert.match(out, new RegExp(`\npush +${passed} .* 6/6 .* ${calls} *\n`), `${folder}: ${err}${out}`);
    }
  });
});

test("--without takes a hook away that fixtures were recorded with", async () => {
  const hook = "pre-tool-use@push.no-force.ts";
  const files = { [`hooks/${hook}`]: HOOKS["deny/pre-tool-use@push.no-force.ts"] };
  await pushed(["push"], files, async ({ w, changed }) => {
    const { code, out, err, asked } = await changed("FP", "--without", hook, "--runs", "6");
    assert.equal(code, 0, err);
    assert.match(out, /^\nhelps: \+100 points [^]*\npush +6\/6 .* 0\/6 /, "claims are about the hook");
    assert.deepEqual(asked, Array(6).fill(["1", "3", "5", "5"]).flat());
    assert.match((await requestsOf(w, "push/with/1"))[2]!, /No force/);
    assert.match((await requestsOf(w, "push/without/1"))[2]!, /forced/);
    const wrong = await changed("P", "--without", "pre-tool-use@push.force.ts");
    assert.equal(wrong.code, 2);
    assert.match(wrong.err, /Cannot evaluate without '.*' as no agent of these fixtures has such a hook: did you mean/);
    const had = await changed("P", "--with", `hooks/${hook}`);
    assert.match(had.err, /as no fixture can be replayed with it: push \(recorded with it: --without\)/);
  });
});

test("fixtures on which a hook cannot be tried are left out by name; without a claim to come of it nothing runs", async () => {
  await pushed(["push", "other"], HOOKS, async ({ w, changed }) => {
    const tape = (name: string) => `${w.cwd}/fixtures/${name}/tape.jsonl`;
    const other = readFileSync(tape("other"), "utf8");
    w.put({ "fixtures/other/tape.jsonl": other.replace(`"tools":false`, `"tools":true`) });
    const few = await changed("P", "--with", "deny", "--runs", "2");
    assert.deepEqual([few.code, few.asked], [2, []]);
    assert.match(few.err, /^left out: other \(recorded with --tools\)\n/);
    assert.match(few.err, /Cannot tell anything from 2 runs of 1 fixture, whatever comes of them: raise --runs/);
    assert.ok(!existsSync(`${w.cwd}/.crochet/evals/last`));
    w.put({ "fixtures/other/tape.jsonl": other.replace(`"tools":false`, `"tools":false,"command":["true"]`) });
    assert.match((await changed("P", "--with", "silent")).err, /^left out: other \(of another program\)\n/);
    const agent = readFileSync(`${w.cwd}/agent.ts`, "utf8");
    w.put({ "fixtures/other/tape.jsonl": other, "fixtures/other/agent.ts": agent.replace("You push.", "You pushed.") });
    const drifts = await changed("P", "--with", "silent");
    assert.match(drifts.err, /^left out: other \(drifts already\)\nchanges 0 of 1 fixture /);
    rmSync(`${w.cwd}/fixtures/push`, { recursive: true });
    const none = await changed("P", "--with", "silent");
    assert.equal(none.code, 2);
    assert.match(
      none.err,
      /Cannot tell what silent changes as no fixture can be replayed with it: other \(drifts already\)/,
    );
  });
});

test("a budget that ends it makes no claim; the rest is resumed, unless the hook has changed since", async () => {
  await pushed(["push"], HOOKS, async ({ w, changed }) => {
    const poor = await changed("FP", "--with", "deny", "--runs", "6", "--budget", "0.2k");
    assert.equal(poor.code, 3, poor.err);
    assert.match(poor.out, /^\n✗ not measured: the budget ended before all pairs were run\n/);
    assert.doesNotMatch(poor.out, /points/);
    const rest = await changed("FP", "--resume", "--budget", "2k");
    assert.deepEqual([rest.code, poor.asked.length + rest.asked.length], [0, 24], rest.err);
    assert.match(rest.out, /\npush +6\/6 .* 0\/6 /);
    w.put({ "deny/pre-tool-use@push.no-force.ts": `export default () => undefined;\n` });
    const other = await changed("FP", "--resume", "--budget", "2k");
    assert.match(other.err, /Cannot continue .* as deny has changed since: start a new eval/);
  });
});
