import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { agent } from "../../../lib/agent/agent.ts";
import { user } from "../../../lib/core/messages.ts";
import { scripted } from "../../../lib/models/scripted.ts";
import { scratch } from "../../_scratch.ts";
import { storeContract } from "./_store-contract.ts";
import { jsonlStore } from "../../../lib/log/stores/jsonl.ts";
import { memoryStore } from "../../../lib/log/stores/memory-store.ts";
import { sqliteStore } from "../../../lib/log/stores/sqlite.ts";
import type { Entry, TranscriptStore } from "../../../lib/log/stores/store.ts";

const root = mkdtempSync(join(tmpdir(), "crochet-stores-"));
after(() => rmSync(root, { recursive: true }));
let n = 0;

const STORES: Record<string, () => () => TranscriptStore> = {
  "memoryStore()": () => {
    const store = memoryStore();
    return () => store;
  },
  "jsonlStore()": () => {
    const dir = join(root, `jsonl-${n++}`);
    return () => jsonlStore(dir);
  },
  "sqliteStore()": () => {
    const path = join(root, `sqlite-${n++}`, "runs.db");
    return () => sqliteStore(path);
  },
};

test("the files of a run are readable by their owner alone: JSONL, SQLite with its side files, logs", async () => {
  using folder = scratch();
  const before = process.umask(0);
  try {
    const put = { type: "message", message: user("a secret"), index: 0 } as unknown as Entry;
    writeFileSync(join(folder.path, "old.jsonl"), "", { mode: 0o666 });
    for (const id of ["old", "new"]) await jsonlStore(folder.path).append(id, [put]);
    using stack = new DisposableStack();
    const store = stack.adopt(sqliteStore(join(folder.path, "s.sqlite")), (store) => store.close());
    await store.append("s", [put]);
    await agent({ model: scripted([{ text: "Hello" }]) }).run("hi", {
      log: folder.path,
      id: "log",
    });
    const files = readdirSync(folder.path);
    const made = ["s.sqlite-wal", "log.jsonl"];
    assert.deepEqual(made.filter((name) => !files.includes(name)), []);
    for (const file of files) assert.equal(statSync(join(folder.path, file)).mode & 0o777, 0o600, file);
  } finally {
    process.umask(before);
  }
});

test("jsonlStore(): what a save that was interrupted has left behind is never a part of the next", async () => {
  const dir = join(root, `jsonl-${n++}`);
  const left = [0, 1, 2].map((index) => JSON.stringify({ type: "message", index, message: user("left") }));
  mkdirSync(dir);
  writeFileSync(join(dir, "a.jsonl.new"), `${left.join("\n")}\n`);
  await jsonlStore(dir).save("a", [user("one"), user("two")]);
  assert.deepEqual((await jsonlStore(dir).load("a"))?.messages, [user("one"), user("two")]);
});

test("a line from which no conversation can be built is always an error that says what is wrong with it", async () => {
  const message = user("hi");
  const cases: [line: unknown, problem: string][] = [
    [5, "is not a fact"],
    [null, "is not a fact"],
    [{}, "is not a fact"],
    [{ type: "message", index: 0 }, "has no message"],
    [{ type: "message", index: 0, message: { role: "system", content: [] } }, "has no message"],
    [{ type: "message", index: 0, message: { role: "user", content: "hi" } }, "has no message"],
    [{ type: "message", index: 0, message: { role: "user", content: [{ text: "hi" }] } }, "has no message"],
    [{ type: "message", index: -1, message }, "has a message at index -1 of 1"],
    [{ type: "message", index: 0.5, message }, "has a message at index 0.5 of 1"],
    [{ type: "message", index: 2, message }, "has a message at index 2 of 1"],
    [{ type: "compact" }, "has no messages"],
    [{ type: "compact", messages: [message, {}] }, "has no messages"],
    [{ type: "about", about: null }, "does not describe the agent"],
    [{ type: "about", about: "an agent" }, "does not describe the agent"],
    [{ type: "usage", usage: 7 }, 'has the unknown type "usage"'],
  ];
  for (const [line, problem] of cases) {
    const store = memoryStore();
    await store.append("a", [{ type: "message", index: 0, message }, line as Entry]);
    await assert.rejects(
      async () => await store.load("a"),
      { message: new RegExp(`as its line 2 ${problem}: it was changed from outside$`) },
      JSON.stringify(line),
    );
  }
});

for (const [name, storage] of Object.entries(STORES)) {
  for (const { name: claim, check } of storeContract(storage)) {
    test(`S0.30, S0.31: ${name}: ${claim}`, check);
  }

  test(`${name}: a transcript that cannot be read never hides the others from a list`, async () => {
    const store = storage()();
    await store.save("a", [user("hi")]);
    await store.append("b", [{ type: "message", index: 5, message: user("where?") }]);
    const list = await store.list();
    assert.deepEqual(list.map(({ id, messages }) => [id, messages]), [["a", 1], ["b", 0]]);
    assert.equal(list[0]!.problem, undefined);
    assert.match(list[1]!.problem!, /its line 1 has a message at index 5 of 0: it was changed from outside$/);
  });
}
