import assert from "node:assert/strict";
import type { Socket } from "node:net";
import { test } from "node:test";
import { agent } from "../lib/agent.ts";
import { anthropic, type AnthropicOptions, DEFAULT_MODEL } from "../lib/anthropic.ts";
import { assistant, textOf, toolResult, user } from "../lib/core/messages.ts";
import { type ModelError, type ModelRequest, type Reply } from "../lib/core/model.ts";
import { readReply } from "../lib/core/reply.ts";
import { scriptedServer } from "../lib/testing/index.ts";
import { scratch } from "./_scratch.ts";
import { serve } from "./_server.ts";

const request: ModelRequest = {
  model: DEFAULT_MODEL,
  system: "be brief",
  messages: [user("hello")],
  tools: [{ name: "Bash", description: "Runs a command.", input_schema: { type: "object" } }],
  max_tokens: 100,
};

function ask(
  server: { readonly url: string },
  options: AnthropicOptions = {},
  { signal = new AbortController().signal, ...asked }: Partial<ModelRequest> & { signal?: AbortSignal } = {},
): Promise<Reply> {
  const model = anthropic({ apiKey: "test", baseURL: server.url, maxRetries: 0, ...options });
  return readReply(model({ ...request, ...asked }, signal), () => {});
}

async function failure(promise: Promise<unknown>): Promise<ModelError> {
  try {
    await promise;
  } catch (error) {
    assert.equal((error as Error).name, "ModelError", String((error as Error).stack));
    assert.match((error as Error).message, /^Cannot .*[^.]$/s);
    return error as ModelError;
  }
  throw new Error("expected a failure");
}

/** Runs with other environment variables; undefined takes one away. */
async function withEnv<T>(vars: { [name: string]: string | undefined }, run: () => Promise<T>): Promise<T> {
  const before = Object.keys(vars).map((name) => [name, process.env[name]] as const);
  const set = ([name, value]: readonly [string, string | undefined]) => {
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
  };
  Object.entries(vars).forEach(set);
  try {
    return await run();
  } finally {
    before.forEach(set);
  }
}

test("anthropic() streams a reply with text and tool calls", async () => {
  await using server = await scriptedServer([{ text: "looking", tools: [{ name: "Bash", input: { command: "ls" } }] }]);
  const reply = await ask(server);
  assert.equal(textOf(reply.message), "looking");
  assert.deepEqual(reply.calls, [{ id: "toolu_scripted_0001", name: "Bash", input: { command: "ls" } }]);
  assert.equal(reply.usage.output_tokens, 5);
  server.done();
});

test("anthropic() marks the system prompt, the last tool and the last two user messages for the cache", async () => {
  await using server = await scriptedServer([{ text: "ok" }, { text: "ok" }]);
  const messages = [
    user("one"),
    assistant("two"),
    user("three"),
    assistant([{ type: "tool_use", id: "t1", name: "Bash", input: {} }]),
    user([toolResult("t1", "four")]),
  ];
  await ask(server, {}, { messages });
  await ask(server, { cache: false }, { messages });
  const [marked, plain] = server.requests;
  const mark = { type: "ephemeral" };
  assert.deepEqual(marked!.body.messages.map((m: any) => m.content.at(-1).cache_control), [
    undefined,
    undefined,
    mark,
    undefined,
    mark,
  ]);
  assert.deepEqual(marked!.body.system, [{ type: "text", text: "be brief", cache_control: mark }]);
  assert.deepEqual(marked!.body.tools.at(-1).cache_control, mark);
  assert.equal(JSON.stringify(plain!.body).includes("cache_control"), false);
  assert.deepEqual(plain!.request, marked!.request);
});

test("anthropic() says that no key is set before it sends anything", async () => {
  await using server = await scriptedServer([]);
  using empty = scratch();
  const keys = {
    ANTHROPIC_API_KEY: undefined,
    ANTHROPIC_AUTH_TOKEN: undefined,
    ANTHROPIC_PROFILE: undefined,
    ANTHROPIC_CONFIG_DIR: empty.path,
  };
  const error = await withEnv(keys, () => {
    const model = anthropic({ baseURL: server.url });
    return failure(readReply(model(request, new AbortController().signal), () => {}));
  });
  assert.equal(error.code, "no_key");
  assert.match(error.message, /ANTHROPIC_API_KEY/);
  assert.equal(error.retryable, false);
  assert.equal(server.requests.length, 0);
});

test("anthropic() takes key and address from the environment", async () => {
  await using server = await scriptedServer([{ text: "ok" }]);
  await withEnv(
    { ANTHROPIC_API_KEY: "from-env", ANTHROPIC_AUTH_TOKEN: undefined, ANTHROPIC_BASE_URL: server.url },
    () => readReply(anthropic()(request, new AbortController().signal), () => {}),
  );
  assert.match(JSON.stringify(server.requests[0]!.headers), /from-env/);
});

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
  assert.equal(textOf((await ask(server, { idleTimeout: 100 })).message), "ok");
});

test("U17: the time a listener takes is not silence of the model", async () => {
  await using server = await scriptedServer([{ text: "slowly, slowly, slowly" }], { cutAt: 100 });
  const model = anthropic({ apiKey: "test", baseURL: server.url, idleTimeout: 50 });
  let events = 0;
  for await (const _ of model(request, new AbortController().signal)) {
    if (events++ < 2) await new Promise((resolve) => setTimeout(resolve, 120));
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

test("anthropic() refuses an answer that is no stream", async () => {
  using gateway = await serve((_, response) => void response.setHeader("content-type", "application/json").end("{}"));
  assert.equal((await failure(ask(gateway))).code, "not_a_stream");
});

test("anthropic() ends at once when it is aborted, wherever it is", async () => {
  const places = [
    { name: "before the call", replies: [], abortAfter: 0 },
    { name: "before the answer", replies: [{ stall: "start" as const }], abortAfter: 50 },
    { name: "in the middle of the reply", replies: [{ text: "some words", stall: true }], abortAfter: 50 },
    { name: "between two attempts", replies: [{ http: 429, retryAfter: 60 }], abortAfter: 50 },
  ];
  for (const { name, replies, abortAfter } of places) {
    await using server = await scriptedServer(replies);
    const controller = new AbortController();
    if (abortAfter === 0) controller.abort("no more");
    else setTimeout(() => controller.abort("no more"), abortAfter);
    const error = await failure(ask(server, { maxRetries: 2, idleTimeout: 600_000 }, { signal: controller.signal }));
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
    const model = anthropic({ apiKey: "test", baseURL: api.url, idleTimeout: way === "stall" ? 50 : 30_000 });
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
    for (let i = 0; i < 200 && sockets.size > 0; i++) await new Promise((resolve) => setTimeout(resolve, 10));
    assert.equal(sockets.size, 0, `${way} left a connection open`);
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

test("anthropic() uses one connection for the calls of a conversation", async () => {
  await using server = await scriptedServer([], { then: { text: "ok" } });
  const model = anthropic({ apiKey: "test", baseURL: server.url });
  for (let i = 0; i < 5; i++) await readReply(model(request, new AbortController().signal), () => {});
  assert.equal(new Set(server.requests.map((r) => r.port)).size, 1);
});

test("anthropic() serialises each message of a conversation once, also after a failed call", async () => {
  await using server = await scriptedServer([{ text: "a" }, { http: 400 }, { text: "b" }, { text: "c" }]);
  const model = anthropic({ apiKey: "test", baseURL: server.url, maxRetries: 0 });
  let serialised = 0;
  const counted = (text: string) => ({ type: "text", toJSON: () => (serialised++, { type: "text", text }) });
  const messages = [user([counted("first")])];
  for (let call = 0; call < 4; call++) {
    await readReply(model({ ...request, messages }, new AbortController().signal), () => {}).catch(() => {});
    messages.push(assistant([counted("reply")]), user([counted("more")]));
  }
  assert.equal(serialised, 7);
  server.done();
});

test("anthropic() passes every attempt through its middleware, which may answer it", async () => {
  await using server = await scriptedServer([{ http: 529, retryAfter: 0.01 }, { text: "live" }]);
  const seen: unknown[] = [];
  const middleware: AnthropicOptions["middleware"] = [async (sent, next) => {
    const answer = await next(sent);
    seen.push([JSON.parse(new TextDecoder().decode(sent.body as Uint8Array)), answer.status]);
    return answer;
  }];
  await ask(server, { middleware, maxRetries: 1 });
  assert.deepEqual(seen, server.requests.map(({ body, status }) => [body, status]));
  assert.deepEqual(server.requests.map(({ status }) => status), [529, 200]);

  const recorded = [
    { type: "message_start", message: {} },
    { type: "content_block_start", index: 0, content_block: { type: "text", text: "recorded" } },
    { type: "content_block_stop", index: 0 },
    { type: "message_stop" },
  ].map((event) => `data: ${JSON.stringify(event)}\n\n`).join("");
  const offline: AnthropicOptions["middleware"] = [
    async () => new Response(recorded, { headers: { "content-type": "text/event-stream" } }),
  ];
  assert.equal(textOf((await ask(server, { middleware: offline })).message), "recorded");
  assert.equal(server.requests.length, 2);
});

test("anthropic() is named after its model, which an agent then asks for", async () => {
  assert.equal(anthropic().name, DEFAULT_MODEL);
  assert.equal(anthropic({ model: "claude-haiku-5-5" }).name, "claude-haiku-5-5");
  await using server = await scriptedServer([{ text: "ok" }]);
  await agent({ model: anthropic({ model: "claude-haiku-5-5", apiKey: "test", baseURL: server.url }) }).run("hello");
  assert.equal(server.requests[0]!.body.model, "claude-haiku-5-5");
});

test("anthropic() refuses a wrong option where it is given", () => {
  assert.throws(() => anthropic({ apikey: "x" } as AnthropicOptions), /'apikey' is unknown: did you mean 'apiKey'/);
  assert.throws(() => anthropic({ maxRetries: -1 }), /'maxRetries' must be 0 or more: current value is -1/);
  assert.throws(() => anthropic({ idleTimeout: "60" as unknown as number }), /'idleTimeout'/);
});

test("anthropic() waits for ever where idleTimeout is Infinity", async () => {
  await using server = await scriptedServer([{ text: "slow to come", delay: 30 }], { cutAt: 200 });
  assert.equal(textOf((await ask(server, { idleTimeout: Infinity })).message), "slow to come");
});
