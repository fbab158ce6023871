import assert from "node:assert/strict";
import type { Message } from "../../../lib/core/messages.ts";
import type { About, TranscriptStore } from "../../../lib/log/stores/store.ts";

const hello: Message = { role: "user", content: [{ type: "text", text: "hello — “quoted”, \u2028 and 🧶" }] };
const reply: Message = {
  role: "assistant",
  content: [{ type: "text", text: "hi" }, { type: "tool_use", id: "t1", name: "Read", input: { path: "a\nb" } }],
};
const about: About = {
  agent_type: "tester",
  model: "m",
  system: "0",
  tools: ["Read"],
  prompt: "hello",
  cwd: "/",
  created: "2026-01-01T00:00:00.000Z",
};

/**
 * Everything a transcript store promises, as checks. `storage` is called once for each check, and
 * gives the function that opens a store on it: each time another one, so that it reads what the last one wrote.
 */
export function storeContract(
  storage: () => () => TranscriptStore,
): { readonly name: string; readonly check: () => Promise<void> }[] {
  const checks: [name: string, check: (open: () => TranscriptStore) => Promise<void>][] = [
    ["an unknown id always loads as nothing", async (open) => {
      assert.equal(await open().load("missing"), undefined);
    }],
    ["what is saved is always what is loaded", async (open) => {
      await open().save("a", [hello, reply], about);
      const found = await open().load("a");
      assert.deepEqual(found?.messages, [hello, reply]);
      assert.deepEqual(found?.about, about);
      assert.equal(found?.model, "m");
    }],
    ["saving again always replaces the whole", async (open) => {
      await open().save("a", [hello, reply]);
      await open().save("a", [hello]);
      assert.deepEqual((await open().load("a"))?.messages, [hello]);
    }],
    ["appended messages are always read in order, and a grown one in its place", async (open) => {
      const store = open();
      await store.append("a", [{ type: "about", about }, { type: "message", index: 0, message: hello }]);
      await store.append("a", [{ type: "message", index: 1, message: reply }]);
      const grown: Message = { role: "assistant", content: [...reply.content, { type: "text", text: "more" }] };
      await store.append("a", [{ type: "message", index: 1, message: grown }]);
      assert.deepEqual((await open().load("a"))?.messages, [hello, grown]);
    }],
    ["a compacted conversation continues from its summary and never loses what was before", async (open) => {
      const store = open();
      await store.save("a", [hello, reply]);
      const summary: Message = { role: "user", content: [{ type: "text", text: "summary" }] };
      await store.append("a", [{ type: "compact", messages: [summary] }, {
        type: "message",
        index: 1,
        message: reply,
      }]);
      const found = await open().load("a");
      assert.deepEqual(found?.messages, [summary, reply]);
      assert.deepEqual(found?.full, [hello, reply, summary, reply]);
    }],
    ["model changes, checkpoints and endings are always kept", async (open) => {
      const usage = { input_tokens: 1, output_tokens: 2, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 };
      const checkpoint = { id: "a@1", at: 1, kind: "manual", time: about.created } as const;
      const ending = { stop: "done", usage, cost: null, time: about.created } as const;
      await open().append("a", [
        { type: "about", about },
        { type: "message", index: 0, message: hello },
        { type: "model", model: "n" },
        { type: "checkpoint", ...checkpoint },
        { type: "end", ...ending },
      ]);
      const found = await open().load("a");
      assert.equal(found?.model, "n");
      assert.deepEqual(found?.checkpoints, [checkpoint]);
      assert.deepEqual(found?.endings, [ending]);
    }],
    ["changing what was saved or loaded never changes what is stored", async (open) => {
      const mine = structuredClone(hello) as unknown as { content: { text: string }[] };
      const store = open();
      await store.save("a", [mine as unknown as Message]);
      mine.content[0]!.text = "changed";
      const loaded = await store.load("a");
      try {
        (loaded!.messages[0]!.content[0] as { text: string }).text = "changed";
      } catch { /* a store may freeze what it gives */ }
      assert.deepEqual((await store.load("a"))?.messages, [hello]);
    }],
    ["listing always names every transcript, and deleting takes one away", async (open) => {
      await open().save("a", [hello], about);
      await open().save("b", [hello, reply]);
      assert.deepEqual((await open().list()).map((t) => [t.id, t.messages]).sort(), [["a", 1], ["b", 2]]);
      assert.equal(await open().delete("a"), true);
      assert.equal(await open().delete("a"), false);
      assert.deepEqual((await open().list()).map((t) => t.id), ["b"]);
    }],
    ["an id that could leave the storage is always refused", async (open) => {
      for (const id of ["../a", "a/b", "", ".hidden", "a\0b", "a..b"]) {
        await assert.rejects(async () => await open().load(id), TypeError, id);
        await assert.rejects(async () => await open().save(id, [hello]), TypeError, id);
        await assert.rejects(async () => await open().append(id, [{ type: "model", model: "m" }]), TypeError, id);
        await assert.rejects(async () => await open().delete(id), TypeError, id);
      }
    }],
    ["an id is never claimed twice at a time", async (open) => {
      const store = open();
      assert.equal(typeof store.lock, "function", "a store needs a lock: without one two runs write one transcript");
      const release = await store.lock("a");
      await assert.rejects(async () => await open().lock("a"), /running it/);
      await (await open().lock("b"))();
      await release();
      await (await open().lock("a"))();
    }],
  ];
  return checks.map(([name, check]) => ({ name, check: () => check(storage()) }));
}
