import assert from "node:assert/strict";
import { connect } from "node:net";
import { test } from "node:test";
import Anthropic from "@anthropic-ai/sdk";
import { agent, anthropic } from "../../lib/index.ts";
import { type ScriptedReply, type ScriptedServer, scriptedServer } from "../../lib/testing/index.ts";

function sdk(server: ScriptedServer): Anthropic {
  return new Anthropic({ apiKey: "test", baseURL: server.url, maxRetries: 0 });
}

const params = { model: "claude-test", max_tokens: 100, messages: [{ role: "user" as const, content: "hello" }] };
const call = { tools: [{ name: "Bash", input: { command: "ls" } }] };

function post(server: ScriptedServer, body: unknown, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(`${server.url}/v1/messages`, {
    method: "POST",
    headers: { "x-api-key": "test", "anthropic-version": "2026-10-21", ...headers },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
}

test("scriptedServer() is the Messages API to the SDK, streamed and plain", async () => {
  const replies: ScriptedReply[] = [{ thinking: "hm", text: "hi", ...call }, { text: "plain", ...call }];
  await using server = await scriptedServer(replies);
  const streamed = await sdk(server).messages.stream(params).finalMessage();
  assert.deepEqual(streamed.content.map((block) => block.type), ["thinking", "text", "tool_use"]);
  const plain = await sdk(server).messages.create(params);
  assert.deepEqual(plain.content, [
    { type: "text", text: "plain" },
    { type: "tool_use", id: "toolu_scripted_0002", name: "Bash", input: { command: "ls" } },
  ] as unknown);
  assert.equal(plain.stop_reason, "tool_use");
  assert.equal(plain._request_id, "req_scripted_0002");
  server.done();
});

test("scriptedServer() keeps every request with its headers, as sent and as the core would ask it", async () => {
  await using server = await scriptedServer([{ text: "ok" }]);
  const mark = { cache_control: { type: "ephemeral" as const } };
  await sdk(server).messages.create({
    ...params,
    system: [{ type: "text", text: "be brief", ...mark }],
    metadata: { user_id: "u" },
  });
  const [served] = server.requests;
  assert.equal(served!.body.system[0].cache_control.type, "ephemeral");
  assert.equal(served!.headers["authorization"], "Bearer test");
  assert.deepEqual(served!.request, {
    model: "claude-test",
    system: "be brief",
    messages: [{ role: "user", content: [{ type: "text", text: "hello" }] }],
    tools: [],
    max_tokens: 100,
    params: { metadata: { user_id: "u" } },
  });
});

test("scriptedServer() answers with HTTP errors in the API's shape", async () => {
  const statuses = [400, 401, 403, 404, 413, 429, 500, 529];
  await using server = await scriptedServer(statuses.map((http) => ({ http, retryAfter: 7 })));
  const types: string[] = [];
  for (const status of statuses) {
    const response = await post(server, params);
    assert.equal(response.status, status);
    assert.equal(response.headers.get("retry-after"), "7");
    types.push((await response.json()).error.type);
  }
  assert.deepEqual(types, [
    "invalid_request_error",
    "authentication_error",
    "permission_error",
    "not_found_error",
    "request_too_large",
    "rate_limit_error",
    "api_error",
    "overloaded_error",
  ]);
  server.done();
});

test("scriptedServer() refuses what the API would refuse, and done() says so", async () => {
  const use = { role: "assistant", content: [{ type: "tool_use", id: "t1", name: "Bash", input: {} }] };
  const result = { role: "user", content: [{ type: "tool_result", tool_use_id: "t1", content: "ok" }] };
  const hello = params.messages[0]!;
  const tool = { name: "Bash", input_schema: { type: "object" } };
  const mark = { cache_control: { type: "ephemeral" } };
  const bad: [string, unknown][] = [
    ["no JSON", "{"],
    ["no model", { ...params, model: undefined }],
    ["no max_tokens", { ...params, max_tokens: 0 }],
    ["system is a number", { ...params, system: 5 }],
    ["system holds a picture", { ...params, system: [{ type: "image" }] }],
    ["no messages", { ...params, messages: [] }],
    ["empty content", { ...params, messages: [{ role: "user", content: [] }] }],
    ["empty text", { ...params, messages: [{ role: "user", content: [{ type: "text", text: "" }] }] }],
    ["blank text", { ...params, messages: [{ role: "user", content: [{ type: "text", text: " \n" }] }] }],
    ["two users in a row", { ...params, messages: [hello, hello] }],
    ["assistant first", { ...params, messages: [{ role: "assistant", content: "hi" }, hello] }],
    ["assistant last", { ...params, messages: [hello, { role: "assistant", content: "hi" }] }],
    ["unknown role", { ...params, messages: [{ role: "system", content: "hi" }] }],
    ["extra field", { ...params, messages: [{ ...hello, id: "m1" }] }],
    ["unanswered call", { ...params, messages: [hello, use, hello] }],
    ["answer to nothing", { ...params, messages: [result] }],
    ["answered twice", {
      ...params,
      messages: [hello, use, { ...result, content: [...result.content, ...result.content] }],
    }],
    ["picture in a failure", {
      ...params,
      messages: [hello, use, {
        ...result,
        content: [{ ...result.content[0], content: [{ type: "image" }], is_error: true }],
      }],
    }],
    ["failure without words", {
      ...params,
      messages: [hello, use, { ...result, content: [{ ...result.content[0], content: [], is_error: true }] }],
    }],
    ["empty text in a result", {
      ...params,
      messages: [hello, use, { ...result, content: [{ ...result.content[0], content: [{ type: "text", text: "" }] }] }],
    }],
    ["input is a string", {
      ...params,
      messages: [hello, { ...use, content: [{ ...use.content[0], input: "{}" }] }, result],
    }],
    ["tools with one name", { ...params, tools: [tool, tool] }],
    ["tool without schema", { ...params, tools: [{ name: "Bash" }] }],
    ["five breakpoints", { ...params, tools: "abcde".split("").map((name) => ({ ...tool, name, ...mark })) }],
  ];
  await using server = await scriptedServer([{ text: "ok" }]);
  for (const [what, body] of bad) {
    const response = await post(server, body);
    assert.equal(response.status, 400, what);
    assert.equal((await response.json()).error.type, "invalid_request_error");
  }
  assert.throws(() => server.done(), /request 1 got 400/);
  const response = await post(server, { ...params, messages: [hello, use, result], tools: [tool] });
  assert.equal((await response.json()).content[0].text, "ok");
});

test("scriptedServer() accepts a paused reply as the last message, and no other reply", async () => {
  const search = { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: { query: "x" } };
  const replies: ScriptedReply[] = [{ text: "I look", blocks: [search], stop_reason: "pause_turn" }, { text: "found" }];
  await using server = await scriptedServer(replies);
  const model = anthropic({ apiKey: "test", baseURL: server.url });
  const { text, stop } = await agent({ model }).run("look it up");
  assert.deepEqual([stop, text], ["done", "I lookfound"]);
  server.done();
  const begun = [...params.messages, { role: "assistant", content: "I begin" }];
  assert.equal((await post(server, { ...params, messages: begun })).status, 400);
});

test("scriptedServer() takes messages between the turns from a client with that beta alone, after the first message", async () => {
  const beta = { "anthropic-beta": "a-1,mid-conversation-tool-changes-2026-07-01" };
  const user = { role: "user", content: "hello" };
  const block = { type: "text", text: "a new tool" };
  const between = (more: object = {}) => ({ role: "system", content: [block], output_config: {}, ...more });
  const used = { role: "assistant", content: [{ type: "tool_use", id: "a", name: "Bash", input: {} }] };
  const answered = { role: "user", content: [{ type: "tool_result", tool_use_id: "a", content: "1" }] };
  const table: readonly (readonly [messages: readonly object[], headers: Record<string, string>, status: number])[] = [
    [[user, between()], beta, 200],
    [[user, between(), used, answered, between({ content: "gone" })], beta, 200],
    [[user, between()], {}, 400],
    [[user, between()], { "anthropic-beta": "other-1" }, 400],
    [[between(), user], beta, 400],
    [[user, between({ name: "x" })], beta, 400],
    [[user, between({ content: [{ type: "image" }] })], beta, 400],
    [[user, between({ content: "" })], beta, 400],
    [[user, { role: "assistant", content: "hi" }, between()], beta, 400],
    [[user, used, between()], beta, 400],
  ];
  await using server = await scriptedServer([], { then: { text: "ok" } });
  for (const [messages, headers, status] of table) {
    assert.equal((await post(server, { ...params, messages }, headers)).status, status, JSON.stringify(messages));
  }
  assert.deepEqual(server.requests[1]!.request!.messages, [
    { role: "user", content: [{ type: "text", text: "hello" }, block] },
    used,
    { role: "user", content: [...answered.content, { type: "text", text: "gone" }] },
  ] as unknown);
  assert.equal(server.requests[1]!.body.messages.length, 5);
});

test("scriptedServer() wants a key, a version and the right path", async () => {
  await using server = await scriptedServer([]);
  assert.equal((await post(server, params, { "x-api-key": "" })).status, 401);
  assert.equal((await post(server, params, { "anthropic-version": "" })).status, 400);
  assert.equal((await fetch(`${server.url}/v1/other`)).status, 404);
});

test("scriptedServer() that is asked for more than it has says so", async () => {
  await using server = await scriptedServer([]);
  await assert.rejects(sdk(server).messages.create(params), /script has run out/);
});

test("scriptedServer() answers sub-agents from a route of their own", async () => {
  await using server = await scriptedServer([{ text: "main" }], {
    routes: [{ when: ({ system }) => system.startsWith("sub"), replies: [{ text: "sub" }] }],
  });
  const said = [];
  for (const system of ["sub-agent", "other"]) {
    said.push((await sdk(server).messages.create({ ...params, system })).content[0]);
  }
  assert.deepEqual(said.map((block: any) => block.text), ["sub", "main"]);
  server.done();
});

test("scriptedServer() breaks off in the middle of a stream", async () => {
  await using server = await scriptedServer([{ text: "some words", cut: 3 }]);
  await assert.rejects(async () => {
    for await (const _ of await sdk(server).messages.create({ ...params, stream: true }));
    throw new Error("ended");
  }, (error: Error) => error.message !== "ended");
});

test("scriptedServer().close() ends stalled and delayed answers at once", async () => {
  for (const reply of [{ stall: "start" as const }, { text: "words", stall: true }, { text: "late", delay: 600_000 }]) {
    const server = await scriptedServer([reply]);
    const asked = post(server, { ...params, stream: true }).then((response) => response.text()).then(
      () => "ended",
      () => "broken",
    );
    while (server.requests.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    await server.close();
    assert.equal(await asked, "broken");
  }
});

test("scriptedServer() refuses invalid cuts and unknown options", async () => {
  for (const cutAt of [0, -1, 1.5, "5"] as number[]) {
    await assert.rejects(scriptedServer([], { cutAt }), /Cannot cut a body every \S+ bytes: give cutAt a whole number/);
  }
  await assert.rejects(scriptedServer([], { cut: 5 } as object), /option 'cut' is unknown: did you mean 'cutAt'\?$/);
});

test("scriptedServer() cuts a stream into the given writes", async () => {
  await using server = await scriptedServer([{ text: "語".repeat(30) }], { cutAt: 5 });
  const body = JSON.stringify({ ...params, stream: true });
  const head = ["POST /v1/messages HTTP/1.1", "host: here", "x-api-key: test", "anthropic-version: 2026-10-21"];
  const socket = connect(Number(new URL(server.url).port), "127.0.0.1");
  socket.write([...head, "connection: close", `content-length: ${body.length}`, "", body].join("\r\n"));
  let answer = "";
  for await (const part of socket) answer += part.toString("latin1");
  // On the wire each write is a chunk with its length before it, however the parts are put together on the way.
  const writes = [...answer.matchAll(/\r\n([0-9a-f]+)\r\n/g)].map(([, length]) => parseInt(length!, 16));
  const [last, ...others] = writes.slice(0, -1).reverse();
  assert.ok(others.length > 100 && others.every((length) => length === 5), `${writes}`);
  assert.ok(last! > 0 && last! <= 5 && writes.at(-1) === 0, `${writes}`);
});
