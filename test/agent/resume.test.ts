import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { agent, jsonlStore, memoryStore, type RunEvent } from "crochet";
import { scripted } from "crochet/testing";
import { invalidConversation, textOf } from "../../lib/core/messages.ts";
import { scratch } from "../_scratch.ts";
import { echo } from "../core/_stage.ts";

test("S0.26, U15: resume() keeps the id and goes on from the stored messages", async () => {
  const model = scripted([{ text: "one" }, { text: "two" }]);
  const helper = agent({ model });
  const first = await helper.run("first");
  const second = await helper.resume(first.id, "second");
  assert.equal(second.id, first.id);
  assert.deepEqual(second.messages.map(textOf), ["first", "one", "second", "two"]);
  assert.deepEqual(model.requests[1]!.messages.map(textOf), ["first", "one", "second"]);
  model.done();
});

test("S0.27: the transcript can be read while the agent is at rest", async () => {
  const store = memoryStore();
  const helper = agent({ model: scripted([{ text: "one" }]), store });
  const { id, messages } = await helper.run("first");
  assert.deepEqual((await store.load(id))?.messages, messages);
  assert.equal((await store.load(id))?.endings[0]?.stop, "done");
});

test("U15: resume() resets the counts: limits are per run", async () => {
  const helper = agent({ model: scripted([], { then: { text: "ok" } }), limits: { iterations: 1 } });
  const first = await helper.run("first");
  const second = await helper.resume(first.id, "second");
  assert.deepEqual([first.stop, second.stop, second.iterations], ["done", "done", 1]);
});

test("U15: a resumed session fires session-start with source resume, and turn-start with trigger resume", async () => {
  const seen: string[] = [];
  const helper = agent({
    model: scripted([], { then: { text: "ok" } }),
    hooks: {
      sessionStart: (e) => void seen.push(e.source),
      turnStart: (e) => void seen.push(e.trigger),
    },
  });
  const { id } = await helper.run("first");
  await helper.resume(id, "second");
  assert.deepEqual(seen, ["startup", "user", "resume", "resume"]);
});

test("U15: a dangling tool_use is closed with an error before the conversation goes on", async () => {
  const store = memoryStore();
  await store.save("a1", [
    { role: "user", content: [{ type: "text", text: "go" }] },
    { role: "assistant", content: [{ type: "tool_use", id: "t1", name: "Echo", input: { text: "x" } }] },
  ]);
  const model = scripted([{ text: "went on" }]);
  const result = await agent({ model, tools: [echo], store }).resume("a1", "go on");
  assert.equal(invalidConversation(result.messages), undefined);
  const answer = model.requests[0]!.messages[2]!.content[0] as { type: string; is_error?: boolean };
  assert.deepEqual([answer.type, answer.is_error], ["tool_result", true]);
  assert.equal(invalidConversation((await store.load("a1"))!.messages), undefined);
});

test("U15: the stored model goes on unless another is given", async () => {
  const model = scripted([], { then: { text: "ok" } });
  const helper = agent({ model });
  const session = await helper.open();
  await session.setModel("stored");
  await session.prompt("first");
  await session.close();
  await helper.resume(session.id, "second");
  assert.deepEqual(model.requests.map((request) => request.model), ["stored", "stored"]);
  const other = scripted([{ text: "ok" }]);
  await helper.resume(session.id, "third", { model: other });
  assert.notEqual(other.requests[0]!.model, "stored");
});

test("U15: what differs between the agent that was stored and the one that goes on is said", async () => {
  const store = memoryStore();
  const run = (name: string, tools = [echo]) =>
    agent({ name, model: scripted([], { then: { text: "ok" } }), tools, system: name, store });
  const { id } = await run("before").run("first");
  const warnings: string[] = [];
  const on = (e: RunEvent) => void (e.type === "warning" && warnings.push(e.message));
  await run("after", []).resume(id, "second", { on });
  assert.equal(warnings.length, 2);
  assert.match(warnings[0]!, /tools removed since: Echo/);
  assert.match(warnings[1]!, /system prompt has changed/);
});

test("U15: resume() refuses, with its reason, what it cannot resume", async () => {
  const helper = agent({ model: scripted([]) });
  for (const [id, why] of [["nobody", /no transcript of that id/], ["../etc", /as a transcript id/]] as const) {
    await assert.rejects(() => helper.resume(id, "x"), { name: "TypeError", message: why });
  }
});

test("fork() goes on under a new id from a number of messages, a checkpoint, or the end", async () => {
  const store = memoryStore();
  const helper = agent({ model: scripted([], { then: { text: "ok" } }), store });
  const session = await helper.open();
  await session.prompt("one");
  const mark = await session.checkpoint();
  await session.prompt("two");
  await session.close();
  for (const [at, expected] of [[undefined, 6], [2, 4], [mark, 4]] as const) {
    const forked = await helper.fork(session.id, "other", at === undefined ? {} : { at });
    assert.notEqual(forked.id, session.id);
    assert.equal(forked.messages.length, expected);
    assert.deepEqual((await store.load(forked.id))?.messages, forked.messages);
  }
  assert.equal((await store.load(session.id))?.messages.length, 4);
  await assert.rejects(() => helper.fork(session.id, "x", { at: "nope" }), /no such checkpoint/);
  await assert.rejects(() => helper.fork(session.id, "x", { at: 9 }), /has 4 messages/);
});

test("U15: an id that could not be opened is never left claimed", async () => {
  using folder = scratch();
  writeFileSync(join(folder.path, "file"), "");
  const helper = agent({ model: scripted([], { then: { text: "ok" } }), store: jsonlStore(join(folder.path, "runs")) });
  await assert.rejects(
    helper.run("go", { id: "a", rollout: join(folder.path, "file", "log.jsonl") }),
    /ENOTDIR|EEXIST|ENOENT/,
  );
  assert.equal((await helper.run("go", { id: "a" })).stop, "done");
});
