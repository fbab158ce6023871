import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { rounds } from "../_counts.ts";
import { ended } from "../_crochet.ts";
import { place } from "../_place.ts";
import { LIB, RUNTIME } from "../_runtime.ts";
import type { Done } from "./_side-by-side.ts";

const PROCESSES = rounds(3, 24);
const SECONDS = rounds(0, 600);
/** A process that has just begun still compiles. */
const GROWTH = SECONDS > 0 ? 1.3 : 1.6;

/** Reads a note, edits it, and says so; the model knows from the conversation how far it is. */
const AGENT = `
import { agent, jsonlStore } from "${LIB}/index.ts";
import { scripted } from "${LIB}/testing/index.ts";
import { Edit, Read } from "${LIB}/tools/index.ts";
const steps = {
  1: { tools: [{ name: "Read", input: { file_path: "note.txt" } }] },
  3: { tools: [{ name: "Edit", input: { file_path: "note.txt", old_string: "two", new_string: "2" } }] },
};
const model = (request, signal) => scripted([steps[request.messages.length] ?? { text: "done" }])(request, signal);
export default agent({
  from: import.meta.url, name: "noter", model, tools: [Read, Edit], permissions: { mode: "acceptEdits" },
  store: jsonlStore(new URL("../runs", import.meta.url).pathname), // in memory they would stay until the end
});
`;

test("processes that record, replay and evaluate in one project lose nothing and hold no more and more", {
  skip: existsSync("/proc/self/fd") ? false : "there is no /proc to count open files in",
  timeout: 300_000 + SECONDS * 2000,
}, async (t) => {
  using here = place({ "agent.ts": AGENT, "note.txt": "one two three\n", "fixtures/grade.any.sh": "exit 0\n" });
  const script = fileURLToPath(new URL("./_side-by-side.ts", import.meta.url));
  const flags = "Deno" in globalThis ? ["--v8-flags=--expose-gc"] : [];
  const names = Array.from({ length: PROCESSES }, (_, i) => `p${i}`);
  const exits = await Promise.all(names.map((name) => {
    const args = [...flags, script, name, here.cwd, here.home, String(SECONDS)];
    return ended([...RUNTIME, ...args] as [string, ...string[]], { cwd: here.cwd, env: { HOME: here.home } });
  }));
  for (const { code, err } of exits) assert.equal(code, 0, err);
  const all = exits.map(({ out }) => JSON.parse(out) as Done);
  for (const { third, end } of all) {
    assert.deepEqual([end.files, end.children], [third.files, 0], "files left open, children left running");
    const growth = end.memory / third.memory;
    assert.ok(growth < GROWTH, `two thirds of the time grew the memory ${growth.toFixed(2)} times`);
  }
  const kept = all.flatMap((done) => done.kept);
  const replayed = await here.crochet(["replay", "--trust", "--json"]);
  assert.equal(replayed.code, 0, replayed.err);
  const { items } = JSON.parse(replayed.out) as { items: { name: string }[] };
  assert.deepEqual(items.map(({ name }) => name).sort(), kept.sort());
  const sum = (of: (done: Done) => number) => all.reduce((n, done) => n + of(done), 0);
  assert.ok(sum((done) => done.evaluated) > 0);
  t.diagnostic(`${sum((done) => done.recorded)} recorded, ${sum((done) => done.evaluated)} evaluated`);
});
