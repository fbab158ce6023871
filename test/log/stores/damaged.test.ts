import assert from "node:assert/strict";
import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { agent, jsonlStore, tool } from "crochet";
import { scripted } from "crochet/testing";
import { invalidConversation } from "../../../lib/core/messages.ts";
import { scratch } from "../../_scratch.ts";

const echo = tool({ name: "Echo", description: "", input: { type: "object" }, run: () => "hi" });

/** Numbers below a limit, the same ones every time. */
function numbers(): (below: number) => number {
  let seed = 7;
  return (below) => (seed = (seed * 1103515245 + 12345) & 0x7fffffff) % below;
}

test("U15: of 500 transcripts with one flipped bit each goes on soundly or is refused by its name", async () => {
  using folder = scratch();
  const file = join(folder.path, "a.jsonl");
  const call = { tools: [{ name: "Echo", input: { words: ["ü", 1] } }] };
  const made = () =>
    agent({
      model: scripted([], { then: ({ messages }) => messages.length < 3 ? call : { text: "ok" } }),
      tools: [echo],
      store: jsonlStore(folder.path),
    });
  const session = await made().open({ id: "a" });
  await session.prompt("one");
  await session.setModel("other");
  await session.checkpoint();
  await session.prompt("two");
  await session.close();
  const bytes = readFileSync(file);
  const below = numbers();
  const count = { sound: 0, refused: 0 };
  for (let n = 0; n < 500; n++) {
    const damaged = Buffer.from(bytes);
    const at = below(bytes.length);
    damaged[at] = damaged[at]! ^ (1 << below(8));
    writeFileSync(file, damaged);
    const where = damaged.subarray(Math.max(0, at - 20), at + 20).toString();
    try {
      const { stop, messages } = await made().resume("a", "three");
      assert.deepEqual([stop, invalidConversation(messages)], ["done", undefined], where);
      assert.ok(messages.length >= 8, where);
      count.sound++;
    } catch (error) {
      const { message } = error as Error;
      assert.match(message, /^Cannot (read \S*a\.jsonl as|resume 'a' as its log is damaged)/, where);
      count.refused++;
    }
  }
  assert.ok(count.sound > 100 && count.refused > 100, JSON.stringify(count));
});

test("U15: a store says of a log whose last line a crash tore how many bytes are left out, and gives the rest", async () => {
  using folder = scratch();
  const torn: [id: string, bytes: number][] = [];
  const store = jsonlStore(folder.path, { onTorn: (id, bytes) => torn.push([id, bytes]) });
  const session = await agent({ model: scripted([{ text: "ok" }]), store }).open({ id: "a" });
  await session.prompt("one");
  await session.close();
  appendFileSync(join(folder.path, "a.jsonl"), '{"torn');
  assert.deepEqual((await store.load("a"))?.messages.map(({ role }) => role), ["user", "assistant"]);
  assert.deepEqual(torn, [["a", 6]]);
});
