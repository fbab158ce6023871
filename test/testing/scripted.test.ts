import assert from "node:assert/strict";
import { test } from "node:test";
import { assistant, textOf, user } from "../../lib/core/messages.ts";
import type { ModelEvent, ModelRequest, Reply } from "../../lib/core/model.ts";
import { readReply } from "../../lib/core/reply.ts";
import { scripted, type ScriptedModel } from "../../lib/testing/index.ts";

const request: ModelRequest = {
  model: "claude-test",
  system: "",
  messages: [user("hello")],
  tools: [],
  max_tokens: 100,
};

function ask(
  model: ScriptedModel,
  asked: Partial<ModelRequest> = {},
  signal = new AbortController().signal,
): Promise<Reply> {
  return readReply(model({ ...request, ...asked }, signal), () => {});
}

test("scripted() says its replies in order", async () => {
  const model = scripted([{ text: "hi" }, { tools: [{ name: "Bash", input: { command: "ls" } }] }]);
  assert.equal(textOf((await ask(model)).message), "hi");
  const reply = await ask(model);
  assert.deepEqual(reply.calls, [{ id: "toolu_scripted_0001", name: "Bash", input: { command: "ls" } }]);
  assert.equal(reply.stop_reason, "tool_use");
  model.done();
});

test("scripted() counts tool ids over the whole script and keeps given ones", async () => {
  const model = scripted([
    { tools: [{ name: "A" }, { name: "B", id: "mine" }] },
    { tools: [{ name: "C" }] },
  ]);
  const ids = [...(await ask(model)).calls, ...(await ask(model)).calls].map((call) => call.id);
  assert.deepEqual(ids, ["toolu_scripted_0001", "mine", "toolu_scripted_0002"]);
});

test("scripted() refuses what is not a reply, before it is asked or when a function gives it", async () => {
  const wrong: [unknown, RegExp][] = [
    [undefined, /its replies must be a list: current value is undefined$/],
    [["hi"], /Cannot script a reply as "hi" is not a reply: give an object such as/],
    [[{ tool: [] }], /Cannot script reply \{"tool":\[\]\} as option 'tool' is unknown: did you mean 'tools'\?$/],
    [[{ text: 1 }], /'text' must be a text: current value is 1$/],
    [[{ tools: ["Bash"] }], /as "Bash" calls no tool: give \{ name: "Bash"/],
    [[{ tools: [{ name: "Bash", args: {} }] }], /option 'args' is unknown/],
  ];
  for (const [replies, why] of wrong) assert.throws(() => scripted(replies as []), why);
  assert.throws(() => scripted([], { then: { txt: "hi" } as object }), /option 'txt' is unknown: did you mean 'text'/);
  await assert.rejects(ask(scripted([() => undefined as never])), /undefined is not a reply/);
  assert.throws(
    () => scripted([], { than: { text: "hi" } } as object),
    /option 'than' is unknown: did you mean 'then'/,
  );
});

test("scripted() streams a reply in several pieces, as the API does", async () => {
  const events: ModelEvent[] = [];
  const text = "A reply long enough for several pieces, with 😀 in it.";
  for await (const event of scripted([{ thinking: "let me see", text }])(request, new AbortController().signal)) {
    events.push(event);
  }
  const pieces = events.filter((e) => e.type === "content_block_delta" && e.delta.type === "text_delta");
  assert.ok(pieces.length > 2);
  assert.deepEqual([events[0]!.type, events.at(-2)!.type, events.at(-1)!.type], [
    "message_start",
    "message_delta",
    "message_stop",
  ]);
  assert.ok(events.some((e) => e.type === "ping"));
  assert.equal(pieces.map((e) => (e as any).delta.text).join(""), text);
});

test("scripted() cuts no character in two, whatever its length", async () => {
  for (let before = 0; before < 14; before++) {
    const model = scripted([{ text: "a".repeat(before) + "😀".repeat(20) }]);
    for await (const event of model(request, new AbortController().signal)) {
      if (event.type === "content_block_delta") assert.ok((event.delta.text as string).isWellFormed());
    }
  }
});

test("scripted() keeps what it was asked as it was at that moment", async () => {
  const model = scripted([{ text: "one" }, { text: "two" }]);
  const messages = [user("first")];
  await ask(model, { messages });
  messages.push(assistant("one"), user("second"));
  await ask(model, { messages });
  assert.deepEqual(model.requests.map((r) => r.messages.length), [1, 3]);
});

test("scripted() lets a function answer what was asked", async () => {
  const model = scripted([(asked) => ({ text: textOf(asked.messages.at(-1)).toUpperCase() })]);
  assert.equal(textOf((await ask(model)).message), "HELLO");
});

test("scripted() that is asked for more than it has says so", async () => {
  const model = scripted([{ text: "only" }]);
  await ask(model);
  await assert.rejects(ask(model), {
    name: "ModelError",
    code: "script_ended",
    retryable: false,
    message: /run out after 1 repl.*then/,
  });
});

test("scripted() with 'then' goes on forever", async () => {
  const model = scripted([{ text: "first" }], { then: { text: "again" } });
  const said = [await ask(model), await ask(model), await ask(model)].map((reply) => textOf(reply.message));
  assert.deepEqual(said, ["first", "again", "again"]);
  model.done();
});

test("scripted().done() names the replies that were not used", async () => {
  const model = scripted([{ text: "used" }, { text: "left" }, () => ({ text: "function" })]);
  await ask(model);
  assert.throws(() => model.done(), /#2 \{"text":"left"\}, #3 \(function\)/);
});

test("scripted() with routes keeps an order for each", async () => {
  const model = scripted([{ text: "main 1" }, { text: "main 2" }], {
    routes: [{ when: (asked) => asked.system === "sub", replies: [{ text: "sub 1" }, { text: "sub 2" }] }],
  });
  const said: string[] = [];
  for (const system of ["", "sub", ""]) said.push(textOf((await ask(model, { system })).message));
  assert.deepEqual(said, ["main 1", "sub 1", "main 2"]);
  assert.throws(() => model.done(), /route 1 #2/);
});

test("scripted() takes faults as data", async () => {
  const model = scripted([
    { text: "some words", cut: 4 },
    { text: "some words", error: "overloaded_error" },
    { error: { type: "invalid_request_error", message: "no" } },
    { http: 429, retryAfter: 2 },
    { tools: [{ name: "Bash", raw: '{"command":' }] },
    { tools: [{ name: "Bash", raw: '{"command":"l' }], stop_reason: "max_tokens" },
  ]);
  await assert.rejects(ask(model), { code: "cut", retryable: true });
  await assert.rejects(ask(model), { code: "overloaded_error", retryable: true });
  await assert.rejects(ask(model), { code: "invalid_request_error", retryable: false });
  await assert.rejects(ask(model), { code: "rate_limit_error", retryAfter: 2000 });
  assert.match((await ask(model)).calls[0]!.invalid!, /not valid JSON/);
  assert.match((await ask(model)).calls[0]!.invalid!, /output limit/);
  model.done();
});

test("scripted() says given blocks and given events exactly", async () => {
  const blocks = [{ type: "redacted_thinking", data: "xyz" }, {
    type: "server_tool_use",
    id: "srvtoolu_1",
    name: "web_search",
    input: { query: "q" },
  }];
  const model = scripted([
    { text: "hi", blocks, usage: { input_tokens: 3, cache_read_input_tokens: 4 } },
    { events: [{ type: "message_start", message: {} }, { type: "message_stop" }] },
  ]);
  const reply = await ask(model);
  assert.deepEqual(reply.message.content, [{ type: "text", text: "hi" }, ...blocks]);
  assert.deepEqual([reply.usage.input_tokens, reply.usage.cache_read_input_tokens, reply.usage.output_tokens], [
    3,
    4,
    5,
  ]);
  assert.equal((await ask(model)).calls.length, 0);
});

test("scripted() waits and stalls until it is aborted, and then ends at once", async () => {
  for (const reply of [{ text: "words", stall: true }, { stall: "start" as const }, { text: "late", delay: 60_000 }]) {
    const controller = new AbortController();
    setTimeout(() => controller.abort(), 20);
    await assert.rejects(ask(scripted([reply]), {}, controller.signal), { name: "ModelError", code: "aborted" });
  }
  assert.equal(textOf((await ask(scripted([{ text: "soon", delay: 5 }]))).message), "soon");
});
