import assert from "node:assert/strict";
import { test } from "node:test";
import { errorType, saysTooLong } from "../../lib/http/errors.ts";

test("saysTooLong() knows a conversation that is too long by the words of each API, and nothing else", () => {
  const tooLong = [
    ["invalid_request_error", "prompt is too long: 203456 tokens > 200000 maximum"],
    ["request_too_large", "the conversation is larger than the API takes"],
    ["context_length_exceeded", "too long"],
    ["invalid_request_error", "This model's maximum context length is 8192 tokens"],
    ["invalid_request_error", "Your input exceeds the context window of this model"],
    ["exceed_context_size_error", "the request exceeds the available context size"],
    ["invalid_request_error", "TOO_MANY_PROMPT_TOKENS"],
  ] as const;
  for (const [code, message] of tooLong) assert.ok(saysTooLong({ code, message }), `${code} ${message}`);
  for (const code of [400, 401, 402, 403, 404, 429, 500, 504, 529].map(errorType)) {
    assert.ok(!saysTooLong({ code, message: "the request took too long" }), code);
  }
});
