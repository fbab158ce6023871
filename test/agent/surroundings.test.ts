import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { agent, type RunEvent } from "crochet";
import { scripted } from "crochet/testing";
import { gitLine } from "../../lib/agent/system-prompt.ts";
import { BUILT_IN } from "../../lib/runtime/importing.ts";
import { memoryStore } from "../../lib/log/stores/memory-store.ts";
import { put, scratch } from "../_scratch.ts";
import "../replay/_no-ci.ts";

const COMMIT = "0123456789abcdef0123456789abcdef01234567";

const REPOSITORIES: readonly [what: string, files: Record<string, string>, line: string][] = [
  ["a branch", { ".git/HEAD": "ref: refs/heads/main\n" }, "on branch main"],
  ["a branch with a folder", { ".git/HEAD": "ref: refs/heads/fix/typo\n" }, "on branch fix/typo"],
  ["no branch", { ".git/HEAD": `${COMMIT}\n` }, "at commit 0123456789, on no branch"],
  ["a worktree", { ".git": "gitdir: elsewhere/w\n", "elsewhere/w/HEAD": "ref: refs/heads/w\n" }, "on branch w"],
  ["the repository it is deepest in", {
    "../.git/HEAD": "ref: refs/heads/outer\n",
    ".git/HEAD": "ref: refs/heads/inner\n",
  }, "on branch inner"],
  ["one above", { "../.git/HEAD": "ref: refs/heads/outer\n" }, "on branch outer"],
  ["a damaged one: the one above", { "../.git/HEAD": "ref: refs/heads/outer\n", ".git/HEAD": "?" }, "on branch outer"],
];

for (const [what, files, line] of REPOSITORIES) {
  test(`the built-in agent is noted of its repository: ${what}`, async () => {
    using folder = scratch({ "project/x": "" });
    const project = join(folder.path, "project");
    put(project, files);
    assert.equal(await gitLine(project), `The working directory is in a git repository, ${line}.`);
  });
}

test("without a repository nothing is said of one", async () => {
  using folder = scratch({ "x": "" });
  assert.equal(await gitLine(folder.path), "");
});

const SYSTEM = "You work.";
const LEAP_DAY = Date.UTC(2020, 1, 29, 23, 59);

/** Runs as if it were another time. */
async function at<T>(time: number, work: () => Promise<T>): Promise<T> {
  const { now } = Date;
  Date.now = () => time;
  try {
    return await work();
  } finally {
    Date.now = now;
  }
}

test("the built-in agent's day and branch are those of the tape, whenever and wherever it is replayed", async () => {
  using folder = scratch({ ".git/HEAD": "ref: refs/heads/then\n" });
  const { path: cwd } = folder;
  const model = scripted([{ text: "ok" }]);
  const tape = { path: join(cwd, "fixtures/x") };
  const coder = (model: ReturnType<typeof scripted>) => agent({ from: BUILT_IN, system: SYSTEM, model });
  await at(LEAP_DAY, () => coder(model).run("hi", { cwd, tape: { ...tape, mode: "record" } }));
  const noted =
    `${SYSTEM}\n\nToday is 2020-02-29 (UTC).\nThe working directory is in a git repository, on branch then.`;
  assert.equal(model.requests[0]!.system, noted);

  put(cwd, { ".git/HEAD": "ref: refs/heads/now\n" });
  for (const mode of ["replay", "verify", "update"] as const) {
    let ok: boolean | undefined;
    const onReport = (report: { ok: boolean; divergences: readonly unknown[] }) =>
      ok = report.ok && report.divergences.length === 0;
    await coder(scripted([])).run("hi", { cwd, tape: { ...tape, mode, onReport } });
    assert.equal(ok, true, mode);
  }
});

test("a tape of a release without both lines is replayed as it was", async () => {
  using folder = scratch({ ".git/HEAD": "ref: refs/heads/main\n" });
  const { path: cwd } = folder;
  const path = join(cwd, "fixtures/x");
  const model = scripted([{ text: "ok" }]);
  await agent({ system: SYSTEM, model }).run("hi", { cwd, tape: { path, mode: "record" } });
  assert.equal(model.requests[0]!.system, SYSTEM);
  const { text } = await agent({ from: BUILT_IN, system: SYSTEM, model: scripted([]) }).run("hi", {
    cwd,
    tape: { path },
  });
  assert.equal(text, "ok");
});

test("a session that goes on another day, on another branch, gets the new lines and no warning", async () => {
  using folder = scratch({ ".git/HEAD": "ref: refs/heads/then\n" });
  const { path: cwd } = folder;
  const model = scripted([{ text: "ok" }, { text: "ok" }]);
  const warnings: string[] = [];
  const on = (event: RunEvent) => void (event.type === "warning" && warnings.push(event.message));
  const coder = agent({ from: BUILT_IN, system: SYSTEM, model, store: memoryStore(), on });
  const { id } = await at(LEAP_DAY, () => coder.run("hi", { cwd }));
  put(cwd, { ".git/HEAD": "ref: refs/heads/now\n" });
  await coder.resume(id, "go on", { cwd });
  assert.match(JSON.stringify(model.requests[1]!.system), /branch now/);
  assert.deepEqual(warnings, []);
});
