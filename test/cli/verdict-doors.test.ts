import assert from "node:assert/strict";
import { test } from "node:test";
import { commands } from "../../lib/cli/main.ts";
import replay from "../../lib/cli/replay.ts";
import { recorded, scriptedServer } from "../../lib/testing/index.ts";
import { withEnv } from "../_env.ts";
import { place } from "../_place.ts";
import { written } from "./_writer.ts";

/** What is typed where there is nothing to judge, or with a limit of nothing, and what is said. */
const REFUSED: readonly (readonly [line: string, says: RegExp])[] = [
  ["replay", /Cannot replay as there is no fixture/],
  ["replay --verify", /Cannot replay as there is no fixture/],
  ["replay --faults", /fixture/],
  ["replay last", /Cannot replay the last run as there is none here/],
  ["tape replay none -- true", /none/],
  ["eval", /fixture/],
  ["fixtures scan", /Cannot scan 'fixtures' as there is no such folder/],
  ["attack", /nothing is named that must never happen/],
  ["hooks test hooks/stop.none.ts", /stop\.none\.ts/],
  ["hooks test --in claude", /hook/],
  ["hooks check", /hook/],
  ["hooks backtest", /Cannot backtest as no session log is named/],
  ["replay --time 0", /Cannot use --time 0/],
  ["tape replay none --time 0 -- true", /Cannot use --time 0/],
  ["attack --never pushes --runs 0", /Cannot use --runs 0/],
];

for (const [line, says] of REFUSED) {
  test(`VERDICT 1, 3, 9: 'crochet ${line}' that judges nothing ends with 2`, async () => {
    using here = place();
    const [first, ...args] = line.split(" ") as [string, ...string[]];
    const { code, err, out } = await here.call((await commands()[first]![1]()).default, ...args);
    assert.equal(code, 2, out + err);
    assert.match(err, says);
  });
}

test("VERDICT 1: a fixture of recorded() is not measured, with the command that runs its test", async () => {
  using here = place({ "package.json": `{ "scripts": { "test": "bun test" } }` });
  await using api = await scriptedServer([{ text: "hello" }]);
  const before = process.cwd();
  const env = { ANTHROPIC_BASE_URL: api.url, CROCHET_RECORD: "1", CI: undefined };
  await withEnv(env, async () => {
    process.chdir(here.cwd);
    try {
      await recorded("greets", async () => {
        const body = JSON.stringify({ model: "m", max_tokens: 9, messages: [{ role: "user", content: "hi" }] });
        const headers = { "x-api-key": "none", "anthropic-version": "2023-06-01" };
        await (await fetch(`${process.env.ANTHROPIC_BASE_URL}/v1/messages`, { method: "POST", headers, body })).text();
      });
    } finally {
      process.chdir(before);
    }
  });
  const { code, out } = await here.call(replay, "--trust", "--json");
  const { word, planned, items: [{ why }] } = JSON.parse(out);
  assert.deepEqual([code, word, planned], [3, "not measured", 1]);
  assert.match(why, /Its requests are of recorded\(\) in a test, which replays them: npm test$/);
});

test("VERDICT 5: a grader.ts beside a tape makes that fixture cannot run, and the others are judged", async () => {
  using here = await written({ talk: [{ text: "Hello." }], other: [{ text: "Hello." }] });
  here.put({ "fixtures/talk/grader.ts": "" });
  const { code, out } = await here.call(replay, "--trust", "--json");
  const items: { name: string; word: string; why?: string }[] = JSON.parse(out).items;
  assert.equal(code, 2, out);
  assert.deepEqual(items.map(({ name, word }) => [name, word]).sort(), [["other", "held"], ["talk", "cannot run"]]);
  const { why } = items.find(({ name }) => name === "talk")!;
  assert.match(why!, /as grader\.ts beside it is not loaded: rename it to grade\.LABEL\.ts$/);
});
