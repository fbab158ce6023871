import assert from "node:assert/strict";
import { test } from "node:test";
import Anthropic, { betaRefusalFallbackMiddleware } from "@anthropic-ai/sdk";
import type { Middleware as SdkMiddleware, MiddlewareContext as SdkContext } from "@anthropic-ai/sdk/client";
import { anthropic } from "../../../lib/models/anthropic/anthropic-model.ts";
import type { Middleware, MiddlewareContext } from "../../../lib/http/middleware.ts";
import { besideCopy } from "../../_copy.ts";

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

/** Says which SDK a first call loads, beside a copy that has these files. */
const FIRST_CALL = `
  import { anthropic } from "./lib/models/anthropic/anthropic-model.ts";
  const request = { model: "m", system: "", messages: [], tools: [], max_tokens: 1 };
  try {
    for await (const _ of anthropic({ apiKey: "k" })(request, new AbortController().signal));
  } catch ({ message, code }) {
    console.log(code, message);
  }
`;

test("a call without any SDK always fails with what to do about it", () => {
  assert.match(besideCopy(FIRST_CALL, {}), /^no_sdk Cannot load '@anthropic-ai\/sdk', install it again: /);
});

test("the bundle of the SDK is used only if it is whole and of exactly the version installed", () => {
  const sdk = (name: string) => `export class BaseAnthropic { constructor() { throw new Error("${name}"); } }`;
  const bundle = { "dist/sdk-1.8.0.js": sdk("the bundle"), "dist/sdk-1.9.0.js": "damaged (" };
  const found = { "1.7.0": "the package", "1.8.0": "the bundle", "1.8.1": "the package", "1.9.0": "the package" };
  for (const [version, loaded] of Object.entries(found)) {
    const out = besideCopy(FIRST_CALL, { ...bundle, ...installed(version, sdk("the package")) });
    assert.equal(out, `undefined ${loaded}\n`);
  }
});

test("warm() loads the SDK before any call is made, and importing us does not", () => {
  const script = `
    import { warm } from "./lib/models/anthropic/anthropic-model.ts";
    await new Promise((resolve) => setTimeout(resolve, 20));
    console.log(globalThis.loaded === undefined);
    const loaded = new Promise((resolve) => globalThis.loaded = resolve);
    warm();
    console.log(await loaded);
  `;
  assert.equal(besideCopy(script, installed("1.8.0", 'globalThis.loaded("loaded");')), "true\nloaded\n");
});
