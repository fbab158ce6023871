import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import record from "../../lib/cli/record.ts";
import replay from "../../lib/cli/replay.ts";
import { readHeader } from "../../lib/replay/read-tape.ts";
import { type ScriptedReply, scriptedServer } from "../../lib/testing/index.ts";
import { place } from "../_place.ts";
import { SYSTEM } from "../_record.ts";
import { agentOn, HOOK } from "./_recorded.ts";

const RUN: readonly ScriptedReply[] = [
  { tools: [{ name: "Read", input: { file_path: "tea.md" } }, { name: "Read", input: { file_path: "cup.md" } }] },
  { tools: [{ name: "Edit", input: { file_path: "tea.md", old_string: "teh", new_string: "the" } }] },
  { tools: [{ name: "Bash", input: { command: "set -C; cat tea.md > brewed.md && rm old.md && ls *.md" } }] },
  { text: "brewed" },
];

test("replay --verify of an unchanged 'record --tools' holds, whatever its run wrote, and tells a changed file", async () => {
  await using server = await scriptedServer(RUN);
  using here = place({ "tea.md": "over teh leaves\n", "cup.md": "white\n", "old.md": "cold\n" });
  here.put({ "agent.ts": agentOn(server, SYSTEM), "hooks/stop.ts": HOOK });
  const made = await here.call(record, "agent.ts", "brew", "--tools");
  assert.deepEqual([made.code, made.err], [0, ""], made.out);
  const left = () => ["tea.md", "brewed.md"].map((path) => readFileSync(join(here.cwd, path), "utf8"));
  assert.deepEqual([...left(), existsSync(join(here.cwd, "old.md"))], [
    "over the leaves\n",
    "over the leaves\n",
    false,
  ]);
  assert.deepEqual(readHeader(join(here.cwd, "fixtures/brew/tape.jsonl")).made, ["brewed.md"]);
  for (const how of [["--verify"], []]) {
    const { code, out, err } = await here.call(replay, ...how);
    assert.deepEqual([code, /^brew +held +4\/4/m.test(out)], [0, true], out + err);
  }
  assert.deepEqual([...left(), existsSync(join(here.cwd, "old.md"))], [
    "over the leaves\n",
    "over the leaves\n",
    false,
  ]);
  here.put({ "cup.md": "blue\n" });
  const { code, out } = await here.call(replay, "--verify");
  assert.equal(code, 1);
  assert.match(out, /tool: result\.content of Read is not what was recorded[^]*- .*white\n.*\+ .*blue/);
});

// Kills: the proof of an agent on the module that was loaded for its recording, and one whose failure is ignored.
test("record says that an agent does not replay whose script says something else each time it is loaded, with 1", async () => {
  await using server = await scriptedServer([{ text: "brewed" }]);
  using here = place({ "hooks/stop.ts": HOOK });
  here.put({ "agent.ts": agentOn(server, "ID").replace('"ID"', "`You are ${crypto.randomUUID()}.`") });
  here.given.processes = true;
  const { code, out, err } = await here.main(["record", "agent.ts", "brew"]);
  assert.equal(code, 1, out + err);
  assert.match(out, /^recorded fixtures\/brew: done, .*, but it does not replay unchanged: declare what differs/);
  assert.match(err, /^ {2}prompt: system is not what was recorded[^]*- You are .*\n.*\+ You are /);
});
