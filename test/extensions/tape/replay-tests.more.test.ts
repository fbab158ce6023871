import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { RUNTIME } from "../../_runtime.ts";
import { RECORD, two } from "./_recorded.ts";

test("crochet replay runs the tests of recorded() once for all their fixtures, and tells what drifts", async () => {
  await using it = await two();
  const held = await it.replayed([]);
  assert.deepEqual([held.code, held.words], [0, [["rain", "held"], ["sun", "held"]]], held.err);
  const drifted = await it.replayed([], { TEXT: "hello" });
  assert.deepEqual([drifted.code, drifted.words], [1, [["rain", "broken"], ["sun", "broken"]]]);
  assert.match(
    drifted.items[1]!.why!,
    /prompt: messages[^]*- sun\? hi\n[^]*\+ sun\? hello[^]*CROCHET_RECORD=1 (?:bun|deno) test/,
  );
  const { out } = await it.crochet(["fixtures", "ls"]);
  assert.match(out, /^sun .*(?:bun|deno) test/m);
});

test("--faults and --verify leave out what tests ask, and say so; named, it cannot run", async () => {
  await using it = await two();
  const [first = "", ...rest] = readFileSync(it.tape("sun"), "utf8").split("\n");
  const { tests: _, ...header } = JSON.parse(first);
  const command = [...RUNTIME, "-e", "0"];
  it.put({ "fixtures/own/tape.jsonl": [JSON.stringify({ ...header, command }), ...rest].join("\n") });
  for (const flag of [["--faults", "2"], ["--verify"]]) {
    const all = await it.replayed([...flag, "--trust"]);
    assert.deepEqual(all.words.map(([name]) => name), ["own"], all.err);
    assert.match(
      all.err,
      /^crochet: not replayed with --\w+ as neither an agent nor a program here asks .*: rain, sun$/m,
    );
    const named = await it.replayed(["sun", ...flag, "--trust"]);
    assert.deepEqual([named.code, named.words], [2, [["sun", "cannot run"]]], named.err);
    const both = await it.crochet(["replay", "rain", "sun", ...flag, "--json"]);
    assert.equal(both.code, 2);
  }
});

test("crochet replay --update has tests record what drifts, at their address, and no other time", async () => {
  await using it = await two();
  const plain = await it.replayed([], { TEXT: "hello", ...RECORD });
  assert.equal(plain.code, 1, "without the flag nothing is recorded");
  const refused = await it.replayed(["--update"], { TEXT: "hello", CI: "1" });
  assert.deepEqual([refused.code, /CI only replays tapes/.test(refused.items[0]!.why!)], [2, true]);
  const renewed = await it.replayed(["--update"], { TEXT: "hello", ANTHROPIC_BASE_URL: it.url });
  assert.deepEqual([renewed.code, renewed.words], [0, [["rain", "held"], ["sun", "held"]]], renewed.err);
  assert.match(renewed.err, /^recording rain again: 1 call, .*\nrecording sun again: 1 call, /);
  assert.equal((await it.replayed([], { TEXT: "hello" })).code, 0);
});

test("what a test does not replay is not measured, and one that fails though its fixtures hold is an item of its own", async () => {
  await using it = await two();
  const skipped = await it.replayed([], { ONLY: "sun" });
  assert.deepEqual([skipped.code, skipped.words], [3, [["rain", "not measured"], ["sun", "held"]]]);
  assert.match(
    skipped.items[0]!.why!,
    /^Its test did not replay it, as it is skipped or named otherwise: (?:bun|deno) test /,
  );
  const failed = await it.replayed([], { FAIL: "1" });
  assert.deepEqual([failed.code, failed.words], [1, [["rain", "held"], ["sun", "held"], ["COMMAND", "broken"]]]);
  assert.match(failed.items[2]!.why!, /^It exited with code 1\n[^]*it is cloudy/);
  const { out } = await it.crochet(["replay", "--junit", "report.xml"], { FAIL: "1" });
  assert.match(out, /broken: 1 of 3 fixtures, 2 held\n$/);
  const report = readFileSync(join(it.cwd, "report.xml"), "utf8");
  assert.match(report, /tests="3" failures="1"[^]*name="(?:bun|deno) test [^]*it is cloudy/);
  const loops = await it.replayed(["--time", "1"], { LOOPS: "1" });
  assert.deepEqual([loops.code, loops.words.at(-1)], [1, ["COMMAND", "broken"]]);
  assert.match(loops.items.at(-1)!.why!, /^It did not end within 2 s: --time allows more/);
  const nested = await it.replayed([], { CROCHET_REPORTS: "of-a-replay.jsonl" });
  assert.equal(nested.code, 2, "or a test that replays would start itself for ever");
  assert.match(nested.items[0]!.why!, /^Cannot run (?:bun|deno) test .* as a replay runs this test already$/);
});

test("U16: a test command runs only if its words are trusted; one that is not there cannot run; a tape that names no test is served only", async () => {
  await using it = await two();
  const edit = (change: (header: { tests?: string[] }) => void) => {
    for (const name of ["rain", "sun"]) {
      const [first, ...rest] = readFileSync(it.tape(name), "utf8").split("\n");
      const header = JSON.parse(first!);
      change(header);
      writeFileSync(it.tape(name), [JSON.stringify(header), ...rest].join("\n"));
    }
  };
  await it.crochet(["fixtures", "ls"]); // has the settings of this clone
  edit(({ tests }) => tests!.unshift("no-such-runner"));
  const changed = await it.replayed([]);
  assert.deepEqual([
    changed.code,
    /^Cannot replay as fixtures\/rain, fixtures\/sun are not trusted/.test(changed.items[0]!.why!),
  ], [2, true]);
  const { out } = await it.crochet(["trust"]);
  assert.match(out, /fixtures\/sun, until its command changes: no-such-runner /);
  const missing = await it.replayed([]);
  assert.deepEqual([missing.code, missing.words], [2, [["rain", "cannot run"], ["sun", "cannot run"]]]);
  assert.match(
    missing.items[0]!.why!,
    /^Cannot run no-such-runner .* as there is no command 'no-such-runner': install it$/,
  );
  edit((header) => delete header.tests);
  const none = await it.crochet(["replay", "--trust"]);
  assert.deepEqual([none.code, /what is here is served only \(rain, sun\)/.test(none.err)], [2, true], none.err);
  const again = await it.run(RECORD);
  assert.deepEqual([again.ok, again.asked], [true, 0], "which asks no model");
  assert.equal((await it.replayed([])).code, 0);
});

test("crochet replay --review accepts once what changed in two fixtures of one test, whose replies are stale then", async () => {
  await using it = await two({ TONE: "Be kind." });
  const now = { TONE: "Be rude." };
  const reviewed = await it.crochet(["replay", "--review"], now, "a\na\n");
  assert.match(reviewed.out, /^1 of 1 {2}prompt: system {3}rain 1 call, sun 1 call$/m, reviewed.err);
  assert.deepEqual([reviewed.code, reviewed.out.match(/: accepted, 1 reply stale$/gm)?.length], [0, 2], reviewed.out);
  assert.equal((await it.replayed([], now)).code, 0);
  assert.equal((await it.replayed(["--no-stale"], now)).code, 1);
  const renewed = await it.crochet(["replay", "--update"], { ...now, ANTHROPIC_BASE_URL: it.url });
  assert.match(renewed.err, /^recording rain again: 1 call, [1-9].*\nrecording sun again: 1 call, [1-9]/);
  assert.doesNotMatch(renewed.out, /stale/, "what is recorded again is fresh");
  assert.equal((await it.replayed(["--no-stale"], now)).code, 0);
});
