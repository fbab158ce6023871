import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { test } from "node:test";
import type { AnthropicOptions } from "../../lib/models/anthropic/anthropic-model.ts";
import type { ModelError } from "../../lib/core/model.ts";
import { readReply } from "../../lib/core/reply.ts";
import { openai, type OpenAIOptions } from "../../lib/models/openai/openai-model.ts";
import { ask, failure, request } from "../_ask.ts";
import { serve } from "../_server.ts";

/** Who asks. */
type Asking = (server: { readonly url: string }, options: AnthropicOptions) => Promise<unknown>;

const openaiAsks: Asking = (server, options) => {
  const model = openai({ baseURL: server.url, ...options as OpenAIOptions, model: "m" });
  return readReply(model(request, new AbortController().signal), () => {});
};

const ASKING: readonly Asking[] = [ask, openaiAsks];

/** Asks a server that answers so, and gives the error once the server was left. */
async function failureOf(
  answer: (response: ServerResponse, send: (text: string) => boolean) => void,
  options: AnthropicOptions = {},
  asking: Asking = ask,
): Promise<ModelError> {
  const left = Promise.withResolvers<void>();
  using server = await serve((_, response) => {
    response.on("close", left.resolve);
    answer(response, (text) => {
      if (response.destroyed) return false;
      response.write(text);
      return true;
    });
  });
  const error = await failure(asking(server, options));
  await left.promise;
  return error;
}

/** Begins a reply, and for the Messages API its first block. */
function begin(response: ServerResponse, send: (text: string) => boolean, asking: Asking = ask): void {
  response.writeHead(200, { "content-type": "text/event-stream" });
  if (asking !== ask) return;
  send('data: {"type":"message_start","message":{}}\n\n');
  send('data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}\n\n');
}

/** Sends a text again and again, as fast as it is taken, or every few milliseconds. */
function forever(response: ServerResponse, send: (text: string) => boolean, text: string, ms = 0): void {
  const next = () => {
    if (!send(text)) return;
    if (ms > 0) setTimeout(next, ms);
    else if (response.writableNeedDrain) response.once("drain", next);
    else setImmediate(next);
  };
  next();
}

test("an error's body is never read for longer than it takes to know what went wrong", async () => {
  for (const asking of ASKING) {
    const start = '{"type":"error","error":{"type":"invalid_request_error","message":"max_tokens: too many"}}';
    const flood = await failureOf(
      (response, send) => {
        response.writeHead(400, { "content-type": "application/json" });
        send(start);
        forever(response, send, " ".repeat(16_384));
      },
      {},
      asking,
    );
    assert.equal(flood.code, "invalid_request_error");
    assert.match(flood.message, /max_tokens: too many/);
    const drip = await failureOf(
      (response, send) => {
        response.writeHead(400, { "content-type": "application/json" });
        send(start);
        forever(response, send, " ", 5);
      },
      { idleTimeout: 300 },
      asking,
    );
    assert.match(drip.message, /max_tokens: too many/);
  }
});

test("anthropic() blames the server, not the network, for an answer whose status HTTP does not have", async () => {
  const error = await failureOf((response, send) => {
    response.writeHead(999, { "content-type": "text/plain" });
    send("go away");
    response.end();
  });
  assert.equal(error.code, "api_error");
  assert.match(error.message, /^Cannot call the model as the API failed with 599: 599 go away$/);
});

test("a model gives up on a reply that brings nothing but pings, comments or bits of an event", async () => {
  for (const asking of ASKING) {
    for (const sign of ['event: ping\ndata: {"type":"ping"}\n\n', ": alive\n\n", " "]) {
      const error = await failureOf(
        (response, send) => {
          response.writeHead(200, { "content-type": "text/event-stream" });
          send('data: {"type":"message_start","message":{}}\n\n');
          forever(response, send, sign, 5);
        },
        { idleTimeout: 10_000, timeout: 200 },
        asking,
      );
      assert.equal(error.code, "stalled", sign);
      assert.match(error.message, /signs of life came for 0\.2 s/);
      assert.equal(error.retryable, true);
    }
  }
});

test("a model gives up on a reply of empty pieces", async () => {
  const empty: readonly (readonly [Asking, string])[] = [
    [ask, '{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":""}}'],
    [openaiAsks, '{"choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}'],
  ];
  for (const [asking, sign] of empty) {
    const error = await failureOf(
      (response, send) => {
        begin(response, send, asking);
        forever(response, send, `data: ${sign}\n\n`, 5);
      },
      { idleTimeout: 10_000, timeout: 200 },
      asking,
    );
    assert.equal(error.code, "stalled", sign);
  }
});

test("anthropic() never gives up on a reply that says something now and then between pings", async () => {
  let sent = 0;
  const error = await failureOf((response, send) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    send('data: {"type":"message_start","message":{}}\n\n');
    const timer = setInterval(() => {
      const said = sent % 4 === 0
        ? `{"type":"content_block_start","index":${sent},"content_block":{"type":"text","text":"a"}}`
        : "";
      send(`data: ${said || '{"type":"ping"}'}\n\n`);
      if (++sent === 80) {
        clearInterval(timer);
        response.end();
      }
    }, 25);
  }, { idleTimeout: 10_000, timeout: 1500 });
  assert.equal(error.code, "cut", error.message);
  assert.equal(sent, 80);
});

test("a reply without end is never read", async () => {
  for (const [asking, variable] of [[ask, "ANTHROPIC_BASE_URL"], [openaiAsks, "OPENAI_BASE_URL"]] as const) {
    const error = await failureOf(
      (response, send) => {
        response.writeHead(200, { "content-type": "text/event-stream" });
        forever(response, send, `: ${"x".repeat(1 << 20)}\n`);
      },
      {},
      asking,
    );
    assert.equal(error.code, "grammar");
    assert.ok(error.message.endsWith(`longer than 268435456 bytes: check ${variable}`));
  }
});

test("DOORS 16: a reply whose text has no end is given up at 16 MiB of it, in whatever pieces it comes", async () => {
  const piece = "x".repeat(1 << 20);
  const said: readonly (readonly [Asking, string])[] = [
    [ask, `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"${piece}"}}`],
    [ask, `{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"${piece}"}}`],
    [openaiAsks, `{"choices":[{"index":0,"delta":{"role":"assistant","content":"${piece}"},"finish_reason":null}]}`],
  ];
  for (const [asking, event] of said) {
    let sent = 0;
    const error = await failureOf(
      (response, send) => {
        begin(response, send, asking);
        forever(response, (text) => send(text) && ++sent > 0, `data: ${event}\n\n`);
      },
      {},
      asking,
    );
    assert.equal(error.code, "grammar", error.message);
    assert.match(error.message, /longer than 16777216 characters/);
    assert.ok(sent > 16 && sent < 64, `${sent} MiB were sent`);
  }
});
