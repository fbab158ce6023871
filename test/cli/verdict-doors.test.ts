import assert from "node:assert/strict";
import { test } from "node:test";
import { commands } from "../../lib/cli/main.ts";
import replay from "../../lib/cli/replay.ts";
import { place } from "../_place.ts";
import { written } from "./_writer.ts";

/** What is typed where there is nothing to judge, or with a limit of nothing, and what is said. */
const REFUSED: readonly (readonly [line: string, says: RegExp])[] = [
  ["replay", /Cannot replay as there is no fixture/],
  ["replay --verify", /Cannot replay as there is no fixture/],
  ["replay --faults", /fixture/],
  ["replay last", /Cannot replay the last run as there is none here/],
  ["replay none -- true", /none/],
  ["eval", /fixture/],
  ["fixtures scan", /Cannot scan 'fixtures' as there is no such folder/],
  ["attack", /nothing is named that must never happen/],
  ["hooks test hooks/stop.none.ts", /stop\.none\.ts/],
  ["hooks test --in claude", /hook/],
  ["hooks check", /hook/],
  ["hooks backtest", /Cannot backtest as no log is named/],
  ["replay --time 0", /Cannot use --time 0/],
  ["replay none --time 0 -- true", /Cannot use --time 0/],
  ["attack --never pushes --runs 0", /Cannot use --runs 0/],
];

for (const [line, says] of REFUSED) {
  test(`VERDICT 1, 3, 9: 'crochet ${line}' that judges nothing ends with 2`, async () => {
    using here = place();
    const [first, ...args] = line.split(" ") as [string, ...string[]];
    const { code, err, out } = await here.call((await (await commands())[first]![1]()).default, ...args);
    assert.equal(code, 2, out + err);
    assert.match(err, says);
  });
}

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
