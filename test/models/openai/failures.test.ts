import assert from "node:assert/strict";
import { test } from "node:test";
import { openai } from "crochet";
import { user } from "../../../lib/core/messages.ts";
import { readReply } from "../../../lib/core/reply.ts";
import type { OpenAIOptions } from "../../../lib/models/openai/openai-model.ts";
import { failure } from "../../_ask.ts";
import { withEnv } from "../../_env.ts";
import { serve } from "../../_server.ts";

const request = { model: "m", system: "", messages: [user("go")], tools: [], max_tokens: 10 };

function ask(url: string, options: Partial<OpenAIOptions> = {}) {
  const model = openai({ model: "m", baseURL: url, ...options });
  return readReply(model(request, new AbortController().signal), () => {});
}

/** What a server answers, then the code of the error, whether another attempt may help, and its words. */
const REFUSALS: readonly [status: number, body: unknown, code: string, retryable: boolean, words: RegExp][] = [
  [
    400,
    { error: { message: "bad", type: "invalid_request_error", code: null } },
    "invalid_request_error",
    false,
    /bad/,
  ],
  [
    400,
    { error: { message: "long", code: "context_length_exceeded" } },
    "invalid_request_error",
    false,
    /context_length_exceeded/,
  ],
  [400, { error: { message: "no", code: "tool_use_failed" } }, "invalid_request_error", true, /no/],
  [401, { error: "who are you" }, "authentication_error", false, /OPENAI_API_KEY \(who are you\)/],
  [402, { message: "pay" }, "billing_error", false, /pay/],
  [403, { detail: "not yours" }, "permission_error", false, /not yours/],
  [404, { detail: "Not Found" }, "not_found_error", false, /'m'/],
  [408, {}, "invalid_request_error", true, /408/],
  [409, {}, "invalid_request_error", true, /409/],
  [413, "too large", "request_too_large", false, /larger/],
  [422, { detail: [{ loc: ["body"], msg: "odd" }] }, "invalid_request_error", false, /odd/],
  [429, { error: { message: "slow down" } }, "rate_limit_error", true, /slow down/],
  [429, { error: { message: "broke", code: "insufficient_quota" } }, "billing_error", false, /broke/],
  [429, [{ error: { code: 429, message: "quota", status: "RESOURCE_EXHAUSTED" } }], "rate_limit_error", true, /quota/],
  [500, "<html>oops</html>", "api_error", true, /oops/],
  [503, { error: { message: "loading" } }, "overloaded_error", true, /loading/],
  [529, { error: { message: "busy" } }, "overloaded_error", true, /overloaded/],
];

test("each refusal of a server has the code of its status, in the server's words", async () => {
  for (const [status, body, code, retryable, words] of REFUSALS) {
    using server = await serve((request, response) => {
      request.resume();
      response.writeHead(status, { "retry-after": "2" }).end(typeof body === "string" ? body : JSON.stringify(body));
    });
    const error = await failure(ask(server.url));
    const name = `${status} ${JSON.stringify(body)}`;
    assert.deepEqual([error.code, error.retryable, error.retryAfter], [code, retryable, 2000], name);
    assert.match(error.message, words, name);
  }
});

/** What comes with status 200 in place of a reply, or of its rest. */
const BROKEN: readonly [body: string, code: string, retryable: boolean, words: RegExp][] = [
  ['error: {"error":{"message":"worker died","code":500}}\n\n', "api_error", true, /worker died/],
  ["error: no worker\n\n", "api_error", true, /no worker/],
  ['event: error\ndata: {"message":"gone"}\n\n', "api_error", true, /gone/],
  [
    'data: {"choices":[{"delta":{"content":"a"},"finish_reason":"error"}]}\n\n',
    "api_error",
    true,
    /ended with an error/,
  ],
  [
    'data: {"error":{"message":"bad call","type":"invalid_request_error","code":"tool_use_failed"}}\n\n',
    "invalid_request_error",
    true,
    /bad call/,
  ],
  ['data: {"error":{"message":"limit","type":"rate_limit_exceeded"}}\n\n', "rate_limit_error", true, /limit/],
  ['{"error":{"message":"no such model","code":404}}', "not_found_error", false, /no such model/],
  ['{"object":"error","message":"engine died","code":500}', "api_error", true, /engine died/],
  ['{"choices":[{"message":{"content":"hi"', "cut", true, /before its JSON did/],
  ['{"hello":"world"}', "grammar", true, /no choices/],
  ["data: {nope\n\ndata: {}\n\n", "grammar", true, /not JSON/],
  ["", "cut", true, /without finish_reason and \[DONE\]/],
];

test("what is not a reply is always an error, never a shorter reply", async () => {
  for (const [body, code, retryable, words] of BROKEN) {
    using server = await serve((request, response) => {
      request.resume();
      response.writeHead(200, { "content-type": "text/event-stream" }).end(body);
    });
    const error = await failure(ask(server.url));
    assert.deepEqual([error.code, error.retryable], [code, retryable], body);
    assert.match(error.message, words, body);
  }
  using page = await serve((request, response) => {
    request.resume();
    response.writeHead(200, { "content-type": "text/html" }).end("<html>");
  });
  assert.match((await failure(ask(page.url))).message, /'text\/html': check OPENAI_BASE_URL/);
});

test("a reply whose server has said that it is over is whole, though the connection breaks before its last line", async () => {
  using server = await serve((request, response) => {
    request.resume();
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write('data: {"choices":[{"delta":{"content":"hi"},"finish_reason":"stop"}]}\n\n');
    setTimeout(() => response.destroy(), 20);
  });
  const reply = await readReply(
    openai({ model: "m", baseURL: server.url })(request, new AbortController().signal),
    () => {},
  );
  assert.deepEqual([reply.message.content, reply.cost], [[{ type: "text", text: "hi" }], null]);
});

test("a server that cannot be reached, or does not answer in time, may be tried again", async () => {
  const gone = await failure(ask("http://127.0.0.1:9"));
  assert.deepEqual([gone.code, gone.retryable], ["network", true]);
  assert.match(gone.message, /127\.0\.0\.1:9 could not be reached/);
  using silent = await serve((request) => void request.resume());
  const late = await failure(ask(silent.url, { timeout: 50 }));
  assert.deepEqual([late.code, late.retryable], ["timeout", true]);
});

test("the public API is never called without a key, and a base URL must be one", async () => {
  const model = openai({ model: "m" });
  const failed = (OPENAI_BASE_URL: string | undefined) =>
    withEnv({ OPENAI_API_KEY: undefined, OPENAI_BASE_URL }, () => {
      return failure(readReply(model(request, new AbortController().signal), () => {}));
    });
  assert.equal((await failed(undefined)).code, "no_key");
  assert.match((await failed("localhost")).message, /'localhost' is not a URL: set OPENAI_BASE_URL/);
  assert.throws(() => openai({ model: "m", baseURL: "localhost" }), /baseURL 'localhost' is not a URL/);
  assert.throws(() => openai({} as OpenAIOptions), /names no model/);
  assert.throws(() => openai({ model: "m", modle: "x" } as OpenAIOptions), /did you mean 'model'/);
  assert.throws(() => openai({ model: "m", api: "completions" as never }), /'api' must be "chat" or "responses"/);
});
