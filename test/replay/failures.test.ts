import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { agent, type AgentOptions, anthropic, type Model, type Result } from "../../lib/index.ts";
import type { Middleware } from "../../lib/http/middleware.ts";
import { readTape } from "../../lib/replay/read-tape.ts";
import { scripted, type ScriptedReply, scriptedServer } from "../../lib/testing/index.ts";
import { serve } from "../_server.ts";
import { inFolder, Look, take, tapeIn, type Told } from "./_stage.ts";

const options: AgentOptions = { system: "You look.", tools: [Look] };

/** Records a run of a model and replays it at both seams, watched and not; the model must not be asked again. */
async function thrice(
  model: Model,
  never: Model,
  given: AgentOptions = options,
): Promise<{ recorded: Told; ended: unknown[]; how: unknown[]; replayed: Told[]; unwatched: Result[] }> {
  return await inFolder(async (folder) => {
    const recorded = await take(agent({ ...given, model }), { folder, tape: { path: folder, mode: "record" } });
    const { calls } = await readTape(tapeIn(folder));
    const replayed: Told[] = [];
    const unwatched: Result[] = [];
    for (const wire of [false, true]) {
      const again = agent({ ...given, model: never });
      replayed.push(await take(again, { folder, tape: { path: folder, wire } }));
      unwatched.push(await again.run("go", { cwd: join(folder, "work"), tape: { path: folder, wire } }));
    }
    const ended = calls.flatMap((call) => call.attempts.map((a) => a.status ?? a.ended));
    const how = calls.flatMap((call) => call.attempts.map((a) => a.ended));
    return { recorded, ended, how, replayed, unwatched };
  });
}

function assertSame({ recorded, replayed, unwatched }: Awaited<ReturnType<typeof thrice>>): void {
  for (const again of unwatched) assert.deepEqual(again, recorded.result);
  for (const again of replayed) {
    assert.deepEqual(again.report?.divergences, []);
    assert.deepEqual(again.result, recorded.result);
    assert.deepEqual(again.events, recorded.events);
    assert.equal(again.report?.ok, true);
  }
}

/** A script on a server, with how the SDK is to talk to it. */
async function scriptedRun(
  replies: readonly ScriptedReply[],
  more: Parameters<typeof anthropic>[0],
  given?: AgentOptions,
) {
  await using server = await scriptedServer(replies);
  const model = anthropic({ baseURL: server.url, apiKey: "not-a-key", ...more });
  return await thrice(model, anthropic({ baseURL: "http://127.0.0.1:9", apiKey: "not-a-key", ...more }), given);
}

test("a reply that falls silent is recorded and falls silent again, without being waited for", async () => {
  const told = await scriptedRun([{ text: "half of it", stall: true }, { text: "whole" }], { idleTimeout: 80 });
  assert.equal(told.recorded.result.text, "whole");
  assertSame(told);
});

test("a stream that ends in an error of the API, or breaks its own rules, is recorded as that, and not as silence", async () => {
  const start = { type: "message_start", message: { usage: { input_tokens: 1 } } } as const;
  for (const broken of [{ text: "half", error: "overloaded_error" }, { events: [start, start] }]) {
    const told = await scriptedRun([broken, { text: "whole" }], {});
    assert.equal(told.recorded.result.text, "whole");
    assert.deepEqual(told.how, [undefined, undefined]);
    assertSame(told);
  }
});

test("an answer that never begins is recorded as a timeout of each attempt, and ends the same way", async () => {
  const told = await scriptedRun([{ stall: "start", text: "" }, { stall: "start", text: "" }], {
    timeout: 60,
    maxRetries: 1,
  });
  assert.deepEqual([told.recorded.result.error?.type, told.ended], ["timeout", ["timeout", "timeout"]]);
  assertSame(told);
});

test("a run that its deadline ended in mid-reply ends by its deadline again", async () => {
  const told = await scriptedRun([{ text: "half of it", stall: true }], {}, { ...options, limits: { seconds: 1.5 } });
  assert.deepEqual([told.recorded.result.stop, told.ended], ["deadline", [200]]);
  assertSame(told);
});

test("a run that its deadline ended before anything was sent, or between two attempts, ends by its deadline again", async () => {
  const slow: Middleware = async (request, next) => (await sleep(3000), await next(request));
  const limits = { seconds: 1.5 };
  const before = await scriptedRun([{ text: "late" }], { middleware: [slow] }, { ...options, limits });
  const between = await scriptedRun([{ http: 429, retryAfter: 10 }], {}, { ...options, limits });
  assert.deepEqual([before.ended, between.ended], [["aborted"], [429, "aborted"]]);
  for (const told of [before, between]) {
    assert.equal(told.recorded.result.stop, "deadline");
    assertSame(told);
  }
});

test("errors that persist are replayed with the same message and wait", async () => {
  const told = await scriptedRun([{ http: 429, retryAfter: 0.001 }, { http: 429, retryAfter: 7 }], { maxRetries: 1 });
  assert.deepEqual([told.recorded.result.error?.type, told.ended], ["rate_limit_error", [429, 429]]);
  assert.match(told.recorded.result.error!.message, /try again in 7 s/);
  assertSame(told);
});

test("a server that is not there is recorded as attempts without an answer, and is not there again", async () => {
  const { url, server } = await serve(() => {});
  await new Promise((resolve) => server.close(resolve));
  const model = anthropic({ baseURL: url, apiKey: "not-a-key", maxRetries: 1 });
  const told = await thrice(model, model);
  assert.deepEqual([told.recorded.result.error?.type, told.ended], ["network", ["reset", "reset"]]);
  assertSame(told);
});

test("a model that is a function fails again with its own message, also with --wire", async () => {
  const failures: ScriptedReply[] = [{ http: 429, retryAfter: 7 }, { text: "half", error: "invalid_request_error" }];
  for (const failure of failures) {
    const told = await thrice(scripted([], { then: failure }), scripted([]));
    assert.equal(told.recorded.result.stop, "error");
    assertSame(told);
  }
});

test("an answer of something else than the API is recorded as it is and refused with the same words", async () => {
  const missing = '{"type":"error","error":{"type":"not_found_error","message":"model: nobody"}}';
  const answers: [status: number, type: string, body: string][] = [
    [200, "text/html", "<h1>Log in</h1>"],
    [502, "text/html", "<h1>Bad gateway</h1>"],
    [404, "application/json", missing],
  ];
  for (const [status, type, body] of answers) {
    using server = await serve((request, response) => {
      request.resume().on("end", () => {
        response.writeHead(status, { "content-type": type });
        response.end(body);
      });
    });
    const told = await thrice(
      anthropic({ baseURL: server.url, apiKey: "not-a-key", maxRetries: 0 }),
      anthropic({ baseURL: "http://127.0.0.1:9", apiKey: "not-a-key", maxRetries: 0 }),
    );
    assert.deepEqual([told.recorded.result.stop, told.ended], ["error", [status]]);
    assertSame(told);
  }
});

test("U17: a tool input that does not parse, or was cut, is recorded raw and never runs on replay either", async () => {
  const replies = [
    { tools: [{ name: "Look", raw: '{"say": "un' }] },
    { tools: [{ name: "Look", raw: '{"say": "cut' }], stop_reason: "max_tokens" },
    { text: "done" },
  ];
  const ran: unknown[] = [];
  const Watched = { ...Look, run: (input: unknown) => (ran.push(input), "seen") };
  const told = await scriptedRun(replies, {}, { ...options, tools: [Watched] });
  const said = JSON.stringify(told.recorded.result.messages);
  assert.match(said, /its input is not valid JSON/);
  assert.match(said, /its input was cut off/);
  assert.deepEqual(ran, []);
  assertSame(told);
});
