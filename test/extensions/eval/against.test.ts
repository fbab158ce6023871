import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import evaluate from "../../../lib/extensions/eval/command.ts";
import type { EvalPlan } from "../../../lib/extensions/eval/plan.ts";
import { tossed } from "./_tossed.ts";
import { LIB } from "../../_runtime.ts";

// Kills: runs that share a process, or the directory of the agent here.
test(
  "an agent is compared with the one of a git ref: every run starts fresh in its worktree, which goes when the eval ends",
  async () => {
    using w = await tossed("P");
    const git = (...args: string[]) =>
      execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@example.com", ...args], {
        cwd: w.cwd,
        stdio: "pipe",
      });
    w.put({
      "agent.ts": `
import { readFileSync } from "node:fs";
import { agent } from "${LIB}/agent/agent.ts";
import { scripted } from "${LIB}/models/scripted.ts";
let runs = 0;
const then = () => ({ text: ++runs > 1 ? "bad" : readFileSync("prompt.txt", "utf8") });
export default agent({ from: import.meta.url, model: scripted([], { then }) });
`,
      "prompt.txt": "good",
    });
    git("init", "-qb", "main");
    git("add", "-A");
    git("commit", "-qm", "good");
    w.put({ "prompt.txt": "bad" });
    w.given.processes = true;
    const { code, out, err } = await w.call(evaluate, "--against", "main", "--runs", "3", "--at-once", "1");
    assert.equal(code, 1, err);
    assert.match(out, /toss +0\/3 .* 3\/3 .*worse \(p 0\.016\)/);
    const plan: EvalPlan = JSON.parse(readFileSync(`${w.cwd}/.crochet/evals/last/eval.json`, "utf8"));
    assert.deepEqual(plan.variants.map(({ name, kind }) => [name, kind]), [["now", "here"], ["main", "ref"]]);
    assert.match(plan.variants[1]!.commit!, /^[0-9a-f]{40}$/);
    assert.ok(!readdirSync(`${w.cwd}/.crochet/evals/last/`).some((name) => name.startsWith("tree-")));
    assert.equal(git("worktree", "list").toString().trim().split("\n").length, 1);
  },
);
