import assert from "node:assert/strict";
import { test } from "node:test";
import Anthropic, { betaRefusalFallbackMiddleware } from "@anthropic-ai/sdk";
import type { Middleware as SdkMiddleware, MiddlewareContext as SdkContext } from "@anthropic-ai/sdk/client";
import { anthropic } from "../lib/anthropic.ts";
import type { Middleware, MiddlewareContext } from "../lib/middleware.ts";
import { besideCopy } from "./_copy.ts";

// Held by the type check: each is the other's, parameters too, though ours names nothing of the SDK.
type Same<A, B> = [A, B] extends [B, A] ? true : false;
const isSame: Same<Middleware, SdkMiddleware> = true;
const isSameContext: Same<MiddlewareContext, SdkContext> = true;

test("what is middleware to the SDK always is to anthropic(), and the other way round", async () => {
  assert.ok(isSame && isSameContext);
  anthropic({ middleware: [betaRefusalFallbackMiddleware([{ model: "claude-other" }])] });
  const seen: unknown[] = [];
  const ours: Middleware = async (request, next, { options, logger, parse }) => {
    logger.debug("asked");
    request.headers.set("x-seen", "1");
    const response = await next(request);
    seen.push(options?.method, options?.path, request.headers.get("x-seen"), await parse(response));
    return response;
  };
  const answer = { id: "m", type: "message", role: "assistant", content: [], model: "m", usage: {} };
  const last: Middleware = () => Promise.resolve(Response.json(answer));
  const client = new Anthropic({ apiKey: "k", baseURL: "http://127.0.0.1:9", middleware: [ours, last] });
  await client.messages.create({ model: "m", max_tokens: 1, messages: [] });
  assert.deepEqual(seen, ["post", "/v1/messages", "1", answer]);
});

/** An SDK of some version, as far as it is looked at. */
const installed = (version: string, client: string) => ({
  "node_modules/@anthropic-ai/sdk/package.json":
    '{ "name": "@anthropic-ai/sdk", "type": "module", "exports": { "./*": "./*.js" } }',
  "node_modules/@anthropic-ai/sdk/version.js": `export const VERSION = "${version}";`,
  "node_modules/@anthropic-ai/sdk/client.js": client,
});

/** What a first call comes to where nothing is bundled, and an SDK of that version is installed or none is. */
function firstCall(version?: string): { message: string; code: string; causes: string[] } {
  const script = `
    import { anthropic } from "./lib/anthropic.ts";
    const request = { model: "m", system: "", messages: [], tools: [], max_tokens: 1 };
    try {
      for await (const _ of anthropic({ apiKey: "k" })(request, new AbortController().signal));
    } catch ({ message, code, cause }) {
      console.log(JSON.stringify({ message, code, causes: cause.cause.errors.map((error) => error.message) }));
    }
  `;
  return JSON.parse(
    besideCopy(script, version === undefined ? {} : installed(version, 'throw new Error("it is loaded");')),
  );
}

test("a call without any SDK always fails with what to do about it", () => {
  const { message, code, causes } = firstCall();
  assert.equal(code, "no_sdk");
  assert.match(
    message,
    /^Cannot load the SDK as it is neither bundled nor installed: install '@anthropic-ai\/sdk@[\d.]+', or in a clone run 'npm run setup'$/,
  );
  assert.equal(causes.length, 2);
});

test("an installed SDK never stands in where it is too old or of another major version, which may be beside us", () => {
  for (const version of ["1.7.9", "2.8.0"]) {
    assert.equal(firstCall(version).causes[1], `Cannot use the installed SDK as it is ${version}`);
  }
  assert.equal(firstCall("1.10.0").causes[1], "it is loaded");
});

test("warm() loads the SDK before any call is made, and importing us does not", () => {
  const script = `
    import { warm } from "./lib/anthropic.ts";
    await new Promise((resolve) => setTimeout(resolve, 20));
    console.log(globalThis.loaded === undefined);
    const loaded = new Promise((resolve) => globalThis.loaded = resolve);
    warm();
    console.log(await loaded);
  `;
  assert.equal(besideCopy(script, installed("1.8.0", 'globalThis.loaded("loaded");')), "true\nloaded\n");
});
