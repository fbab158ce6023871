import assert from "node:assert/strict";
import { test } from "node:test";
import { agent, type AgentOptions, openai, type RunEvent } from "crochet";
import { serve } from "../../_server.ts";

/** A run with a server that says this about its tokens. */
async function run(usage: object | undefined, options: Pick<AgentOptions, "limits" | "prices"> = {}) {
  using server = await serve((request, response) => {
    request.resume();
    response.writeHead(200, { "content-type": "application/json" });
    response.end(
      JSON.stringify({ model: "m", choices: [{ message: { content: "hi" }, finish_reason: "stop" }], usage }),
    );
  });
  const events: RunEvent[] = [];
  const model = openai({ model: "m", baseURL: server.url });
  const result = await agent({ model, ...options, on: (event) => events.push(event) }).run("go");
  return { result, counted: events.find((event) => event.type === "usage") };
}

const PRICES = { m: { input: 1, output: 2, cacheRead: 0.5, cacheWrite: 4 } };

test("a call costs what its server says, else what its prices say, else an unknown sum", async () => {
  const usage = { prompt_tokens: 1_000_000, completion_tokens: 1_000_000, total_tokens: 2_000_000 };
  assert.equal((await run({ ...usage, cost: 0.25 }, { prices: PRICES })).result.cost, 0.25);
  assert.equal((await run(usage, { prices: PRICES })).result.cost, 3);
  assert.equal((await run(usage)).result.cost, undefined);
});

test("tokens are counted once: those read from the cache and written to it are no input", async () => {
  const { result } = await run({
    prompt_tokens: 100,
    completion_tokens: 10,
    prompt_tokens_details: { cached_tokens: 60, cache_write_tokens: 30 },
  });
  assert.deepEqual(result.usage, {
    input_tokens: 10,
    output_tokens: 10,
    cache_creation_input_tokens: 30,
    cache_read_input_tokens: 60,
  });
});

test("a server that sends no usage has an unknown cost, even with a price, and no limit that needs it is kept", async () => {
  const { result, counted } = await run(undefined, { prices: PRICES });
  assert.deepEqual([result.stop, result.cost, counted?.cost], ["done", undefined, undefined]);
  for (const limits of [{ tokens: 1000 }, { dollars: 1 }]) {
    const { result } = await run(undefined, { limits, prices: PRICES });
    assert.deepEqual([result.stop, result.error?.type], ["error", "no_usage"]);
    assert.match(result.error!.message, new RegExp(`Cannot keep limits.${Object.keys(limits)[0]}`));
  }
});

test("limits.dollars throws at the start for a model without a price", async () => {
  await assert.rejects(run(undefined, { limits: { dollars: 1 } }), /price of model 'm' is unknown/);
});
