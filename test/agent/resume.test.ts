import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import {
  agent,
  type AgentOptions,
  jsonlStore,
  memoryStore,
  type Message,
  type Model,
  type RunEvent,
  type RunOptions,
} from "crochet";
import { scripted } from "crochet/testing";
import { invalidConversation, textOf } from "../../lib/core/messages.ts";
import runCommand from "../../lib/cli/run.ts";
import runs from "../../lib/cli/runs.ts";
import { resumable } from "../../lib/log/stores/store.ts";
import { place } from "../_place.ts";
import { scratch } from "../_scratch.ts";
import { agentTool } from "crochet/tools";
import { echo, write } from "../core/_stage.ts";

test("S0.26, U15: resume() keeps the id and goes on from the stored messages", async () => {
  const model = scripted([{ text: "one" }, { text: "two" }]);
  const helper = agent({ model });
  const first = await helper.run("first");
  const second = await helper.resume(first.id, "second");
  assert.equal(second.id, first.id);
  assert.deepEqual(second.messages.map(textOf), ["first", "one", "second", "two"]);
  assert.deepEqual(model.requests[1]!.messages.map(textOf), ["first", "one", "second"]);
  model.done();
});

/** An agent with a reviewer below it, whose first prompt starts one; what its model was asked for each time. */
function lead(options: AgentOptions = {}) {
  const asked: string[] = [];
  const model: Model = (request, signal) => {
    const { system, tools = [], model } = request;
    asked.push(`${system} · ${tools.map(({ name }) => name)} · ${model} · ${request.max_tokens}`);
    const isFirst = request.messages.length === 1 && textOf(request.messages[0]!) === "begin";
    const input = { description: "look", prompt: "look", subagent_type: "reviewer" };
    return scripted([isFirst ? { tools: [{ name: "Agent", input }] } : { text: "ok" }])(request, signal);
  };
  const reviewer = { description: "Reviews", system: "You review", tools: ["Echo", "Agent"], model: "small" };
  const tools = [echo, write, agentTool({ agents: { reviewer } })];
  return { asked, helper: agent({ model, name: "lead", system: "You lead", maxTokens: 777, tools, ...options }) };
}

test("S0.26, S0.28, U15: a sub-agent that is resumed by its id keeps its own prompt, tools, model and depth", async () => {
  const store = memoryStore();
  const { asked, helper } = lead({ store });
  const { id } = await helper.run("begin");
  const sub = (await store.list()).find((one) => one.id !== id)!;
  const [, own] = asked.splice(0);
  assert.equal(own, "You review · Echo,Agent · small · 32000");
  const warnings: string[] = [];
  const on = (event: RunEvent) => void (event.type === "warning" && warnings.push(event.message));
  const result = await helper.resume(sub.id, "go on", { on });
  assert.deepEqual([result.id, result.messages.map(textOf)], [sub.id, ["look", "ok", "go on", "ok"]]);
  await helper.fork(sub.id, "another way");
  assert.deepEqual([asked.splice(0), warnings], [[own, own], []]);
  assert.deepEqual((await store.load(sub.id))!.about!.parent, id);
  // One level deeper than its parent, as before.
  const flat = agent({
    model: scripted([{ tools: [{ name: "Agent", input: { description: "d", prompt: "p" } }] }, { text: "no" }]),
    tools: [agentTool({ agents: { reviewer: { description: "r" } } })],
    store,
    limits: { depth: 1 },
  });
  assert.match(
    JSON.stringify((await flat.resume(sub.id, "start one")).messages),
    /Cannot start an agent as 1 are nested already/,
  );
  await assert.rejects(agent({ model: scripted([]), store }).resume(sub.id, "go on"), {
    name: "TypeError",
    message: /as it is an agent of type 'reviewer', which agent 'agent' does not have: define the type/,
  });
});

test("S0.26, U15: crochet run --resume takes the id of a sub-agent from its parent's log, and lists show it under it", async () => {
  using here = place({
    "agent.ts": `import { agent } from "crochet";
import { scripted } from "crochet/testing";
import { agentTool, Bash, Read } from "crochet/tools";
import { appendFileSync } from "node:fs";
const model = (request, signal) => {
  const { system, tools, model, messages } = request;
  appendFileSync("${"asked.txt"}", \`\${system} · \${tools.map(({ name }) => name)} · \${model} · \${messages.length}\\n\`);
  const input = { description: "look", prompt: "look", subagent_type: "reviewer" };
  const isFirst = messages.length === 1 && system === "You lead";
  return scripted([isFirst ? { tools: [{ name: "Agent", input }] } : { text: "ok" }])(request, signal);
};
const reviewer = { description: "Reviews", system: "You review", tools: ["Read"], model: "small" };
export default agent({ from: import.meta.url, hooks: [], system: "You lead", tools: [Read, Bash, agentTool({ agents: { reviewer } })], model });
`.replace('"asked.txt"', "`${import.meta.dirname}/asked.txt`"),
  });
  const asked = () => readFileSync(join(here.cwd, "asked.txt"), "utf8").trim().split("\n");
  const listed = async () => (await here.call(runs, "ls")).out;
  const { code, out, err } = await here.call(runCommand, "--output", "json", "agent.ts", "begin");
  assert.equal(code, 0, err);
  const [, sub] = /Report of agent (\w+)/.exec(out)!;
  assert.equal(asked()[1], "You review · Read · small · 1");
  for (const [n, length] of [[3, 3], [4, 5]] as const) {
    const again = await here.call(runCommand, "--resume", sub!, "agent.ts", "go on");
    assert.deepEqual([again.code, again.out], [0, "ok\n"], again.err);
    assert.equal(asked()[n], `You review · Read · small · ${length}`);
    assert.match(await listed(), new RegExp(`^\\S+ .*\\n  begin\\n  ${sub} .*\\n    look\\n$`));
  }
  const shown = await here.call(runs, "show", sub!);
  assert.match(shown.out, /look[^]*go on[^]*go on/);
});

test("S0.26, S0.27: resume() and fork() continue a conversation that the caller holds, with or without a store", async () => {
  const model = scripted([], { then: { text: "ok" } });
  const { messages } = await agent({ model }).run("first");
  const store = memoryStore();
  const helper = agent({ model, store });
  const resumed = await helper.resume(messages, "second", { id: "mine" });
  assert.deepEqual([resumed.id, resumed.messages.map(textOf)], ["mine", ["first", "ok", "second", "ok"]]);
  assert.deepEqual((await store.load("mine"))!.messages, resumed.messages, "all of it is stored");
  assert.equal((await helper.resume("mine", "third")).messages.length, 6, "and goes on by its id");
  const forked = await helper.fork(resumed.messages, "another", { at: 2 });
  assert.deepEqual(forked.messages.map(textOf), ["first", "ok", "another", "ok"]);
  const open = resumable([...messages, { role: "user", content: [{ type: "text", text: "do" }] }]);
  assert.equal(invalidConversation((await helper.resume(open, "go on")).messages), undefined);
  assert.deepEqual(messages.map(textOf), ["first", "ok"], "the caller's stay as they are");
});

test("S0.26: messages that are no conversation, or that another session has, are refused before anything begins", async () => {
  const store = memoryStore();
  const helper = agent({ model: scripted([], { then: { text: "ok" } }), store });
  const { messages } = await helper.run("first", { id: "taken" });
  const wrong: [unknown, RunOptions & { at?: string }, RegExp][] = [
    [messages, { id: "taken" }, /Cannot resume messages as 'taken', which is stored already: leave the id out/],
    [messages, { resume: "taken" }, /Cannot resume both an id and messages/],
    [[{ role: "user", content: "text" }], {}, /messages\.0 is not a message/],
    [[messages[1]], {}, /Cannot resume 'the messages' as its log is damaged: messages\.0 has role assistant/],
    ["taken", { messages }, /Cannot resume both/],
  ];
  for (const [past, options, message] of wrong) {
    await assert.rejects(helper.resume(past as Message[], "go on", options), { name: "TypeError", message });
  }
  await assert.rejects(
    helper.fork(messages, "x", { at: "x@2" }),
    /it has no such point: it has none/,
  );
});

test("S0.27, S0.31: the conversation so far can be read while the agent is at rest, from its session and its store", async () => {
  const store = memoryStore();
  const session = await agent({ model: scripted([{ text: "one" }]), store }).open();
  const { id, messages } = await session.prompt("first");
  assert.deepEqual(session.messages.map(textOf), ["first", "one"]);
  await session.close();
  assert.deepEqual((await store.load(id))?.messages, messages);
  assert.equal((await store.load(id))?.endings[0]?.stop, "done");
});

test("U15: resume() resets the counts: limits are per run", async () => {
  const helper = agent({ model: scripted([], { then: { text: "ok" } }), limits: { iterations: 1 } });
  const first = await helper.run("first");
  const second = await helper.resume(first.id, "second");
  assert.deepEqual([first.stop, second.stop, second.iterations], ["done", "done", 1]);
});

test("U15: a resumed session fires session-start with source resume, and turn-start with trigger resume", async () => {
  const seen: string[] = [];
  const helper = agent({
    model: scripted([], { then: { text: "ok" } }),
    hooks: {
      sessionStart: (e) => void seen.push(e.source),
      turnStart: (e) => void seen.push(e.trigger),
    },
  });
  const { id } = await helper.run("first");
  await helper.resume(id, "second");
  assert.deepEqual(seen, ["startup", "user", "resume", "resume"]);
});

test("U15: a dangling tool_use is closed with an error before the conversation goes on", async () => {
  const store = memoryStore();
  await store.save("a1", [
    { role: "user", content: [{ type: "text", text: "go" }] },
    { role: "assistant", content: [{ type: "tool_use", id: "t1", name: "Echo", input: { text: "x" } }] },
  ]);
  const model = scripted([{ text: "went on" }]);
  const result = await agent({ model, tools: [echo], store }).resume("a1", "go on");
  assert.equal(invalidConversation(result.messages), undefined);
  const answer = model.requests[0]!.messages[2]!.content[0] as { type: string; is_error?: boolean };
  assert.deepEqual([answer.type, answer.is_error], ["tool_result", true]);
  assert.equal(invalidConversation((await store.load("a1"))!.messages), undefined);
});

test("U15: the stored model goes on unless another is given", async () => {
  const model = scripted([], { then: { text: "ok" } });
  const helper = agent({ model });
  const session = await helper.open();
  await session.setModel("stored");
  await session.prompt("first");
  await session.close();
  await helper.resume(session.id, "second");
  assert.deepEqual(model.requests.map((request) => request.model), ["stored", "stored"]);
  const other = scripted([{ text: "ok" }]);
  await helper.resume(session.id, "third", { model: other });
  assert.notEqual(other.requests[0]!.model, "stored");
});

test("U15: what differs between the agent that was stored and the one that goes on is said", async () => {
  const store = memoryStore();
  const run = (name: string, tools = [echo]) =>
    agent({ name, model: scripted([], { then: { text: "ok" } }), tools, system: name, store });
  const { id } = await run("before").run("first");
  const warnings: string[] = [];
  const on = (e: RunEvent) => void (e.type === "warning" && warnings.push(e.message));
  await run("after", []).resume(id, "second", { on });
  assert.equal(warnings.length, 2);
  assert.match(warnings[0]!, /tools removed since: Echo/);
  assert.match(warnings[1]!, /system prompt has changed/);
});

test("U15: resume() refuses, with its reason, what it cannot resume", async () => {
  const helper = agent({ model: scripted([]) });
  for (const [id, why] of [["nobody", /no run of that id/], ["../etc", /as a transcript id/]] as const) {
    await assert.rejects(() => helper.resume(id, "x"), { name: "TypeError", message: why });
  }
});

test("fork() goes on under a new id from a number of messages, a checkpoint, or the end", async () => {
  const store = memoryStore();
  const helper = agent({ model: scripted([], { then: { text: "ok" } }), store });
  const session = await helper.open();
  await session.prompt("one");
  const mark = await session.checkpoint();
  await session.prompt("two");
  await session.close();
  for (const [at, expected] of [[undefined, 6], [2, 4], [mark, 4]] as const) {
    const forked = await helper.fork(session.id, "other", at === undefined ? {} : { at });
    assert.notEqual(forked.id, session.id);
    assert.equal(forked.messages.length, expected);
    assert.deepEqual((await store.load(forked.id))?.messages, forked.messages);
  }
  assert.equal((await store.load(session.id))?.messages.length, 4);
  await assert.rejects(() => helper.fork(session.id, "x", { at: "nope" }), /no such point/);
  await assert.rejects(() => helper.fork(session.id, "x", { at: 9 }), /has 4 messages/);
});

test("U15: an id that could not be opened is never left claimed", async () => {
  using folder = scratch();
  const helper = agent({ model: scripted([], { then: { text: "ok" } }), store: jsonlStore(join(folder.path, "runs")) });
  const hooks = () => {
    throw new Error("no hooks");
  };
  await assert.rejects(helper.run("go", { id: "a", hooks }), /no hooks/);
  assert.equal((await helper.run("go", { id: "a" })).stop, "done");
});
