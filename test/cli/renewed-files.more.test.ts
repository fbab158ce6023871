import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { type ScriptedReply, scriptedServer } from "../../lib/testing/index.ts";
import { ended, type Exit } from "../_crochet.ts";
import { type Place, place } from "../_place.ts";
import { OUR_RUNTIME } from "../_runtime.ts";
import { agentScript, asked, HOOK, LONG, MAIN, recorded, SYSTEM } from "./_recorded.ts";

/** Runs the agent's own script with a tape that the environment names. */
async function run({ cwd, home }: Place, mode: string, replies: readonly ScriptedReply[], env = {}): Promise<Exit> {
  await using server = await scriptedServer(replies);
  const tape = { CROCHET_TAPE: "fixtures/x", CROCHET_TAPE_MODE: mode };
  return await ended([...OUR_RUNTIME, join(cwd, "agent.ts"), "look"], {
    cwd,
    env: { HOME: home, ...tape, ...asked(server), ...env },
  });
}

const LOOK: ScriptedReply = { tools: [{ name: "Read", input: { file_path: "tea.md" } }] };
const BREW: ScriptedReply = { tools: [{ name: "Bash", input: { command: "echo brewed > cup.md" } }] };

test("a tape that the environment renews always has the workspace it was renewed in, as it was before", async () => {
  using here = place();
  const kept = (path: string) => {
    const file = join(here.cwd, "fixtures/x/files", path);
    return existsSync(file) ? readFileSync(file, "utf8") : undefined;
  };
  here.put({
    "agent.ts": `${agentScript(SYSTEM)}${MAIN}`,
    "hooks/stop.ts": HOOK,
    "tea.md": "green\n",
    "old.md": "old\n",
  });
  const first = await run(here, "record", [LOOK, BREW, { text: "green it is" }]);
  assert.deepEqual([first.code, first.out], [0, "green it is\n"], first.err);
  assert.deepEqual(["tea.md", "old.md", "cup.md"].map(kept), ["green\n", "old\n", undefined]);

  rmSync(join(here.cwd, "old.md"));
  here.put({ "tea.md": "black\n", "new.md": "new\n" });
  const failed = await run(here, "update", []);
  assert.notEqual(failed.code, 0, "nothing answers");
  assert.deepEqual(["tea.md", "old.md"].map(kept), ["green\n", "old\n"], "what was not renewed is as it was");

  const renewed = await run(here, "update", [{ text: "black it is" }]);
  assert.deepEqual([renewed.code, renewed.out], [0, "black it is\n"], renewed.err);
  assert.deepEqual(["tea.md", "old.md", "new.md"].map(kept), ["black\n", undefined, "new\n"]);
  assert.deepEqual(readdirSync(join(here.cwd, "fixtures/x")).sort(), ["files", "tape.jsonl"]);
  const { out, code } = await here.crochet(["replay", "--trust"], { CI: "true" });
  assert.equal(code, 0, out);
  assert.match(out, /x +ok +2\/2/);
});

test("a recording by the environment that came to nothing leaves no files for the next", async () => {
  using here = place();
  here.put({ "agent.ts": `${agentScript(SYSTEM)}${MAIN}`, "hooks/stop.ts": HOOK, "tea.md": "green\n" });
  const shown = await run(here, "record", [{ text: "it is correct-horse-battery" }], {
    MY_TOKEN: "correct-horse-battery",
  });
  assert.match(shown.err, /Cannot write tape .* shows the value of the environment variable MY_TOKEN/);
  assert.equal(existsSync(join(here.cwd, "fixtures/x/files")), false);
  here.put({ "tea.md": "black\n" });
  assert.equal((await run(here, "record", [{ text: "hello" }])).code, 0);
  assert.equal(readFileSync(join(here.cwd, "fixtures/x/files/tea.md"), "utf8"), "black\n");
});

test("replay --update always renews a run that left other files, without a model", LONG, async () => {
  using here = place();
  await recorded(here);
  here.put({ "fixtures/fix-the-typo/files/new.md": "new\n" });
  const drifted = await here.crochet(["replay"]);
  assert.match(drifted.out, /fix-the-typo\n +new\.md is a new file\n$/);
  const renewed = await here.crochet(["replay", "--update"]);
  assert.equal(renewed.code, 0, renewed.out);
  const { code, out } = await here.crochet(["replay"]);
  assert.equal(code, 0, out);
});

test("replay --update of what 'record --tools' made works in the directory itself, as that did", LONG, async () => {
  using here = place({ "hooks/stop.ts": HOOK, "tea.md": "green\n", "agent.ts": agentScript(SYSTEM) });
  const crochet = async (replies: readonly ScriptedReply[], ...args: string[]) => {
    await using server = await scriptedServer(replies);
    return await here.crochet(args, asked(server));
  };
  const first = await crochet([LOOK, { text: "green" }], "record", "agent.ts", "look", "--tools");
  assert.deepEqual([first.code, first.err], [0, ""]);
  here.put({ "agent.ts": agentScript("You brew."), "tea.md": "black\n" });
  const renewed = await crochet([LOOK, BREW, { text: "brewed" }], "replay", "--update");
  assert.deepEqual([renewed.code, renewed.err], [
    0,
    "recording look again in this directory: 2 calls, 30 tokens, < $0.01\n",
  ], renewed.out);
  assert.equal(readFileSync(join(here.cwd, "cup.md"), "utf8"), "brewed\n");
  const tools = readFileSync(join(here.cwd, "fixtures/look/tape.jsonl"), "utf8").split("\n")
    .filter((line) => line.startsWith('{"tool"')).map((line) => JSON.parse(line));
  assert.deepEqual(tools.map(({ name, files }) => [name, files]), [["Read", undefined], ["Bash", {
    "cup.md": "brewed\n",
  }]]);
  assert.match(tools[0].result.content, /black/);
  const both = await here.crochet(["replay", "--verify", "--update"]);
  assert.deepEqual([both.code, both.out], [2, ""], "what --verify finds has no price");
  assert.match(both.err, /^crochet: Cannot use --update with --verify as /);
  const verified = await here.crochet(["replay", "--verify"]);
  assert.match(
    verified.out,
    /tool: result\.content of Read is not [^]*\n +it has no files: its tools and hooks ran in an empty folder; recorded without --tools it has them\n/,
  );
  const { code, out } = await here.crochet(["replay"], { CI: "true" });
  assert.equal(code, 0, out);
});
