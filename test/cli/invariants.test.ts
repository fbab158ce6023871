import assert from "node:assert/strict";
import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import replay from "../../lib/cli/replay.ts";
import { runsIn } from "../../lib/cli/kit/known-fixtures.ts";
import { trustFixtures } from "../../lib/hooks/hook-trust.ts";
import { replay as replayed } from "../../lib/testing/index.ts";
import { rows } from "../_counts.ts";
import { writer, written } from "./_writer.ts";

/** A project with two recorded runs: `write` writes a.txt, `talk` only talks. */
const project = () =>
  written({
    write: [{ tools: [{ name: "Write", input: { file_path: "a.txt", content: "hello\n" } }] }, { text: "Done." }],
    talk: [{ text: "Hello." }],
  });

/** What files of invariants export, by what is asserted of a run. */
const WROTE = `(o) => o.calls("Write").length > 0`;
const NEVER = "it was never put to the test, as its 'when' or 'sometimes' was true in no run";

const CASES: readonly [
  what: string,
  file: string,
  text: string,
  words: readonly string[],
  failure: string | undefined,
][] = [
  ["one that holds", "write/invariants.ts", `{ name: "n", broken: () => undefined }`, ["write"], undefined],
  ["one that is broken", "write/invariants.ts", `{ name: "n", broken: () => "it is" }`, ["write"], "n: it is"],
  [
    "files and calls are seen",
    "write/invariants.ts",
    `{ name: "n", broken: (o) => o.calls()[0].input.file_path + ", " + o.files.get("a.txt").trim() }`,
    ["write"],
    "n: {ROOT}/a.txt, hello",
  ],
  [
    "what was said and asked is on the tape",
    "write/invariants.ts",
    `{ name: "n", broken: (o) => o.run.said.length + " of " + o.run.asked.length }`,
    ["write"],
    "n: 2 of 2",
  ],
  [
    "a when that is true",
    "write/invariants.ts",
    `{ name: "n", when: ${WROTE}, broken: () => "it is" }`,
    ["write"],
    "n: it is",
  ],
  [
    "a when that is never true",
    "talk/invariants.ts",
    `{ name: "n", when: ${WROTE}, broken: () => "it is" }`,
    ["talk"],
    `n: ${NEVER}`,
  ],
  ["a sometimes that is true", "write/invariants.ts", `{ name: "n", sometimes: ${WROTE} }`, ["write"], undefined],
  [
    "a sometimes that is never true",
    "talk/invariants.ts",
    `{ name: "n", sometimes: ${WROTE} }`,
    ["talk"],
    `n: ${NEVER}`,
  ],
  ["a shared one that is broken", "invariants.ts", `{ name: "n", broken: () => "it is" }`, ["talk"], "n: it is"],
  ["a shared sometimes that one of all reaches", "invariants.ts", `{ name: "n", sometimes: ${WROTE} }`, [], undefined],
  [
    "a shared when that none of all reaches",
    "invariants.ts",
    `{ name: "n", when: () => false, broken: () => "it is" }`,
    [],
    `n: ${NEVER}`,
  ],
  [
    "a shared sometimes that a single fixture does not reach",
    "invariants.ts",
    `{ name: "n", sometimes: () => false }`,
    ["talk"],
    undefined,
  ],
  [
    "one that throws",
    "write/invariants.ts",
    `{ name: "n", broken: () => { throw new Error("no") } }`,
    ["write"],
    "Cannot judge a run by invariant 'n' as it threw: no",
  ],
  [
    "a when that answers something else",
    "write/invariants.ts",
    `{ name: "n", when: () => 1, broken: () => undefined }`,
    ["write"],
    "Cannot judge a run by invariant 'n' as 'when' returned 1: return true or false",
  ],
  [
    "a sometimes that is a promise",
    "write/invariants.ts",
    `{ name: "n", sometimes: async () => true }`,
    ["write"],
    "Cannot judge a run by invariant 'n' as 'sometimes' returned a promise: return true or false",
  ],
  ["both kinds at once", "write/invariants.ts", `{ name: "n", sometimes: () => true, broken: () => undefined }`, [
    "write",
  ], "as it exports no list of invariants"],
];

for (const [what, file, text, words, failure] of rows(12, CASES)) {
  test(`crochet replay judges every run by the invariants beside it: ${what}`, async () => {
    using w = await project();
    w.put({ [`fixtures/${file}`]: `export default [${text}];\n` });
    await trustFixtures(w.cwd, w.env, runsIn(w.cwd));
    const { code, out } = await w.call(replay, ...words);
    const isMistake = /judge a run by|exports no list/.test(String(failure));
    assert.equal(code, failure === undefined ? 0 : isMistake ? 2 : 1, out);
    assert.ok(failure === undefined ? !out.includes("✗") : out.includes(failure), out);
  });
}

test("replay() in a test judges by the same invariants, but never asks whether a shared one was reached", async () => {
  using w = await project();
  w.put({ "fixtures/invariants.ts": `export default [{ name: "shared", sometimes: () => false }];\n` });
  assert.equal((await replayed(writer, "talk", { cwd: w.cwd })).text, "Hello.");
  w.put({ "fixtures/talk/invariants.ts": `export default [{ name: "own", sometimes: ${WROTE} }];\n` });
  await assert.rejects(replayed(writer, "talk", { cwd: w.cwd }), new RegExp(`'talk': own: ${NEVER}`));
  w.put({ "fixtures/write/invariants.ts": `export default [{ name: "own", when: ${WROTE}, broken: () => "bad" }];\n` });
  await assert.rejects(replayed(writer, "write", { cwd: w.cwd }), /Cannot accept the agent of 'write': own: bad/);
});

test(
  "a search for faults fails if it never put an invariant to the test, whatever the agent survived",
  async () => {
    using w = await project();
    w.put({
      "fixtures/write/invariants.ts": `export default [{ name: "own", when: ${WROTE}, broken: () => undefined }];\n`,
    });
    assert.match((await w.call(replay, "--faults", "5", "write", "--seed", "1")).out, /write +5 +held/);
    w.put({ "fixtures/talk/invariants.ts": `export default [{ name: "own", sometimes: ${WROTE} }];\n` });
    const { code, out } = await w.call(replay, "--faults", "5", "talk");
    assert.equal(code, 1);
    assert.ok(out.includes(`✗ talk\n  own: ${NEVER}`), out);
  },
);

test("a search for faults in all fixtures fails if it never put a shared invariant to the test", async () => {
  using w = await project();
  w.put({ "fixtures/invariants.ts": `export default [{ name: "all", sometimes: () => false }];\n` });
  await trustFixtures(w.cwd, w.env, runsIn(w.cwd));
  assert.equal((await w.call(replay, "--faults", "5", "talk")).code, 0);
  const all = await w.call(replay, "--faults", "5");
  assert.deepEqual([all.code, all.out.includes(`✗ fixtures/invariants.ts\n  all: ${NEVER}`)], [1, true], all.out);
});

test("a fixture that drifts is not judged, and no shared invariant fails for it", async () => {
  using w = await project();
  w.put({ "fixtures/invariants.ts": `export default [{ name: "all", sometimes: () => false }];\n` });
  await trustFixtures(w.cwd, w.env, runsIn(w.cwd));
  const tape = `${w.cwd}/fixtures/talk/tape.jsonl`;
  cpSync(tape, `${tape}.kept`);
  writeFileSync(tape, readFileSync(tape, "utf8").replaceAll("You write.", "You wrote."));
  const drifted = await w.call(replay);
  assert.deepEqual([drifted.code, drifted.out.includes("never put")], [2, false], drifted.out);
});
