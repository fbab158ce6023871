import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { textOf } from "../../lib/core/messages.ts";
import type { Agent } from "../../lib/index.ts";
import type { TapeMode } from "../../lib/replay/policy.ts";
import { scripted, type ScriptedReply } from "../../lib/testing/index.ts";
import { withEnv } from "../_env.ts";
import { byEnvironment, runHere, subject } from "../_record.ts";
import { put, scratch } from "../_scratch.ts";

/** A model that says what it is told, and counts. */
function echo() {
  const asked: string[] = [];
  const then = ({ messages }: { messages: readonly any[] }) => {
    asked.push(textOf(messages.at(-1)));
    return { text: asked.at(-1)! };
  };
  return { asked, model: scripted([], { then }) };
}

/** Three runs of a script, and what they say. */
const RUNS: { readonly [how: string]: (agent: Agent, cwd: string) => Promise<string[]> } = {
  "one after the other": async (agent, cwd) => {
    const said: string[] = [];
    for (const i of [1, 2, 3]) said.push((await agent.run(`say ${i}`, { cwd })).text);
    return said;
  },
  "each going on with the one before": async (agent, cwd) => {
    const { id, text } = await agent.run("say 1", { cwd });
    const said = [text];
    for (const i of [2, 3]) said.push((await agent.resume(id, `say ${i}`, { cwd })).text);
    return said;
  },
  "at once": async (agent, cwd) =>
    (await Promise.all([1, 2, 3].map((i) => agent.run(`say ${i}`, { cwd })))).map(({ text }) => text),
};

for (const [how, runs] of Object.entries(RUNS)) {
  test(`a script that runs an agent three times, ${how}, has three tapes by the environment, in the order they began`, async () => {
    for (const renews of [false, true]) {
      using here = scratch();
      const cwd = here.path;
      const { asked, model } = echo();
      const run = (mode: TapeMode, system: string, by = scripted([])) =>
        withEnv(
          { CROCHET_TAPE: join(cwd, "fixtures/x"), CROCHET_TAPE_MODE: mode },
          () => runs(subject(cwd, { system, model: by }), cwd),
        );
      const all = ["say 1", "say 2", "say 3"];
      assert.deepEqual(await run("record", "You say it.", model), all);
      assert.deepEqual(readdirSync(join(cwd, "fixtures")).sort(), ["x", "x-2", "x-3"]);
      if (renews) assert.deepEqual([await run("update", "You sing it.", model), asked.length], [all, 6]);
      assert.deepEqual(await run("replay", renews ? "You sing it." : "You say it."), all);
    }
  });
}

test("a run beyond the recorded ones is reported by its number, and an update records it", async () => {
  using here = scratch();
  const { asked, model } = echo();
  const env = { CROCHET_TAPE: join(here.path, "fixtures/x") };
  const say = (CROCHET_TAPE_MODE: TapeMode, runs: number[], by = scripted([])) =>
    withEnv({ ...env, CROCHET_TAPE_MODE }, async () => {
      const said: string[] = [];
      const speaker = subject(here.path, { model: by });
      for (const i of runs) said.push((await speaker.run(`say ${i}`, { cwd: here.path })).text);
      return said;
    });
  await say("record", [1, 2], model);
  await assert.rejects(
    say("replay", [1, 2, 3]),
    /Cannot replay run 3 as there is no tape \S+\/fixtures\/x-3: .*CROCHET_TAPE_MODE=update/,
  );
  assert.deepEqual([await say("update", [1, 2, 3], model), asked.length], [["say 1", "say 2", "say 3"], 3]);
  assert.equal((await runHere(here.path, { fixture: "x-3", with: { model: scripted([]) } })).result.text, "say 3");
});

const LOOK: ScriptedReply = { tools: [{ name: "Read", input: { file_path: "tea.md" } }] };
const BREW: ScriptedReply = { tools: [{ name: "Bash", input: { command: "echo brewed > cup.md" } }] };

test("a tape that the environment renews always has the workspace it was renewed in, as it was before", async () => {
  using here = scratch({ "agent.ts": "", "tea.md": "green\n", "old.md": "old\n" });
  const cwd = here.path;
  const kept = (...paths: string[]) =>
    paths.map((path) => join(cwd, "fixtures/x/files", path)).map((path) =>
      existsSync(path) ? readFileSync(path, "utf8") : undefined
    );
  await byEnvironment(cwd, { replies: [LOOK, BREW, { text: "green it is" }] });
  assert.deepEqual(kept("tea.md", "old.md", "cup.md", "agent.ts"), ["green\n", "old\n", undefined, undefined]);

  rmSync(join(cwd, "old.md"));
  put(cwd, { "tea.md": "black\n", "new.md": "new\n" });
  const { result } = await byEnvironment(cwd, { mode: "update" });
  assert.equal(result.stop, "error", "nothing answers");
  assert.deepEqual(kept("tea.md", "old.md"), ["green\n", "old\n"], "what was not renewed is as it was");

  // The second run of a process has a second tape, which is not there: so this one is of another name.
  renameSync(join(cwd, "fixtures/x"), join(cwd, "fixtures/y"));
  const renewed = await byEnvironment(cwd, { fixture: "y", mode: "update", replies: [{ text: "black it is" }] });
  assert.equal(renewed.result.text, "black it is");
  renameSync(join(cwd, "fixtures/y"), join(cwd, "fixtures/x"));
  assert.deepEqual(kept("tea.md", "old.md", "new.md"), ["black\n", undefined, "new\n"]);
  assert.deepEqual(readdirSync(join(cwd, "fixtures/x")).sort(), ["files", "tape.jsonl"]);
  const { report } = await runHere(cwd, { fixture: "x" });
  assert.deepEqual([report.ok, report.calls.served], [true, 2]);
});

test("a recording by the environment that came to nothing leaves no files for the next, and never loses the Result", async () => {
  using here = scratch({ "tea.md": "green\n" });
  const env = { MY_TOKEN: "correct-horse-battery" };
  const { warnings, result } = await withEnv(
    env,
    () => byEnvironment(here.path, { replies: [{ text: "it is correct-horse-battery" }] }),
  );
  assert.deepEqual([result.stop, result.text], ["done", "it is correct-horse-battery"]);
  assert.match(String(warnings), /Cannot write tape .* shows the value of the environment variable MY_TOKEN/);
  assert.equal(existsSync(join(here.path, "fixtures/x")), false);
});

test("recording by the environment reports files that are not kept, and those that git ignores: a clone lacks them", async () => {
  using here = scratch({ "tea.md": "green\n", ".env": "A=b\n", "built/out.txt": "tea\n", ".gitignore": "built/\n" });
  const reported = async (fixture: string) =>
    (await byEnvironment(here.path, { fixture, replies: [{ text: "hi" }] })).warnings;
  const secret = ".env is not kept with the fixture: it is a file for secrets";
  assert.deepEqual(await reported("before"), [secret]);
  execFileSync("git", ["init", "-q", here.path]);
  const [first, ignored, ...more] = await reported("x");
  assert.deepEqual([first, more], [secret, []]);
  assert.match(
    ignored!,
    /^git ignores \S*fixtures\/x\/files\/built\/out\.txt, without which a clone cannot replay it: git add --force \S*fixtures\/x$/,
  );
});

test("no model is ever asked for a tape that cannot be written, and nothing is left behind", async () => {
  using here = scratch({ "taken": "", "tmp/x": "" });
  const { asked, model } = echo();
  await withEnv({ TMPDIR: join(here.path, "tmp") }, () =>
    assert.rejects(
      byEnvironment(here.path, { fixture: "../taken", with: { model } }),
      new RegExp(`Cannot write tape ${here.path}/taken/tape.jsonl as ${here.path}/taken is not a folder$`),
    ));
  assert.deepEqual([asked, readdirSync(join(here.path, "tmp"))], [[], ["x"]]);
});

test("a run that a person ended has not drifted, and one tape is replayed as often as it is asked for", async () => {
  using here = scratch();
  await byEnvironment(here.path, { replies: [{ text: "hello" }] });
  const again = () => byEnvironment(here.path, { mode: "replay" });
  for (const { result, warnings } of [await again(), await again()]) {
    assert.deepEqual([result.text, warnings], ["hello", []]);
  }
  const ended = await byEnvironment(here.path, { mode: "replay", signal: AbortSignal.abort() });
  assert.deepEqual([ended.result.stop, ended.warnings], ["aborted", []]);
});
