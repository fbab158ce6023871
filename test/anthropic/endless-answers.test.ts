import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { test } from "node:test";
import type { AnthropicOptions } from "../../lib/anthropic/model.ts";
import type { ModelError } from "../../lib/core/model.ts";
import { ask, failure } from "../_ask.ts";
import { serve } from "../_server.ts";

/** Asks a server that answers so, and gives the error once the server was left. */
async function failureOf(
  answer: (response: ServerResponse, send: (text: string) => boolean) => void,
  options: AnthropicOptions = {},
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
  const error = await failure(ask(server, options));
  await left.promise;
  return error;
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

test("anthropic() never reads an error's body for longer than it takes to know what went wrong", async () => {
  const start = '{"type":"error","error":{"type":"invalid_request_error","message":"max_tokens: too many"}}';
  const flood = await failureOf((response, send) => {
    response.writeHead(400, { "content-type": "application/json" });
    send(start);
    forever(response, send, " ".repeat(16_384));
  });
  assert.equal(flood.code, "invalid_request_error");
  assert.match(flood.message, /max_tokens: too many$/);
  const drip = await failureOf((response, send) => {
    response.writeHead(400, { "content-type": "application/json" });
    send(start);
    forever(response, send, " ", 5);
  }, { idleTimeout: 300 });
  assert.match(drip.message, /max_tokens: too many$/);
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

test("anthropic() gives up on a reply that brings nothing but pings, comments or bits of an event", async () => {
  for (const sign of ['event: ping\ndata: {"type":"ping"}\n\n', ": alive\n\n", " "]) {
    const error = await failureOf((response, send) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      send('data: {"type":"message_start","message":{}}\n\n');
      forever(response, send, sign, 5);
    }, { idleTimeout: 10_000, timeout: 200 });
    assert.equal(error.code, "stalled", sign);
    assert.match(error.message, /signs of life came for 0\.2 s/);
    assert.equal(error.retryable, true);
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

test("anthropic() never reads a reply without end", async () => {
  const error = await failureOf((response, send) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    forever(response, send, `: ${"x".repeat(1 << 20)}\n`);
  });
  assert.equal(error.code, "grammar");
  assert.match(error.message, /longer than 268435456 bytes: check ANTHROPIC_BASE_URL$/);
});
