import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { test } from "node:test";
import { scratch } from "../../_scratch.ts";
import { START } from "../_fire.ts";
import { git, served, shipped } from "./_shipped.ts";

const NAME = "session-start.git-status.sh";

test("git-status shows branch, commits and what is not committed", async () => {
  using folder = scratch();
  git(folder.path, "init", "-q", "-b", "work");
  const { fire } = await shipped(NAME, folder.path);
  assert.match((await fire(START)).contexts[0]!.text, /Git branch: work\nEverything is committed\./);
  writeFileSync(`${folder.path}/a.txt`, "a");
  git(folder.path, "add", ".");
  git(folder.path, "commit", "-qm", "First of all");
  writeFileSync(`${folder.path}/b.txt`, "b");
  const [said] = (await fire(START)).contexts;
  assert.match(said!.text, /Last commits:\n\w+ First of all\nNot committed:\n\?\? b\.txt/);
});

test("git-status is silent if there is no repository", async () => {
  using folder = scratch();
  assert.deepEqual((await (await shipped(NAME, folder.path)).fire(START)).contexts, []);
});

test("git-status reaches Claude Code as plain words, Codex and Gemini as context", async () => {
  using folder = scratch();
  git(folder.path, "init", "-q", "-b", "work");
  const input = { session_id: "s", cwd: folder.path, hook_event_name: "SessionStart", source: "startup" };
  assert.match((await served(NAME, input)).stdout, /^Git branch: work\n/);
  for (const host of ["codex", "gemini"] as const) {
    const { output } = await served(NAME, input, { host });
    assert.match(
      JSON.stringify(output?.hookSpecificOutput),
      /"hookEventName":"SessionStart","additionalContext":"Git branch: work/,
    );
  }
});
