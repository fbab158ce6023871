import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { user } from "../../lib/core/messages.ts";
import { storeContract } from "../../lib/testing/store-contract.ts";
import { jsonlStore } from "../../lib/transcript/jsonl.ts";
import { memoryStore } from "../../lib/transcript/memory.ts";
import { sqliteStore } from "../../lib/transcript/sqlite.ts";
import type { TranscriptStore } from "../../lib/transcript/store.ts";

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

test("jsonlStore(): what a save that was interrupted has left behind is never a part of the next", async () => {
  const dir = join(root, `jsonl-${n++}`);
  const left = [0, 1, 2].map((index) => JSON.stringify({ type: "message", index, message: user("left") }));
  mkdirSync(dir);
  writeFileSync(join(dir, "a.jsonl.new"), `${left.join("\n")}\n`);
  await jsonlStore(dir).save("a", [user("one"), user("two")]);
  assert.deepEqual((await jsonlStore(dir).load("a"))?.messages, [user("one"), user("two")]);
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
    assert.match(list[1]!.problem!, /its line 1 has a message at place 5 of 0: it was changed from outside$/);
  });
}
