import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import fc from "fast-check";
import { type Block, invalidConversation, type Message } from "../../../lib/core/messages.ts";
import { jsonlStore } from "../../../lib/log/stores/jsonl.ts";
import { memoryStore } from "../../../lib/log/stores/memory-store.ts";
import { sqliteStore } from "../../../lib/log/stores/sqlite.ts";
import { resumable } from "../../../lib/log/stores/store.ts";
import { tries } from "../../_counts.ts";

const root = mkdtempSync(join(tmpdir(), "crochet-laws-"));
after(() => {
  sqlite.close();
  rmSync(root, { recursive: true });
});

const words = fc.string({ minLength: 1, unit: "grapheme" });
const exchange = fc.record({
  ask: words,
  say: words,
  // As it arrives from a model: -0, which JSON cannot hold, is 0.
  calls: fc.array(fc.jsonValue({ maxDepth: 2 }).map((value) => JSON.parse(JSON.stringify(value)) as unknown), {
    maxLength: 3,
  }),
});

/** Any valid conversation, and any place to cut it. */
const conversation: fc.Arbitrary<Message[]> = fc.array(exchange, { maxLength: 5 }).map((exchanges) => {
  const messages: Message[] = [];
  let id = 0;
  for (const { ask, say, calls } of exchanges) {
    const text = (t: string): Block => ({ type: "text", text: t });
    const uses = calls.map((input) => ({ type: "tool_use", id: `t${id++}`, name: "Tool", input: { input } }) as const);
    messages.push({ role: "user", content: [text(ask)] }, { role: "assistant", content: [text(say), ...uses] });
    if (uses.length === 0) continue;
    messages.push({
      role: "user",
      content: uses.map((u) => ({ type: "tool_result", tool_use_id: u.id, content: say }) as const),
    });
    messages.push({ role: "assistant", content: [text(say)] });
  }
  return messages;
});

const sqlite = sqliteStore(join(root, "runs.db"));
const STORES = { memory: memoryStore(), jsonl: jsonlStore(join(root, "jsonl")), sqlite };

for (const [name, store] of Object.entries(STORES)) {
  test(`${name}: saving and loading is always the identity on a valid conversation`, async () => {
    await fc.assert(
      fc.asyncProperty(conversation, async (messages) => {
        await store.save("a", messages);
        assert.deepEqual((await store.load("a"))?.messages ?? [], messages);
      }),
      { numRuns: tries(name === "memory" ? 100 : 25, name === "memory" ? 1000 : 250) },
    );
  });
}

test("U15: whatever a conversation was cut to, the resumed one is always valid before its next prompt", () => {
  fc.assert(
    fc.property(conversation, fc.nat(), (messages, at) => {
      const cut = messages.slice(0, at % (messages.length + 1));
      assert.equal(invalidConversation(resumable(cut)), undefined);
    }),
    { numRuns: tries(200, 2000) },
  );
});

test("appends of two stores to one SQLite file never interleave within a message and never get lost", async () => {
  const path = join(root, "shared.db");
  const [a, b] = [sqliteStore(path), sqliteStore(path)];
  const message = (text: string): Message => ({ role: "user", content: [{ type: "text", text }] });
  await Promise.all(Array.from({ length: 40 }, (_, i) =>
    (i % 2 ? a : b).append(i % 2 ? "a" : "b", [
      { type: "message", index: i >> 1, message: message(`${i}`.repeat(500)) },
    ])));
  for (const [id, odd] of [["a", 1], ["b", 0]] as const) {
    const found = (await a.load(id))!.messages;
    assert.deepEqual(
      found.map((m) => (m.content[0] as { text: string }).text),
      Array.from({ length: 20 }, (_, i) => `${i * 2 + odd}`.repeat(500)),
    );
  }
  a.close();
  b.close();
});
