import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import type { AgentOptions } from "../../lib/agent/options.ts";
import { deny } from "../../lib/index.ts";
import { fixtureAt } from "../../lib/replay/fixture.ts";
import { readTape } from "../../lib/replay/read-tape.ts";
import { agentReview, type Review, reviewFixture } from "../../lib/replay/review.ts";
import { Edit, Read } from "../../lib/tools/index.ts";
import { nowhere, record, runHere, subject, SYSTEM, tapeText, TEA } from "../_record.ts";
import { put, scratch } from "../_scratch.ts";

/** What a review finds in the fixture of a project, whose agent has these options now. */
async function review(cwd: string, options: AgentOptions = {}): Promise<Review> {
  const fixture = fixtureAt(join(cwd, "fixtures/fix-the-typo"));
  const tape = await readTape(fixture.tape);
  const agent = subject(cwd, { model: nowhere(), ...options });
  return await reviewFixture(fixture, tape, agentReview(fixture, tape, agent, new AbortController().signal));
}

const replies = (tape: string) => tape.split("\n").filter((line) => line.startsWith('{"events"'));

test("one word of the system prompt is one change of all calls; once accepted, its replies are stale until they are updated", async () => {
  using here = scratch(TEA);
  await record(here.path);
  const before = tapeText(here.path);
  const now = { system: SYSTEM.replace("brief", "thorough") };
  const { changes, refused, accept } = await review(here.path, now);
  const [{ change }] = changes as [Review["changes"][0]];
  assert.deepEqual(
    [changes.length, change.title, change.expected, change.actual, refused],
    [1, "prompt: system", SYSTEM, now.system, undefined],
  );
  assert.deepEqual(changes[0]!.calls, ["main#1", "main#2", "main#3", "main#4"]);
  assert.equal(tapeText(here.path), before, "a review by itself changes nothing");

  await accept([], new Set([change]));
  assert.deepEqual(replies(tapeText(here.path)), replies(before));
  assert.equal(tapeText(here.path).match(/"stale":\["system"\]/g)?.length, 4);
  assert.deepEqual((await review(here.path, now)).changes, []);
  const { report } = await runHere(here.path, { with: now });
  assert.deepEqual([report.ok, report.stale], [true, 4]);

  const updated = await runHere(here.path, { with: now, mode: "update", replies: [{ text: "Nothing to fix." }] });
  assert.deepEqual([updated.report.calls.served, updated.report.calls.live], [0, 1]);
  assert.doesNotMatch(tapeText(here.path), /"stale"/);
});

test("a difference can be declared not to count: then no reply is stale", async () => {
  using here = scratch(TEA);
  const ships = (days: number) => ({ system: `It ships in ${days} days.` });
  await record(here.path, { with: ships(3) });
  const { accept } = await review(here.path, ships(27));
  await accept([{ name: "days", path: "system", pattern: "\\d+" }], new Set());
  const { report } = await runHere(here.path, { with: ships(99) });
  assert.deepEqual([report.ok, report.stale], [true, undefined]);
});

const GUARD: AgentOptions = {
  hooks: [{ preToolUse: [({ tool_name }) => tool_name === "Edit" ? deny("no") : undefined] }],
};

test("a review never accepts a run that did something else", async () => {
  const keepsGoing: AgentOptions = {
    hooks: [{ stop: [({ stop_hook_active }) => stop_hook_active ? undefined : deny("again")] }],
  };
  const others: { [how: string]: [now: AgentOptions, why: RegExp, files?: Record<string, string>] } = {
    "a call that is denied now": [GUARD, /^a call of Edit came out otherwise$/],
    "a run that is kept going": [keepsGoing, /^lane main makes 5 calls, and 4 were recorded$/],
    "a tool that is gone and was called": [{ tools: [Read, Edit] }, /^a call of Bash came out otherwise$/],
    "a call that fails now": [{}, /^a call of Edit came out otherwise$/, {
      "fixtures/fix-the-typo/files/tea.md": "nothing to replace\n",
    }],
  };
  using here = scratch(TEA);
  await record(here.path);
  for (const [how, [now, why, files = {}]] of Object.entries(others)) {
    put(here.path, files);
    assert.match((await review(here.path, now)).refused ?? "accepted", why, how);
  }
});

test("a guard that is gone is not accepted though the recorded reply still says that it held", async () => {
  using here = scratch(TEA);
  const edit = { name: "Edit", input: { file_path: "tea.md", old_string: "teh", new_string: "the" } };
  await record(here.path, { with: GUARD, replies: [{ tools: [edit] }, { text: "I am not allowed to." }] });
  assert.equal((await review(here.path)).refused, "a call of Edit came out otherwise");
});
