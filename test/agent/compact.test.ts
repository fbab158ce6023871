import assert from "node:assert/strict";
import { test } from "node:test";
import { agent, type AgentOptions, type EventOf, ModelError, type RunEvent } from "crochet";
import { scripted, type ScriptedReply } from "crochet/testing";
import { Agent, Read } from "crochet/tools";
import type { ModelRequest } from "../../lib/core/model.ts";
import { textOf } from "../../lib/core/messages.ts";
import { scratch } from "../_scratch.ts";

const look = (tokens = 10): ScriptedReply => ({
  tools: [{ name: "Read", input: { file_path: "a.txt" } }],
  usage: { input_tokens: tokens },
});
const TOO_MUCH = 160_000;
const isSummary = ({ messages }: ModelRequest) => textOf(messages.at(-1)).startsWith("Write down what must be known");
const isBelow = ({ messages }: ModelRequest) => textOf(messages[0]).startsWith("task");
const STEPS = [look(), look(), look(), look()];
const long = "x".repeat(3000);

/** Runs an agent with memory, whose context is watched. */
async function live(lead: ScriptedReply[], below: ScriptedReply[], summary: ScriptedReply) {
  using folder = scratch({ "a.txt": "one\n" });
  const model = scripted(lead, {
    routes: [{ when: isSummary, replies: Array.from({ length: 9 }, () => summary) }, {
      when: isBelow,
      replies: below,
    }],
    then: { text: "done" },
  });
  const compacted: string[] = [];
  const on = (event: RunEvent) => void (event.type === "compact" && compacted.push(event.agent_id));
  const reported: unknown[] = [];
  const hooks = { postCompact: (e: EventOf<"post-compact">) => void reported.push([e.trigger, e.summary]) };
  const helper = agent({ model, tools: [Read, Agent], memory: true, on, hooks });
  const session = await helper.open({ cwd: folder.path });
  const result = await session.prompt(`go ${long}`);
  return {
    session,
    result,
    compacted,
    reported,
    summaries: () => model.requests.filter(isSummary),
    requests: model.requests,
  };
}

const start: ScriptedReply = { tools: [{ name: "Agent", input: { description: "d", prompt: `task ${long}` } }] };
const short: ScriptedReply = { text: "in short" };

test("U10: a context that has become too large is made smaller once, by a call that is not an iteration", async () => {
  const { session, result, compacted, reported, summaries, requests } = await live(
    [...STEPS, look(TOO_MUCH)],
    [],
    short,
  );
  assert.deepEqual(compacted, [session.id]);
  assert.deepEqual(reported, [["auto", "in short"]]);
  assert.deepEqual([result.iterations, result.usage.input_tokens > TOO_MUCH], [requests.length - 1, true]);
  assert.match(
    textOf(summaries()[0]!.messages.at(-1)),
    /Answer in words alone: a tool that you call now is not run\.$/,
  );
  const { model, system, tools, max_tokens } = requests[0]!;
  const [summary] = summaries();
  assert.deepEqual(
    [summary!.model, summary!.system, summary!.tools, summary!.max_tokens],
    [model, system, tools, max_tokens],
    "a summary is asked for as any other reply is",
  );
  assert.deepEqual(Object.keys(summary!).sort(), Object.keys(requests[0]!).sort());
  await session.close();
});

test("an agent below another is made room for by its own size, not by that of its lead", async () => {
  const lead = await live([{ ...start, usage: { input_tokens: TOO_MUCH } }], [...STEPS, look(), { text: "ok" }], short);
  assert.deepEqual(lead.compacted, []);
  const below = await live([start], [...STEPS, look(TOO_MUCH), { text: "ok" }], short);
  assert.equal(below.compacted.length, 1);
  assert.notEqual(below.compacted[0], below.session.id);
  for (const { session } of [lead, below]) await session.close();
});

test("a context that cannot be made smaller is not tried again until it has grown", async () => {
  const steps = [...STEPS, look(TOO_MUCH), look(TOO_MUCH), look(TOO_MUCH), look(2 * TOO_MUCH)];
  const { session, compacted, summaries } = await live(steps, [], look());
  assert.deepEqual([compacted, summaries().length], [[], 2]);
  await session.close();
});

type Compact = AgentOptions["compact"];

/** How often a conversation of this size is summarised, with nothing else asked for. */
async function summaries(size: number, compact: Compact, contextWindow?: number): Promise<number> {
  const replies = [...STEPS, look(size)];
  const model = scripted(replies, { routes: [{ when: isSummary, replies: [short] }], then: { text: "done" } });
  using folder = scratch({ "a.txt": "one\n" });
  const sized = Object.assign(model, contextWindow === undefined ? {} : { contextWindow });
  await agent({ model: sized, tools: [Read], ...(compact !== undefined && { compact }) })
    .run(`go ${long}`, { cwd: folder.path });
  return model.requests.filter(isSummary).length;
}

const SIZES: readonly [what: string, size: number, compact: Compact, window: number | undefined, times: number][] = [
  ["by default", 150_001, undefined, undefined, 1],
  ["by default, not before", 149_000, undefined, undefined, 0],
  ["at three quarters of what the model takes", 751, undefined, 1000, 1],
  ["at three quarters of what the model takes, not before", 740, undefined, 1000, 0],
  ["where the agent says", 501, { at: 500 }, 1_000_000, 1],
  ["never if the agent does not want it", TOO_MUCH, false, undefined, 0],
];

for (const [what, size, compact, window, times] of SIZES) {
  test(`a conversation is made smaller ${what}: ${size} tokens`, async () => {
    assert.equal(await summaries(size, compact, window), times);
  });
}

const TOO_LONG: readonly [what: string, fails: (request: ModelRequest) => ScriptedReply][] = [
  ["Anthropic", () => {
    throw new ModelError("Cannot call the model as …: prompt is too long: 203456 tokens > 200000 maximum", {
      code: "invalid_request_error",
    });
  }],
  ["OpenAI", () => {
    throw new ModelError("too long", { code: "context_length_exceeded" });
  }],
  ["a reply that fills the context", () => ({ text: "half", stop_reason: "model_context_window_exceeded" })],
];

for (const [what, fails] of TOO_LONG) {
  test(`a conversation that is too long for the model is made smaller once, then asked again: ${what}`, async () => {
    using folder = scratch({ "a.txt": "one\n" });
    const run = async (times: number, compact: Compact = true) => {
      const model = scripted([...STEPS, ...Array.from({ length: times }, () => fails)], {
        routes: [{ when: isSummary, replies: [short] }],
        then: { text: "done" },
      });
      const params = {
        tool_choice: { type: "auto" },
        stop_sequences: ["x"],
        top_k: 1,
        output_config: { format: FORMAT },
      } as const;
      const result = await agent({ model, tools: [Read], compact, effort: "low", params })
        .run(`go ${long}`, { cwd: folder.path });
      return { result, asked: model.requests.filter(isSummary) };
    };
    const once = await run(1);
    assert.deepEqual([once.result.stop, once.result.text, once.asked.length], ["done", "done", 1]);
    const [{ params, effort }] = once.asked as [ModelRequest];
    assert.deepEqual([params, effort], [{ top_k: 1 }, "low"]);
    for (const { result, asked } of [await run(2), await run(1, false)]) {
      assert.ok(result.stop === "error" || result.stop === "truncated");
      assert.ok(asked.length <= 1);
    }
  });
}

const FORMAT = { type: "json_schema", schema: { type: "object" } } as const;
