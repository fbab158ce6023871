import assert from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import prune from "../../lib/cli/fixtures/prune.ts";
import record from "../../lib/cli/record.ts";
import { type ScriptedReply, scriptedServer } from "../../lib/testing/index.ts";
import { place } from "../_place.ts";
import { agentScript, asked, HOOK, LONG, SYSTEM } from "./_recorded.ts";

const READ: ScriptedReply = { tools: [{ name: "Read", input: { file_path: "tea.md" } }] };

test(
  "of two processes that record one fixture at a time, one keeps it, whole, and the other says so",
  LONG,
  async () => {
    using here = place();
    here.put({ "agent.ts": agentScript(SYSTEM), "hooks/stop.ts": HOOK, "tea.md": "over teh leaves\n" });
    let calls = 0;
    let both = () => {};
    const together = new Promise<void>((resolve) => both = resolve);
    const last = async (): Promise<ScriptedReply> => {
      if (++calls === 2) both();
      await together;
      return { text: "Done." };
    };
    await using server = await scriptedServer([READ, READ, last, last]);
    const env = asked(server);
    const runs = await Promise.all([1, 2].map(() => here.crochet(["record", "agent.ts", "fix it"], env)));
    assert.deepEqual(runs.map(({ code }) => code).sort(), [0, 1]);
    const lost = runs.find(({ code }) => code === 1)!;
    assert.match(
      lost.err,
      /^crochet: Cannot write tape \S+ as it is there already: replay it with --update, or delete it\n$/,
    );
    assert.deepEqual(readdirSync(join(here.cwd, "fixtures/fix-it")).sort(), ["files", "tape.jsonl"]);
    const { code, out } = await here.crochet(["replay"]);
    assert.equal(code, 0, out);
  },
);

test("a run that failed before it asked a model is not kept, and the reason is told", LONG, async () => {
  using here = place();
  here.put({ "agent.ts": agentScript(SYSTEM), "tea.md": "a" });
  const { code, err } = await here.crochet(["record", "agent.ts", "fix it"], { ANTHROPIC_API_KEY: "not-a-key" });
  assert.equal(code, 1);
  assert.match(
    err,
    /^crochet: Cannot record \S+ as the run failed before the model was asked: Cannot read hooks folder/,
  );
  assert.equal(existsSync(join(here.cwd, "fixtures/fix-it")), false);
});

test(
  "a script with blanks in its path is always taken for one, and a mistake in it has its whole place",
  LONG,
  async () => {
    using here = place();
    const folder = join(here.cwd, "my agents");
    here.put({ "my agents/the agent.ts": "const x: number = 1;\n\nthrow new Error(`no ${x}`);\n" });
    const { code, err } = await here.crochet(["record", "my agents/the agent.ts", "fix it"]);
    assert.equal(code, 1);
    assert.ok(err.startsWith(`crochet: Cannot load '${folder}/the agent.ts' as no 1: ${folder}/the agent.ts:3:`), err);
  },
);

test("a fixture never has a name that no folder can have, nor that of the folder of long texts", async () => {
  using w = place();
  const long = await w.call(record, "say hi", "--fixture", "x".repeat(101));
  assert.deepEqual([long.code, /use up to 100 letters/.test(long.err)], [2, true]);
  const blobs = await w.call(record, "say hi", "--fixture", "blobs");
  assert.deepEqual([blobs.code, /as that folder holds long texts of all fixtures/.test(blobs.err)], [2, true]);
  assert.equal(existsSync(join(w.cwd, "fixtures")), false);
});

test("prune never removes what a tape of any name needs, nor what is no blob", async () => {
  using w = place();
  const [used, deep, orphan] = ["a", "b", "c"].map((digit) => digit.repeat(64));
  w.put({ "fixtures/x/second.jsonl": `{"prompt":{"$blob":"${used}"}}\n` });
  w.put({ "fixtures/group/y/tape.jsonl": `{"prompt": {"$blob": "${deep}"}}\n` });
  for (const name of [used, deep, orphan, "tape.jsonl", "files/notes.md"]) {
    w.put({ [`fixtures/blobs/${name}`]: "text" });
  }
  assert.match((await w.call(prune, "nowhere")).err, /Cannot prune 'nowhere' as there is no such folder/);
  const { out } = await w.call(prune);
  assert.equal(out, `${orphan}\n1 blob removed\n`);
  assert.deepEqual(readdirSync(join(w.cwd, "fixtures/blobs")).sort(), [used, deep, "files", "tape.jsonl"].sort());
});
