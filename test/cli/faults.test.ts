import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import fixtures from "../../lib/cli/fixtures.ts";
import replay from "../../lib/cli/replay.ts";
import { agent } from "../../lib/agent.ts";
import { replay as replayed, scripted } from "../../lib/testing/index.ts";
import { Write } from "../../lib/tools/index.ts";
import { sharedData } from "../_shared.ts";
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
  const { CI } = process.env;
  delete process.env.CI;
  try {
    const writer = agent({ name: "writer", system: "You write.", tools: [Write], model });
    const tape = { path: `${w.cwd}/fixtures/write`, mode: "record" as const, agent: "agent.ts" };
    assert.equal((await writer.run("Write it", { cwd: `${w.cwd}/place`, tape })).stop, "done");
  } finally {
    if (CI !== undefined) process.env.CI = CI;
  }
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

const STREAM = [
  '{"type":"message_start","message":{"id":"m","type":"message","role":"assistant","model":"claude-opus-5","content":[],"usage":{}}}',
  '{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"hi"}}',
  '{"type":"content_block_stop","index":0}',
  '{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":1}}',
  '{"type":"message_stop"}',
].join("\n");

test("crochet fixtures import makes tapes that the census counts, and says what it refuses and why", async () => {
  using w = place({ "old/hi.chunks.txt": STREAM, "old/sub/hi.txt": STREAM, "old/notes.md": "# Notes\n" });
  const imported = await w.call(fixtures, "import", "old");
  assert.equal(imported.code, 1);
  assert.match(
    imported.out,
    /old\/hi\.chunks\.txt +vercel-chunks +1 +fixtures\/imported\/old-hi\/tape\.jsonl +call 1 has a stand-in/,
  );
  assert.match(imported.out, /fixtures\/imported\/sub-hi\/tape\.jsonl/);
  assert.match(
    imported.out,
    /✗ Cannot import 'old\/notes\.md' as it is in none of the known formats: vcrpy, cassetter,/,
  );
  assert.match(imported.out, /2 imported, 1 refused\n$/);
  assert.equal((await w.call(fixtures, "import", "old/hi.chunks.txt")).code, 0);
  const again = await w.call(fixtures, "import", "old/hi.chunks.txt");
  assert.match(
    again.out,
    /✗ Cannot import .* as fixtures\/imported\/hi\/tape\.jsonl is there already: write over it with --replace/,
  );
  assert.equal((await w.call(fixtures, "import", "old/hi.chunks.txt", "--replace")).code, 0);

  const counted = await w.call(fixtures, "census");
  assert.deepEqual([counted.code, counted.err], [0, ""]);
  assert.match(counted.out, /^3 tapes, 3 calls, 3 attempts, 3 streams\n/);
  assert.match(counted.out, /\nblocks +text 3\n +lacks thinking, /);
  assert.match(counted.out, /\nmodels +claude-opus-5 3\n +lacks /);
  const data = JSON.parse((await w.call(fixtures, "census", "fixtures", "--json")).out);
  assert.deepEqual(data.of.stops.covers, { end_turn: 3 });
  w.put({ "fixtures/torn/tape.jsonl": "{" });
  const torn = await w.call(fixtures, "census");
  assert.equal(torn.code, 1);
  assert.match(torn.err, /fixtures\/torn\/tape\.jsonl: Cannot read tape/);
  assert.equal((await w.call(fixtures, "census", "nowhere")).code, 2);
  assert.equal((await w.call(fixtures, "import")).code, 2);
  assert.equal((await w.call(fixtures, "import", "nowhere")).code, 2);
});

const cassettes = sharedData("cassettes");

test("all shared recordings become tapes on disk but the spliced one", {
  skip: cassettes === undefined && "shared data is not here",
  timeout: 120_000,
}, async () => {
  using w = place();
  const { out, code } = await w.call(fixtures, "import", cassettes!, "--json");
  assert.equal(code, 1);
  const outcomes: { file: string; refused?: string; tape?: string }[] = JSON.parse(out);
  const refused = outcomes.filter((outcome) => outcome.refused !== undefined).map(({ file }) => file.split("/").at(-1));
  assert.deepEqual(refused, ["README.md", "manifest.json", "spliced-message-start.chunks.txt"]);
  assert.equal(new Set(outcomes.flatMap(({ tape }) => tape ?? [])).size, 39);
  const counted = await w.call(fixtures, "census");
  assert.match(counted.out, /^39 tapes, 75 calls, 75 attempts, 41 streams\n/);
  assert.equal((await w.call(fixtures, "scan")).code, 0);
});
