import assert from "node:assert/strict";
import { test } from "node:test";
import { agent, type Middleware, openai, tool } from "crochet";
import { assistant, toolResult, user } from "../../../lib/core/messages.ts";
import type { ModelEvent, ModelRequest, Reply } from "../../../lib/core/model.ts";
import { replyFrom } from "../../../lib/core/reply.ts";
import { parserFor } from "../../../lib/models/openai/call.ts";
import { chatBody } from "../../../lib/models/openai/chat-request.ts";
import { serve } from "../../_server.ts";
import { chatServer } from "./_chat-server.ts";

const base: ModelRequest = { model: "m", system: "", messages: [user("go")], tools: [], max_tokens: 10 };

/** The reply that chunks of a stream come to. */
function read(chunks: readonly object[], request = base, api: "chat" | "responses" = "chat"): Reply {
  const parser = parserFor(new Response(null), request, api);
  const text = chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join("");
  const events: ModelEvent[] = [...parser.push(new TextEncoder().encode(text)), ...parser.end()];
  return replyFrom(events, () => {});
}

const piece = (delta: object) => ({ choices: [{ delta }] });
const END = { choices: [{ delta: {}, finish_reason: "stop" }] };

/** The pieces of calls, then the calls they are. */
const PIECES: readonly [name: string, pieces: readonly object[], calls: readonly [name: string, input: object][]][] = [
  ["without id and index, each with its name", [
    { function: { name: "a", arguments: '{"x":1}' } },
    { function: { name: "b", arguments: "" } },
  ], [["a", { x: 1 }], ["b", {}]]],
  ["without id, all at index 0, whole", [
    { index: 0, function: { name: "a", arguments: '{"x":1}' } },
    { index: 0, function: { name: "a", arguments: '{"x":2}' } },
  ], [["a", { x: 1 }], ["a", { x: 2 }]]],
  ["another id on every piece", [
    { index: 0, id: "1", function: { name: "a", arguments: '{"x"' } },
    { index: 0, id: "2", function: { arguments: ":1}" } },
  ], [["a", { x: 1 }]]],
  ["the name again on every piece", [
    { index: 0, id: "1", function: { name: "a", arguments: '{"x"' } },
    { index: 0, id: "1", function: { name: "a", arguments: ":1}" } },
  ], [["a", { x: 1 }]]],
  ["the id after the name", [
    { index: 0, function: { name: "a" } },
    { index: 0, id: "1", function: { arguments: '{"x":1}' } },
  ], [["a", { x: 1 }]]],
  ["one id for two calls", [
    { index: 0, id: "1", function: { name: "a", arguments: "{}" } },
    { index: 1, id: "1", function: { name: "b", arguments: "{}" } },
  ], [["a", {}], ["b", {}]]],
  ["null for no arguments", [
    { index: 0, id: "1", function: { name: "a", arguments: "null" } },
    { index: 1, id: "2", function: { name: "b", arguments: null } },
  ], [["a", {}], ["b", {}]]],
];

test("pieces of tool calls always come to the calls that were meant, each with an id of its own", () => {
  for (const [name, pieces, calls] of PIECES) {
    const reply = read([...pieces.map((one) => piece({ tool_calls: [one] })), END]);
    assert.deepEqual(reply.calls.map(({ name, input }) => [name, input]), calls, name);
    assert.equal(new Set(reply.calls.map(({ id }) => id)).size, calls.length, name);
    assert.ok(reply.calls.every(({ id, invalid }) => id !== "" && invalid === undefined), name);
    assert.equal(reply.stop_reason, "tool_use", name);
  }
});

test("an id that an earlier reply has used is never used again", () => {
  const called = assistant([{ type: "tool_use", id: "call_0", name: "a", input: {} }]);
  const request = { ...base, messages: [user("go"), called, user([toolResult("call_0", "done")])] };
  const again = { tool_calls: [{ index: 0, id: "call_0", function: { name: "a", arguments: "{}" } }] };
  const { calls: [call] } = read([piece(again), END], request);
  assert.notEqual(call!.id, "call_0");
  const response = {
    status: "completed",
    output: [{ type: "function_call", call_id: "call_0", name: "a", arguments: "{}" }],
  };
  const { calls: [other] } = read([{ type: "response.completed", response }], request, "responses");
  assert.notEqual(other!.id, "call_0");
});

test("a cut call never runs, whatever its server says it ended with", () => {
  const cut = piece({ tool_calls: [{ index: 0, id: "1", function: { name: "a", arguments: '{"x":' } }] });
  for (const finish_reason of ["tool_calls", "length", "stop"]) {
    const { calls: [call] } = read([cut, { choices: [{ delta: {}, finish_reason }] }]);
    assert.deepEqual(call!.input, {}, finish_reason);
    assert.notEqual(call!.invalid, undefined, finish_reason);
  }
});

test("thinking comes before text and calls, whatever came first, from any field that servers have for it", () => {
  const fields: readonly [delta: object, kept: object][] = [
    [{ reasoning_content: "hm" }, { field: "reasoning_content" }],
    [{ reasoning: "hm" }, { field: "reasoning" }],
    [{ reasoning_content: "", reasoning: "hm" }, { field: "reasoning" }],
    [{ content: [{ type: "thinking", thinking: [{ type: "text", text: "hm" }] }] }, { field: "content" }],
    [{ reasoning_details: [{ type: "reasoning.summary", summary: "hm" }] }, {
      field: "reasoning_details",
      details: [{ type: "reasoning.summary", summary: "hm" }],
    }],
  ];
  for (const [delta, openai] of fields) {
    const { message } = read([piece({ content: "said" }), piece(delta), END]);
    assert.deepEqual(message.content, [{ type: "thinking", thinking: "hm", openai }, { type: "text", text: "said" }]);
    const sent = JSON.stringify(chatBody({ ...base, messages: [user("go"), message] }, "127.0.0.1").messages);
    assert.match(sent, /"hm"/, "it goes back");
  }
});

test("words of the Responses API are shown as they come, and what else a reply has stands where it belongs", () => {
  const reasoning = { type: "reasoning", summary: [{ text: "one" }, { text: "two" }], encrypted_content: "e" };
  const message = { type: "message", phase: "final_answer", content: [{ type: "output_text", text: "Hello" }] };
  const search = { type: "web_search_call", id: "ws", status: "completed" };
  const output = [reasoning, search, message];
  const parser = parserFor(new Response(null), base, "responses");
  const push = (event: object) => parser.push(new TextEncoder().encode(`data: ${JSON.stringify(event)}\n\n`));
  const events = [
    ...push({ type: "response.reasoning_summary_text.delta", item_id: "r", summary_index: 0, delta: "one" }),
    ...push({ type: "response.reasoning_summary_text.delta", item_id: "r", summary_index: 1, delta: "two" }),
    ...push({ type: "response.output_text.delta", item_id: "m", content_index: 0, delta: "Hel" }),
  ];
  assert.deepEqual(events.flatMap((e) => e.type === "content_block_delta" ? [e.delta.text ?? e.delta.thinking] : []), [
    "one",
    "\n\ntwo",
    "Hel",
  ]);
  events.push(...push({ type: "response.completed", response: { status: "completed", output } }), ...parser.end());
  const reply = replyFrom(events, () => {});
  assert.deepEqual(reply.message.content, [
    { type: "thinking", thinking: "one\n\ntwo", openai: { summary: reasoning.summary, encrypted_content: "e" } },
    { type: "web_search_call", openai: { item: search } },
    { type: "text", text: "Hello", openai: { phase: "final_answer" } },
  ]);
});

test("a tool name over 64 characters is cut for the API and put back for the loop", async () => {
  const name = `mcp__server__${"x".repeat(70)}`;
  using server = await chatServer(({ messages, tools }) => {
    const [{ function: { name } }] = tools as [{ function: { name: string } }];
    return (messages as object[]).length > 1 ? { text: name } : { tools: [{ name, input: {} }] };
  });
  let ran = 0;
  const long = tool({ name, description: "", input: { type: "object" }, run: () => `${++ran}` });
  const result = await agent({ model: openai({ model: "m", baseURL: server.url }), tools: [long] }).run("go");
  assert.deepEqual([result.stop, ran, result.text.length], ["done", 1, 64]);
  assert.doesNotMatch(JSON.stringify(server.requests), new RegExp(name));
});

test("headers may be made for each request, and middleware sees each attempt", async () => {
  using server = await chatServer([]);
  let n = 0;
  const seen: unknown[] = [];
  const watching: Middleware = async (request, next, { options }) => {
    const response = await next(request);
    seen.push([new URL(request.url).pathname, options?.method, response.status]);
    return response;
  };
  const headers = () => Promise.resolve({ "x-turn": String(++n), authorization: "Token t" });
  const helper = agent({ model: openai({ model: "m", baseURL: server.url, headers, middleware: [watching] }) });
  await helper.run("go");
  await helper.run("again");
  assert.deepEqual(server.headers.map((given) => [given["x-turn"], given.authorization]), [["1", "Token t"], [
    "2",
    "Token t",
  ]]);
  assert.deepEqual(seen, [["/v1/chat/completions", "post", 200], ["/v1/chat/completions", "post", 200]]);
});

test("a call of a reply that a filter ended is never run, whatever the API", async () => {
  const filtered = [
    ["chat", [
      piece({ content: "I will", tool_calls: [{ index: 0, id: "1", function: { name: "a", arguments: "{}" } }] }),
      { choices: [{ delta: {}, finish_reason: "content_filter" }] },
    ]],
    ["responses", [{
      type: "response.incomplete",
      response: {
        status: "incomplete",
        incomplete_details: { reason: "content_filter" },
        output: [{ type: "function_call", id: "f", call_id: "1", name: "a", arguments: "{}" }],
      },
    }]],
  ] as const;
  for (const [api, chunks] of filtered) {
    const reply = read(chunks, base, api);
    assert.deepEqual([reply.stop_reason, reply.calls], ["refusal", []], api);
    assert.ok(!reply.message.content.some(({ type }) => type === "tool_use"), api);
  }
  let ran = 0;
  const touch = tool({ name: "a", description: "Counts", input: { type: "object" }, run: () => `${++ran}` });
  using server = await serve((_, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (const chunk of filtered[0][1]) response.write(`data: ${JSON.stringify(chunk)}\n\n`);
    response.end("data: [DONE]\n\n");
  });
  const result = await agent({ model: openai({ model: "m", baseURL: server.url }), tools: [touch] }).run("go");
  assert.deepEqual([result.stop, ran], ["refused", 0]);
});
