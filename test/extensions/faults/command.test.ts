import assert from "node:assert/strict";
import { chmodSync, existsSync, readFileSync, rmSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import replay from "../../../lib/cli/replay.ts";
import { replay as replayed } from "../../../lib/testing/index.ts";
import { rounds } from "../../_counts.ts";
import { WRITER, writer, written } from "../../cli/_writer.ts";

test(
  "crochet replay --faults searches every fixture, finds what an agent does not survive and keeps it",
  async () => {
    using w = await written();
    const survived = await w.call(replay, "--faults", "42");
    assert.deepEqual([survived.code, survived.err], [0, ""]);
    assert.match(
      survived.out,
      /^fixture +schedules +result +single faults\nwrite +42 +held +38 of 38\n\nheld: 1 fixture\n$/,
    );
    assert.ok(!existsSync(`${w.cwd}/fixtures/write/write.fault.json`));

    w.put({
      "fixtures/write/invariants.ts": `export default [{
      name: "it never claims a file that it did not write",
      broken: ({ results, files }) =>
        results.at(-1)?.text === "It is written." && files.get("a.txt") !== "hello, world\\n" ? "a.txt is not there" : undefined,
    }];\n`,
    });
    const found = await w.call(replay, "--faults=200", "--seed", "5", "write");
    assert.equal(found.code, 1);
    assert.match(found.out, /write +\d+ +broken +\d+ of 38\n/);
    assert.match(found.out, /✗ write: it never claims a file that it did not write: a\.txt is not there/);
    assert.match(found.out, /\n {2}tool 1, Write: throws\n/);
    assert.match(found.out, /kept in fixtures\/write\/write\.fault\.json: every replay tries it again/);
    const kept = JSON.parse(readFileSync(`${w.cwd}/fixtures/write/write.fault.json`, "utf8"));
    assert.equal(kept.length, 1);
    assert.deepEqual(kept[0].faults, ["tool 1, Write: throws"]);

    const again = await w.call(replay, "--faults=200", "--seed", "5", "--json", "--junit", "faults.xml");
    const { items: [{ faults, runs }] } = JSON.parse(again.out);
    assert.deepEqual([faults, runs], [kept[0].faults, 0], "what was kept is tried before anything is searched");
    const report = readFileSync(`${w.cwd}/faults.xml`, "utf8");
    assert.match(report, /tests="1" failures="1" errors="0"/);
    assert.match(
      report,
      /<failure message="Cannot accept the agent of 'write' as it does not survive 'tool 1, Write: throws'/,
    );
  },
);

test("what a search has kept is tried again by every replay, on the command line and in tests", async () => {
  using w = await written();
  const kept = [{ broke: "once", faults: ["call 1, tool_use:Write, delta 1: cut"] }];
  w.put({ "fixtures/write/write.fault.json": JSON.stringify(kept) });
  const good = await w.call(replay);
  assert.deepEqual([good.code, good.err], [0, ""], good.out);
  assert.equal((await replayed(writer, "write", { cwd: w.cwd })).text, "It is written.");

  // The plain run makes two calls: only the cut one is broken.
  w.put({
    "fixtures/write/invariants.ts": `export default [{
      name: "never",
      broken: ({ run }) => run.asked.length > 2 ? "always broken" : undefined,
    }];\n`,
  });
  const bad = await w.call(replay, "write");
  assert.equal(bad.code, 1);
  const words =
    /Cannot accept the agent of 'write' as it does not survive 'call 1, tool_use:Write, delta 1: cut' .*never: always broken/;
  assert.match(bad.out, words);
  await assert.rejects(replayed(writer, "write", { cwd: w.cwd }), words);

  w.put({ "fixtures/write/write.fault.json": JSON.stringify([{ broke: "once", faults: ["call 7: cut"] }]) });
  const misplaced = (await w.call(replay, "write")).out;
  assert.match(
    misplaced,
    /Cannot try the faults of .*write\.fault\.json again .*the tape has no such call: it has 2 calls/,
  );
  assert.match(misplaced, /take the entry out, and search again with 'crochet replay write --faults'/);

  w.put({
    "fixtures/write/invariants.ts": "export default [];\n",
    "fixtures/write/write.fault.json": JSON.stringify([{ broke: "once", faults: ["tool 1, Edit: throws"] }]),
  });
  const unused = /'tool 1, Edit: throws' as the run used no such tool: it used Write\): take the entry out/;
  assert.match((await w.call(replay, "write")).out, unused);
});

test(
  "a search begins with kept faults, and reports at once what still breaks; a preset is tried alone",
  async () => {
    using w = await written();
    const seen = `${w.cwd}/seen.txt`;
    w.put({
      "fixtures/write/write.fault.json": JSON.stringify([
        { broke: "once", faults: ["call 2: http:503"] },
        { broke: "once", faults: ["call 2, text, delta 1: stop:refusal"] },
      ]),
      "fixtures/write/invariants.ts": `import { appendFileSync } from "node:fs";
export default [{
  name: "mine",
  broken: ({ results }) => (appendFileSync(${
        JSON.stringify(seen)
      }, "."), results[0].stop === "refused" ? "it is" : undefined),
}];\n`,
    });
    const { code, out } = await w.call(replay, "--faults", "50");
    assert.equal(code, 1);
    assert.match(
      out,
      /write +0 +broken\n\n✗ write: mine: it is\n {2}call 2, text, delta 1: stop:refusal\n {2}kept in .*\n {2}no further search was made, as an earlier search found this\n\nbroken: 1 fixture\n$/,
    );
    assert.equal(readFileSync(seen, "utf8"), "...", "a run without faults comes first");
    w.put({ "fixtures/write/write.fault.json": JSON.stringify([{ broke: "once", faults: ["call 2: http:503"] }]) });
    w.put({ "seen.txt": "" });
    assert.match((await w.call(replay, "--faults", "overloaded")).out, /write +1 +held\n/);
    assert.equal(readFileSync(seen, "utf8"), "..", "a preset is all that was asked for, beside a run without faults");
    // A file of another name, as a runtime reads a module once.
    rmSync(`${w.cwd}/fixtures/write/invariants.ts`);
    w.put({
      "fixtures/write/invariants.mjs":
        `export default [{ name: "mine", broken: ({ results }) => results[0].stop === "error" ? "it failed" : undefined }];\n`,
    });
    assert.match(
      (await w.call(replay, "--faults", "down")).out,
      /write +1 +broken\n\n✗ write: mine: it failed\n {2}call/,
    );
    const [, { faults }] = JSON.parse(readFileSync(`${w.cwd}/fixtures/write/write.fault.json`, "utf8"));
    assert.equal(faults.length, 1, "what a preset breaks by is made as small as what a search finds");
  },
);

test("invariants beside a fixture are read whichever kind of module they are", async () => {
  for (const kind of ["ts", "js", "mjs"]) {
    using w = await written();
    w.put({ [`fixtures/write/invariants.${kind}`]: `export default [{ name: "mine", broken: () => "${kind}" }];\n` });
    assert.match((await w.call(replay, "--faults", "overloaded")).out, new RegExp(`✗ write: mine: ${kind}\n`));
  }
});

test("a damaged file of kept faults is reported before a search that could lose what it finds", async () => {
  using w = await written();
  w.put({
    "fixtures/write/invariants.ts": `export default [{ name: "never", broken: () => "always broken" }];\n`,
    "fixtures/write/write.fault.json": "[",
  });
  for (const faults of ["5", "overloaded"]) {
    const { code, out } = await w.call(replay, "--faults", faults);
    assert.equal(code, 2);
    assert.match(
      out,
      /write +0 +cannot run\n[^]*Cannot read .*write\.fault\.json as it is not what a search for faults writes/,
    );
  }
  assert.equal(readFileSync(`${w.cwd}/fixtures/write/write.fault.json`, "utf8"), "[");
});

test("invariants that cannot be loaded are reported with their file", async () => {
  using w = await written();
  w.put({ "fixtures/write/invariants.ts": "export default [\n" });
  const { code, out } = await w.call(replay, "--faults", "5");
  assert.equal(code, 2);
  assert.match(out, /Cannot load '\S+\/fixtures\/write\/invariants\.ts' as \w/);
});

test("a search always reports its seed, and the seed repeats it", async () => {
  using w = await written();
  for (let i = 0; i < rounds(1, 3, 3); i++) {
    const { items: [{ seed }] } = JSON.parse((await w.call(replay, "--faults", "1", "--json")).out);
    const again = await w.call(replay, "--faults", "1", "--seed", String(seed), "--json");
    assert.equal(JSON.parse(again.out).items[0].seed, seed, again.err);
  }
});

test(
  "crochet replay --faults takes a preset, a fixture's name without a number, and explains what it cannot do",
  async () => {
    using w = await written();
    assert.match((await w.call(replay, "--faults", "overloaded")).out, /write +1 +held/);
    using broken = await written();
    broken.put({ "fixtures/write/invariants.ts": `export default [{ name: "mine", broken: () => "always" }];\n` });
    assert.match(
      (await broken.call(replay, "--faults", "write")).out,
      /write +0 +broken\n\n✗ write: mine: always\n {2}without/,
    );
    const words = fileURLToPath(new URL("../../../fixtures/hello", import.meta.url)); // a run without tools
    const placeless = await w.call(replay, "--trust", "--faults", "bad-json", words);
    assert.match(placeless.out, /Its tape has no place for the faults of 'bad-json'/);
    assert.equal(placeless.code, 3);
    const unknown = await w.call(replay, "--faults", "nothing");
    assert.equal(unknown.code, 2);
    assert.match(
      unknown.err,
      /Cannot replay 'nothing' as there is no such fixture, and --faults takes a number or a preset: overloaded, /,
    );
    for (const flag of ["--update", "--verify", "--hooks=.", "--normalise=a"]) {
      const both = await w.call(replay, "--faults", "5", flag);
      assert.equal(both.code, 2, flag);
      assert.match(
        both.err,
        /Cannot use --\w+ with --faults as a search compares and records nothing: leave one of them out/,
      );
    }
    assert.match((await w.call(replay, "--seed", "5")).err, /Cannot replay with --seed as nothing is searched/);
    assert.match(
      (await w.call(replay, "--faults", "5", "--seed", "x")).err,
      /Cannot use --seed x as it is not a number/,
    );
    using listless = await written();
    listless.put({ "fixtures/write/invariants.ts": "export default 1;\n" });
    assert.match((await listless.call(replay, "--faults", "5")).out, /it exports no list of invariants/);
    assert.match((await w.call(replay, "--help")).out, /Presets of --faults\n {2}overloaded, rate-limited/);
  },
);

test("a search finds a guard of a shell script that lets a denied call pass when it fails", async () => {
  using w = await written();
  const guard = (config: string) =>
    w.put({
      "fixtures/write/hooks/pre-tool-use@Write.no.sh": `#!/bin/sh\n# crochet: ${config}\necho no >&2\nexit 2\n`,
    });
  w.put({ "fixtures/write/agent.ts": WRITER.replace("tools:", 'hooks: "./hooks", from: import.meta.url, tools:') });
  guard("timeout=20");
  chmodSync(`${w.cwd}/fixtures/write/hooks/pre-tool-use@Write.no.sh`, 0o755);
  const open = await w.call(replay, "--faults", "200", "--seed", "2", "--json");
  const { items: [{ faults, broke }] } = JSON.parse(open.out);
  assert.deepEqual(faults, ["hook pre-tool-use@Write.no.sh, 1: crash"]);
  assert.match(
    broke,
    /^a failing guard lets no denied call through: Write \(\w+\) ran as pre-tool-use@Write\.no\.sh, which/,
  );
  guard("timeout=20 onError=deny");
  const closed = await w.call(replay, "--faults", "8", "--json");
  assert.deepEqual([closed.code, JSON.parse(closed.out).items[0].word], [0, "held"], closed.out);
});
