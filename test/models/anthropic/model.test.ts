import assert from "node:assert/strict";
import { test } from "node:test";
import { agent } from "../../../lib/agent/agent.ts";
import { anthropic, type AnthropicOptions, DEFAULT_MODEL } from "../../../lib/models/anthropic/anthropic-model.ts";
import { assistant, textOf, toolResult, user } from "../../../lib/core/messages.ts";
import { readReply } from "../../../lib/core/reply.ts";
import { scriptedServer } from "../../../lib/testing/index.ts";
import { ask, failure, request } from "../../_ask.ts";
import { withEnv } from "../../_env.ts";
import { scratch } from "../../_scratch.ts";

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

test("a model that is named is asked where the environment says, also if that has changed since its last call", async () => {
  using dir = scratch();
  for (const key of ["key-one", "key-two"]) {
    await using server = await scriptedServer([{ text: key }]);
    const result = await withEnv(
      { ANTHROPIC_API_KEY: key, ANTHROPIC_AUTH_TOKEN: undefined, ANTHROPIC_BASE_URL: server.url },
      () => agent({ model: DEFAULT_MODEL }).run("hello", { cwd: dir.path }),
    );
    assert.equal(result.text, key, String(result.error?.message));
    assert.match(JSON.stringify(server.requests[0]!.headers), new RegExp(key));
  }
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
    seen.push([JSON.parse(sent.body as string), answer.status]);
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
