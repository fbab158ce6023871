import assert from "node:assert/strict";
import { test } from "node:test";
import { agent, type RunEvent } from "crochet";
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
  const helper = agent({ model, tools: [Read, Agent], memory: true, on });
  const session = await helper.open({ cwd: folder.path });
  const result = await session.prompt(`go ${long}`);
  return { session, result, compacted, summaries: () => model.requests.filter(isSummary), requests: model.requests };
}

const start: ScriptedReply = { tools: [{ name: "Agent", input: { description: "d", prompt: `task ${long}` } }] };
const short: ScriptedReply = { text: "in short" };

test("U10: a context that has become too large is made smaller once, by a call that is not an iteration", async () => {
  const { session, result, compacted, summaries, requests } = await live([...STEPS, look(TOO_MUCH)], [], short);
  assert.deepEqual(compacted, [session.id]);
  assert.deepEqual([result.iterations, result.usage.input_tokens > TOO_MUCH], [requests.length - 1, true]);
  assert.match(
    textOf(summaries()[0]!.messages.at(-1)),
    /Answer in words alone: a tool that you call now is not run\.$/,
  );
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
