/** What is counted of all model calls, and what a call costs. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { agent, type Model, promptStop, type RunEvent } from "crochet";
import { scripted, type ScriptedReply } from "crochet/testing";
import { Agent } from "crochet/tools";
import { place } from "../_place.ts";

const USAGE = { input_tokens: 1_000_000, output_tokens: 0 };
const PRICE = { input: 2, output: 10, cacheRead: 0.2, cacheWrite: 2.5 };

/** A model that is not scripted: it has no price unless one is set. */
const paid = (model: string, replies: readonly ScriptedReply[]): Model => {
  const script = scripted(replies.map((reply) => ({ usage: USAGE, ...reply })));
  const asked: Model = (request, signal) => script(request, signal);
  return Object.defineProperty(asked, "name", { value: model });
};

const warningsOf = () => {
  const warnings: string[] = [];
  const on = (event: RunEvent) => void (event.type === "warning" && warnings.push(event.message));
  return { warnings, on };
};

test("a model without a known price costs undefined, a price of one's own counts, and scripted() costs nothing", async () => {
  const costOf = async (model: Model, prices = {}) => (await agent({ model, prices }).run("go")).cost;
  assert.equal(await costOf(paid("mine", [{ text: "hi" }])), undefined);
  assert.equal(await costOf(paid("mine", [{ text: "hi" }]), { mine: PRICE }), 2);
  assert.equal(await costOf(paid("claude-sonnet-5", [{ text: "hi" }])), 2);
  assert.equal(
    await costOf(paid("claude-sonnet-5", [{ text: "hi" }]), { "claude-sonnet-5": { ...PRICE, input: 3 } }),
    3,
  );
  assert.equal(await costOf(scripted([{ text: "hi", usage: USAGE }])), 0);
});

test("a limit in dollars is refused at the start if a model has no known price, with the option that sets one", async () => {
  const limits = { dollars: 3 };
  const refused =
    /the price of model 'mine' is unknown: limit tokens \(limits\.tokens, --budget 500k\), or set prices: \{ "mine": \{ input, output, cacheRead, cacheWrite \} \}/;
  const asks = () => paid("mine", [{ text: "hi" }]);
  await assert.rejects(agent({ model: asks(), limits }).run("go"), refused);
  await assert.rejects(agent({ model: "mine", limits }).run("go"), refused);
  await assert.rejects(agent({ model: "claude-sonnet-5", fallbackModel: "mine", limits }).run("go"), refused);
  assert.equal((await agent({ model: asks(), limits, prices: { mine: PRICE } }).run("go")).stop, "done");
  assert.equal((await agent({ model: scripted([{ text: "hi" }]), limits }).run("go")).stop, "done");
  assert.throws(
    () => agent({ prices: { mine: { input: 1, output: 2 } as never } }),
    /price of model 'mine' as 'cacheRead' is undefined: give input, output, cacheRead, cacheWrite/,
  );
});

test("an unknown cost is null in JSON, and config.yaml can set a price", async () => {
  using here = place({
    "agent.ts": `
      import { agent } from "${join(import.meta.dirname!, "../../lib/index.ts")}";
      import { scripted } from "${join(import.meta.dirname!, "../../lib/testing/index.ts")}";
      const script = scripted([], { then: { text: "hi", usage: { input_tokens: 1000000, output_tokens: 0 } } });
      const mine = (...asked) => script(...asked);
      export default agent({ from: import.meta.url, model: mine });`,
  });
  const run = async (...flags: string[]) =>
    (await here.crochet(["run", "agent.ts", "go", ...flags])).out.trim().split("\n");
  assert.equal(JSON.parse((await run("--output", "json"))[0]!).cost, null);
  const events = (await run("--output", "stream-json")).map((line) => JSON.parse(line));
  assert.deepEqual(events.filter(({ type }) => type === "usage" || type === "result").map(({ cost }) => cost), [
    null,
    null,
  ]);
  here.put({ ".crochet/config.yaml": "prices:\n  mine: { input: 2, output: 10, cacheRead: 0.2, cacheWrite: 2.5 }\n" });
  assert.equal(JSON.parse((await run("--output", "json", "--trust"))[0]!).cost, 2);
});

test("U10: what prompt hooks ask counts in usage, cost, calls and the budget, not in iterations", async () => {
  const judge = (answers: number) =>
    paid(
      "judge",
      Array.from(
        { length: answers },
        (_, n) => ({ text: n < answers - 1 ? '{"ok": false, "reason": "more"}' : '{"ok": true}' }),
      ),
    );
  const used: RunEvent[] = [];
  const run = (limits: object, answers = 2) =>
    agent({
      model: paid("mine", [{ text: "one" }, { text: "two" }]),
      prices: { mine: PRICE, judge: { ...PRICE, input: 1 } },
      hooks: {
        stop: promptStop(judge(answers), "Done? {{last_assistant_message}}", { modelName: "judge", insist: true }),
      },
      limits,
      on: (event) => void (event.type === "usage" && used.push(event)),
    }).run("go");
  const { stop, iterations, usage, cost } = await run({ iterations: 2 });
  assert.deepEqual([stop, iterations, usage.input_tokens, cost], ["done", 2, 4_000_000, 6]);
  assert.deepEqual(used.map((event) => (event as { hook?: string }).hook !== undefined), [false, true, false, true]);
  assert.deepEqual([(await run({ tokens: 2_000_000 })).stop, (await run({ dollars: 3 })).stop], ["budget", "budget"]);
  assert.equal((await run({ calls: 3 })).stop, "max_iterations");
});

test("a Result counts its sub-agents: usage, cost and modelCalls are the sums of the usage events", async () => {
  const used: Extract<RunEvent, { type: "usage" }>[] = [];
  const model = paid("mine", [
    { tools: [{ name: "Agent", input: { description: "d", prompt: "look" } }] },
    { text: "seen" },
    { text: "done" },
  ]);
  const { usage, cost, modelCalls, iterations } = await agent({
    ...{ model, prices: { mine: PRICE }, tools: [Agent] },
    on: (event) => void (event.type === "usage" && used.push(event)),
  }).run("go");
  const sum = used.reduce((all, one) => all + one.usage.input_tokens, 0);
  assert.deepEqual([usage.input_tokens, cost, modelCalls, iterations], [sum, 6, used.length, 2]);
  assert.equal(sum, 3_000_000);
});

test("U10: a retry that an error hook asks for is a model call: iterations 1 makes one", async () => {
  const failing = (replies: number) => scripted(Array.from({ length: replies }, () => ({ http: 400 })));
  const retried: boolean[] = [];
  const hooks = {
    error: ({ retry }: { retry: boolean }) => {
      retried.push(retry);
      return { action: "modify", value: true } as const;
    },
  };
  const one = failing(1);
  const { stop } = await agent({ model: one, hooks, limits: { iterations: 1 } }).run("go");
  assert.deepEqual([stop, one.requests.length, retried], ["error", 1, [false]]);
  const two = failing(2);
  const result = await agent({ model: two, hooks, limits: { iterations: 2 } }).run("go");
  assert.deepEqual([result.stop, two.requests.length, result.iterations], ["error", 2, 2]);
});

test("U10: agents that start agents never make more calls than limits.calls, and a warning names it", async () => {
  const { warnings, on } = warningsOf();
  const branch = {
    tools: [1, 2, 3].map((n) => ({
      name: "Agent",
      input: { description: "more", prompt: `${n}`, run_in_background: true },
    })),
  };
  const model = scripted([], { then: branch });
  const { stop } = await agent({ model, tools: [Agent], limits: { calls: 20, iterations: 50 }, on }).run("go");
  assert.deepEqual([stop, model.requests.length], ["max_iterations", 20]);
  assert.ok(warnings.some((words) => /limit of 20 model calls over all its agents: raise limits\.calls/.test(words)));
});

test("the iteration event carries what the run has used (S4)", async () => {
  const seen: number[] = [];
  const model = scripted([{ tools: [{ name: "Nothing", input: {} }], usage: USAGE }, { text: "hi", usage: USAGE }]);
  await agent({ model, hooks: { iteration: ({ usage }) => void seen.push(usage.input_tokens) } }).run("go");
  assert.deepEqual(seen, [0, 1_000_000]);
});

test("a reply that is interrupted while it streams counts what was reported of it", async () => {
  const stop = new AbortController();
  const model = scripted([{ text: "a long story", usage: USAGE, stall: true }]);
  const on = (event: RunEvent) => void (event.type === "text" && setTimeout(() => stop.abort(), 1));
  const result = await agent({ model, on }).run("go", { signal: stop.signal });
  assert.deepEqual([result.stop, result.usage.input_tokens], ["aborted", 1_000_000]);
});

test("U10: agents that an engine runs elsewhere never make more calls together than limits.calls", async () => {
  const prompts = ["1", "2", "3"];
  const tools = prompts.map((prompt) => ({
    name: "Agent",
    input: { description: "more", prompt, run_in_background: true },
  }));
  const model = scripted([], { then: { tools } });
  const lead = { model, tools: [Agent], limits: { calls: 20, iterations: 50 } };
  const elsewhere = await agent(lead).open();
  const step = {
    step: <T>(_: string, work: () => Promise<T>) => work(),
    spawn: async (_: string, asked: unknown) => await elsewhere.below(asked as Parameters<typeof elsewhere.below>[0]),
  };
  const { stop } = await agent({ ...lead, step: step as never }).run("go");
  await elsewhere.close();
  assert.equal(stop, "max_iterations");
  assert.ok(model.requests.length <= 20, `${model.requests.length} calls`);
});
