import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import Anthropic, { betaRefusalFallbackMiddleware } from "@anthropic-ai/sdk";
import type { Middleware as SdkMiddleware, MiddlewareContext as SdkContext } from "@anthropic-ai/sdk/client";
import { anthropic } from "../lib/anthropic.ts";
import type { Middleware, MiddlewareContext } from "../lib/middleware.ts";

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

/** What a first call comes to in a copy without what `bun run build` makes, with an SDK of that version beside it. */
function firstCall(version?: string): { message: string; code: string; causes: string[] } {
  const dir = mkdtempSync(join(tmpdir(), "crochet-sdk-"));
  try {
    cpSync(fileURLToPath(new URL("../lib", import.meta.url)), join(dir, "lib"), { recursive: true });
    writeFileSync(join(dir, "package.json"), '{ "type": "module" }');
    const beside = join(dir, "node_modules/@anthropic-ai/sdk");
    mkdirSync(beside, { recursive: true });
    if (version !== undefined) {
      writeFileSync(
        join(beside, "package.json"),
        '{ "name": "@anthropic-ai/sdk", "type": "module", "exports": { "./*": "./*.js" } }',
      );
      writeFileSync(join(beside, "version.js"), `export const VERSION = "${version}";`);
      writeFileSync(join(beside, "client.js"), 'throw new Error("it is loaded");');
    }
    writeFileSync(
      join(dir, "try.ts"),
      `
      import { anthropic } from "./lib/anthropic.ts";
      const request = { model: "m", system: "", messages: [], tools: [], max_tokens: 1 };
      try {
        for await (const _ of anthropic({ apiKey: "k" })(request, new AbortController().signal));
      } catch ({ message, code, cause }) {
        console.log(JSON.stringify({ message, code, causes: cause.cause.errors.map((error) => error.message) }));
      }
    `,
    );
    const args = "Deno" in globalThis ? ["run", "-A", "--no-check", "--quiet", "--node-modules-dir=manual"] : ["run"];
    return JSON.parse(execFileSync(process.execPath, [...args, "try.ts"], { encoding: "utf8", cwd: dir }));
  } finally {
    rmSync(dir, { recursive: true });
  }
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
