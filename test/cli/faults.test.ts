import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import replay from "../../lib/cli/replay.ts";
import { agent } from "../../lib/agent.ts";
import { replay as replayed, scripted } from "../../lib/testing/index.ts";
import { Write } from "../../lib/tools/index.ts";
import { withEnv } from "../_env.ts";
import { place } from "../_place.ts";

const LONG = { timeout: 300_000 };
const lib = (path: string) => fileURLToPath(new URL(`../../lib/${path}`, import.meta.url));

const AGENT = `import { agent } from "${lib("agent.ts")}";
import { Write } from "${lib("tools/index.ts")}";
export default agent({ name: "writer", system: "You write.", tools: [Write] });
`;

/** A project with one recorded run that writes a file. */
async function project() {
  const w = place({
    "fixtures/write/agent.ts": AGENT,
    "fixtures/write/files/README": "a\n",
    "place/README": "a\n",
  });
  const model = scripted([
    { tools: [{ name: "Write", input: { file_path: "a.txt", content: "hello, world\n" } }] },
    { text: "It is written." },
  ]);
  const writer = agent({ name: "writer", system: "You write.", tools: [Write], model });
  const tape = { path: `${w.cwd}/fixtures/write`, mode: "record" as const, agent: "agent.ts" };
  const { stop } = await withEnv({ CI: undefined }, () => writer.run("Write it", { cwd: `${w.cwd}/place`, tape }));
  assert.equal(stop, "done");
  return w;
}

test(
  "crochet replay --faults searches every fixture, finds what an agent does not survive and keeps it",
  LONG,
  async () => {
    using w = await project();
    const survived = await w.call(replay, "--faults", "40");
    assert.deepEqual([survived.code, survived.err], [0, ""]);
    assert.match(survived.out, /^fixture +schedules +result\nwrite +40 +survived\n$/);
    assert.ok(!existsSync(`${w.cwd}/fixtures/write/write.fault.json`));

    w.put({
      "fixtures/write/invariants.ts": `export default [{
      name: "it never says that it is written where it is not",
      broken: ({ results, files }) =>
        results.at(-1)?.text === "It is written." && files.get("a.txt") !== "hello, world\\n" ? "a.txt is not there" : undefined,
    }];\n`,
    });
    const found = await w.call(replay, "--faults=200", "--seed", "5", "write");
    assert.equal(found.code, 1);
    assert.match(found.out, /write +\d+ +broke\n/);
    assert.match(found.out, /✗ write: it never says that it is written where it is not: a\.txt is not there/);
    assert.match(found.out, / call 1, tool_use:Write.*: (json|stop)/);
    assert.match(found.out, /kept in fixtures\/write\/write\.fault\.json: every replay tries it again/);
    const kept = JSON.parse(readFileSync(`${w.cwd}/fixtures/write/write.fault.json`, "utf8"));
    assert.equal(kept.length, 1);
    assert.match(kept[0].faults.join(), /^call 1, tool_use:Write/);

    const json = JSON.parse((await w.call(replay, "--faults=200", "--seed", "5", "--json")).out);
    assert.deepEqual(json[0].faults, kept[0].faults);
  },
);

test("what a search has kept is tried again by every replay, on the command line and in tests", LONG, async () => {
  using w = await project();
  const writer = agent({ name: "writer", system: "You write.", tools: [Write] });
  const kept = [{ broke: "once", faults: ["call 1, tool_use:Write, delta 1: cut"] }];
  w.put({ "fixtures/write/write.fault.json": JSON.stringify(kept) });
  const good = await w.call(replay);
  assert.deepEqual([good.code, good.err], [0, ""], good.out);
  assert.equal((await replayed(writer, "write", { cwd: w.cwd })).text, "It is written.");

  w.put({ "fixtures/write/invariants.ts": `export default [{ name: "never", broken: () => "always broken" }];\n` });
  const bad = await w.call(replay, "write");
  assert.equal(bad.code, 1);
  const words =
    /Cannot accept the agent of 'write' as it does not survive 'call 1, tool_use:Write, delta 1: cut' .*never: always broken/;
  assert.match(bad.out, words);
  await assert.rejects(replayed(writer, "write", { cwd: w.cwd }), words);

  w.put({ "fixtures/write/write.fault.json": JSON.stringify([{ broke: "once", faults: ["call 7: cut"] }]) });
  assert.match((await w.call(replay, "write")).out, /the tape has no such call: it has 2 calls/);
});

test(
  "crochet replay --faults takes a preset, a fixture's name without a number, and explains what it cannot do",
  LONG,
  async () => {
    using w = await project();
    assert.match((await w.call(replay, "--faults", "overloaded")).out, /write +1 +survived/);
    assert.match((await w.call(replay, "--faults", "write")).out, /write +100 +survived/);
    const unknown = await w.call(replay, "--faults", "nothing");
    assert.equal(unknown.code, 2);
    assert.match(unknown.err, /Cannot replay 'nothing' as there is no such fixture/);
    assert.match(
      (await w.call(replay, "--faults", "5", "--seed", "x")).err,
      /Cannot search with --seed x as it is no number/,
    );
    w.put({ "fixtures/write/invariants.ts": "export default 1;\n" });
    assert.match((await w.call(replay, "--faults", "5")).out, /it exports no list of invariants/);
    assert.match((await w.call(replay, "--help")).out, /Presets of --faults\n {2}overloaded, rate-limited/);
  },
);
