import assert from "node:assert/strict";
import { anthropic, type AnthropicOptions, DEFAULT_MODEL } from "../lib/models/anthropic/anthropic-model.ts";
import { user } from "../lib/core/messages.ts";
import type { ModelError, ModelRequest, Reply } from "../lib/core/model.ts";
import { readReply } from "../lib/core/reply.ts";

/** A question to a model of the Messages API. */
export const request: ModelRequest = {
  model: DEFAULT_MODEL,
  system: "be brief",
  messages: [user("hello")],
  tools: [{ name: "Bash", description: "Runs a command.", input_schema: { type: "object" } }],
  max_tokens: 100,
};

/** The reply of a model at this address. */
export function ask(
  server: { readonly url: string },
  options: AnthropicOptions = {},
  { signal = new AbortController().signal, ...asked }: Partial<ModelRequest> & { signal?: AbortSignal } = {},
): Promise<Reply> {
  const model = anthropic({ apiKey: "test", baseURL: server.url, maxRetries: 0, ...options });
  return readReply(model({ ...request, ...asked }, signal), () => {});
}

/** The error an attempt ends with, in our own words. */
export async function failure(promise: Promise<unknown>): Promise<ModelError> {
  try {
    await promise;
  } catch (error) {
    assert.equal((error as Error).name, "ModelError", String((error as Error).stack));
    assert.match((error as Error).message, /^Cannot .*[^.]$/s);
    return error as ModelError;
  }
  throw new Error("expected a failure");
}
