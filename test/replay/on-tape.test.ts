import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { textOf } from "../../lib/core/messages.ts";
import { scripted, type ScriptedReply } from "../../lib/testing/index.ts";
import { withEnv } from "../_env.ts";
import { onTape, runHere, subject } from "../_record.ts";
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

const LOOK: ScriptedReply = { tools: [{ name: "Read", input: { file_path: "tea.md" } }] };
const BREW: ScriptedReply = { tools: [{ name: "Bash", input: { command: "echo brewed > cup.md" } }] };

test("a tape that its agent renews always has the workspace it was renewed in, as it was before", async () => {
  using here = scratch({ "agent.ts": "", "tea.md": "green\n", "old.md": "old\n", ".env": "A=b\n" });
  const cwd = here.path;
  const kept = (...paths: string[]) =>
    paths.map((path) => join(cwd, "fixtures/x/files", path)).map((path) =>
      existsSync(path) ? readFileSync(path, "utf8") : undefined
    );
  await onTape(cwd, { with: { model: scripted([LOOK, BREW, { text: "green it is" }]) } });
  assert.deepEqual(kept("tea.md", "old.md", "cup.md", "agent.ts"), ["green\n", "old\n", undefined, undefined]);

  rmSync(join(cwd, "old.md"));
  put(cwd, { "tea.md": "black\n", "new.md": "new\n" });
  const renewed = async (...replies: ScriptedReply[]) => {
    const tape = { path: "fixtures/x", mode: "update" } as const;
    const warnings: string[] = [];
    const result = await subject(cwd, { model: scripted(replies), tape }).run("look", {
      cwd,
      on: (event) => void (event.type === "warning" && warnings.push(event.message)),
    });
    return { result, warnings };
  };
  assert.equal((await renewed()).result.stop, "error", "nothing answers");
  assert.deepEqual(kept("tea.md", "old.md"), ["green\n", "old\n"], "what was not renewed is as it was");

  const { result, warnings } = await renewed({ text: "black it is" });
  assert.deepEqual([result.text, warnings], ["black it is", [
    ".env is not kept with the fixture: it is a file for secrets",
  ]]);
  assert.deepEqual(kept("tea.md", "old.md", "new.md"), ["black\n", undefined, "new\n"]);
  assert.deepEqual(readdirSync(join(cwd, "fixtures/x")).sort(), ["files", "tape.jsonl"]);
  const { report } = await runHere(cwd, { fixture: "x", with: { model: scripted([]) } });
  assert.deepEqual([report.ok, report.calls.served], [true, 2]);
});

test("a recording that came to nothing leaves no files for the next, and never loses the Result", async () => {
  using here = scratch({ "tea.md": "green\n" });
  const env = { MY_TOKEN: "correct-horse-battery" };
  const { warnings, result } = await withEnv(
    env,
    () => onTape(here.path, { replies: [{ text: "it is correct-horse-battery" }] }),
  );
  assert.deepEqual([result.stop, result.text], ["done", "it is correct-horse-battery"]);
  assert.match(String(warnings), /Cannot write tape .* shows the value of the environment variable MY_TOKEN/);
  assert.equal(existsSync(join(here.path, "fixtures/x")), false);
});

test("recording always reports files that git ignores: a clone lacks them", async () => {
  using here = scratch({ "tea.md": "green\n", "built/out.txt": "tea\n", ".gitignore": "built/\n" });
  const reported = async (fixture: string) =>
    (await onTape(here.path, { fixture, replies: [{ text: "hi" }] })).warnings;
  assert.deepEqual(await reported("before"), []);
  execFileSync("git", ["init", "-q", here.path]);
  const [ignored, ...more] = await reported("x");
  assert.deepEqual(more, []);
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
      onTape(here.path, { fixture: "../taken", with: { model } }),
      new RegExp(`Cannot write tape ${here.path}/taken/tape.jsonl as ${here.path}/taken is not a folder$`),
    ));
  assert.deepEqual([asked, readdirSync(join(here.path, "tmp"))], [[], ["x"]]);
});

test("a run that a person ended has not drifted, and one tape is replayed as often as it is asked for", async () => {
  using here = scratch();
  await onTape(here.path, { replies: [{ text: "hello" }] });
  const again = () => onTape(here.path, { mode: "replay" });
  for (const { result, warnings } of [await again(), await again()]) {
    assert.deepEqual([result.text, warnings], ["hello", []]);
  }
  const ended = await onTape(here.path, { mode: "replay", signal: AbortSignal.abort() });
  assert.deepEqual([ended.result.stop, ended.warnings], ["aborted", []]);
});
