import assert from "node:assert/strict";
import type { Socket } from "node:net";
import { test } from "node:test";
import { agent } from "../../../lib/agent/agent.ts";
import { anthropic } from "../../../lib/models/anthropic/anthropic-model.ts";
import { textOf } from "../../../lib/core/messages.ts";
import { type ScriptedReply, scriptedServer } from "../../../lib/testing/index.ts";
import { tool } from "../../../lib/tools/make-tool.ts";
import { ask, failure, request } from "../../_ask.ts";
import { serve } from "../../_server.ts";
import { until } from "../../_until.ts";

test("anthropic() explains each refusal of the API and how to mend it", async () => {
  const cases: [number, string, RegExp][] = [
    [400, "invalid_request_error", /refused the request as invalid/],
    [401, "authentication_error", /ANTHROPIC_API_KEY/],
    [403, "permission_error", /may not/],
    [404, "not_found_error", /'claude-opus-5-5'/],
    [413, "request_too_large", /compact/],
    [429, "rate_limit_error", /rate limit/],
    [500, "api_error", /failed with 500/],
    [529, "overloaded_error", /overloaded/],
  ];
  for (const [http, code, message] of cases) {
    await using server = await scriptedServer([{ http }]);
    const error = await failure(ask(server));
    assert.equal(error.code, code);
    assert.match(error.message, message);
    assert.equal(error.retryable, false);
    server.done();
  }
});

test("anthropic() leaves a refused request to the SDK's retries and then answers", async () => {
  await using server = await scriptedServer([{ http: 529, retryAfter: 0.01 }, { http: 429, retryAfter: 0.01 }, {
    text: "third",
  }]);
  assert.equal(textOf((await ask(server, { maxRetries: 2 })).message), "third");
  assert.deepEqual(server.requests.map((r) => r.status), [529, 429, 200]);
  assert.deepEqual(server.requests[2]!.body, server.requests[0]!.body);
});

test("anthropic() says how often it tried and what the server asked it to wait", async () => {
  await using server = await scriptedServer([], { then: { http: 429, retryAfter: 0.01 } });
  const error = await failure(ask(server, { maxRetries: 1 }));
  assert.match(error.message, /in 2 attempts: try again in 1 s$/);
  assert.equal(error.retryAfter, 10);
  assert.equal(server.requests.length, 2);
});

test("anthropic() says that the address cannot be reached", async () => {
  const server = await scriptedServer([]);
  await server.close();
  const error = await failure(ask(server));
  assert.equal(error.code, "network");
  assert.ok(error.message.includes(server.url));
});

test("anthropic() gives up on an answer that does not begin", async () => {
  await using server = await scriptedServer([{ stall: "start" }]);
  const error = await failure(ask(server, { timeout: 100 }));
  assert.equal(error.code, "timeout");
});

test("U17: a reply that falls silent is a failed attempt that may be tried again", async () => {
  await using server = await scriptedServer([{ text: "some words that never end", stall: true }, { text: "ok" }]);
  const error = await failure(ask(server, { idleTimeout: 100 }));
  assert.equal(error.code, "stalled");
  assert.equal(error.retryable, true);
  assert.equal(textOf((await ask(server)).message), "ok");
});

test("U17: the time a listener takes is not silence of the model", async () => {
  await using server = await scriptedServer([{ text: "slowly, slowly, slowly" }], { cutAt: 100 });
  const model = anthropic({ apiKey: "test", baseURL: server.url, idleTimeout: 250 });
  let events = 0;
  for await (const _ of model(request, new AbortController().signal)) {
    if (events++ === 1) await new Promise((resolve) => setTimeout(resolve, 400));
  }
  assert.ok(events > 5);
});

test("U17: a connection that breaks in the middle of a reply may be tried again", async () => {
  await using server = await scriptedServer([{ text: "some words that break off", cut: 4 }]);
  const error = await failure(ask(server));
  assert.equal(error.code, "cut");
  assert.equal(error.retryable, true);
});

test("U17: an error in the middle of a reply may be tried again where it says so", async () => {
  await using server = await scriptedServer([{ text: "some", error: "overloaded_error" }, {
    error: "invalid_request_error",
  }]);
  const overloaded = await failure(ask(server));
  assert.equal(overloaded.code, "overloaded_error");
  assert.equal(overloaded.retryable, true);
  assert.equal((await failure(ask(server))).retryable, false);
});

test("U17: tool input that does not parse is marked and never given as an object", async () => {
  await using server = await scriptedServer([{ tools: [{ name: "Bash", raw: '{"command":"rm -rf' }] }]);
  const { calls } = await ask(server);
  assert.match(calls[0]!.invalid!, /not valid JSON/);
  assert.deepEqual(calls[0]!.input, {});
});

test("U17: an agent tells the model that a tool's input is not JSON, runs nothing, and asks again", async () => {
  const raws = ['{"say": }', "[1]", '{"say":"a'];
  await using server = await scriptedServer([
    ...raws.map((raw) => ({ tools: [{ name: "Echo", raw }] })),
    { text: "done" },
  ]);
  const ran: unknown[] = [];
  const Echo = tool({
    ...{ name: "Echo", description: "Says it", input: { type: "object" }, effect: "none" },
    run: (input) => String(ran.push(input)),
  });
  const model = anthropic({ apiKey: "test", baseURL: server.url });
  const { stop } = await agent({ model, tools: [Echo], hooks: [] }).run("go");
  assert.deepEqual([stop, ran], ["done", []]);
  const told = server.requests.slice(1).map(({ body }) => body.messages.slice(-2));
  assert.deepEqual(told.map(([asked]) => asked.content[0].input), [{}, {}, {}]);
  for (const [, { content: [result] }] of told) {
    assert.equal(result.is_error, true);
    assert.match(JSON.stringify(result.content), /input is not (valid JSON|a JSON object)/);
  }
});

test("anthropic() refuses an answer that is no stream", async () => {
  using gateway = await serve((_, response) => void response.setHeader("content-type", "application/json").end("{}"));
  assert.equal((await failure(ask(gateway))).code, "not_a_stream");
});

test("anthropic() ends at once when it is aborted, wherever it is", async () => {
  const places: [name: string, replies: ScriptedReply[]][] = [
    ["before the call", []],
    ["before the answer", [{ stall: "start" }]],
    ["in the middle of the reply", [{ text: "some words", stall: true }]],
    ["between two attempts", [{ http: 429, retryAfter: 60 }]],
  ];
  for (const [name, replies] of places) {
    await using server = await scriptedServer(replies);
    const controller = new AbortController();
    const aborting = async () => {
      while (server.requests.length < replies.length) await new Promise((resolve) => setTimeout(resolve, 5));
      if (replies.length > 0) await new Promise((resolve) => setTimeout(resolve, 30));
      controller.abort("no more");
    };
    const aborted = aborting();
    const error = await failure(ask(server, { maxRetries: 2, idleTimeout: 600_000 }, { signal: controller.signal }));
    await aborted;
    assert.equal(error.code, "aborted", name);
    assert.equal(error.cause, "no more");
    server.done();
  }
});

test("anthropic() leaves no connection open when a reply is aborted, stalls or is dropped", async () => {
  for (const [way, code] of [["abort", "aborted"], ["stall", "stalled"], ["drop", undefined]] as const) {
    const sockets = new Set<Socket>();
    using api = await serve((_, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write('data: {"type":"message_start","message":{}}\n\n');
    });
    api.server.on("connection", (socket) => {
      sockets.add(socket);
      socket.on("close", () => sockets.delete(socket));
    });
    const controller = new AbortController();
    const model = anthropic({ apiKey: "test", baseURL: api.url, idleTimeout: way === "stall" ? 300 : 30_000 });
    const open: number[] = [];
    const reading = async () => {
      for await (const _ of model(request, controller.signal)) {
        open.push(sockets.size);
        if (way === "drop") break;
        if (way === "abort") controller.abort();
      }
    };
    if (code === undefined) await reading();
    else assert.equal((await failure(reading())).code, code);
    assert.deepEqual(open, [1], way);
    await until(`${way} leaves no connection open`, () => sockets.size === 0);
  }
});

test("anthropic() leaves no listener on the signal it was given", async () => {
  await using server = await scriptedServer([{ text: "ok" }, { http: 400 }, { text: "cut off here", cut: 4 }]);
  const { signal } = new AbortController();
  let listeners = 0;
  const { addEventListener, removeEventListener } = signal;
  signal.addEventListener = (...args: any[]) => (listeners++, addEventListener.apply(signal, args as any));
  signal.removeEventListener = (...args: any[]) => (listeners--, removeEventListener.apply(signal, args as any));
  await ask(server, {}, { signal });
  await failure(ask(server, {}, { signal }));
  await failure(ask(server, {}, { signal }));
  assert.equal(listeners, 0);
});

test("anthropic() waits for ever where idleTimeout is Infinity", async () => {
  await using server = await scriptedServer([{ text: "slow to come", delay: 30 }], { cutAt: 200 });
  assert.equal(textOf((await ask(server, { idleTimeout: Infinity })).message), "slow to come");
});
