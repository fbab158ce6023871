import assert from "node:assert/strict";
import { test } from "node:test";
import { agent, deny, keepGoing, memoryStore, tool } from "crochet";
import { scripted, type ScriptedReply } from "crochet/testing";
import { textOf } from "../../lib/core/messages.ts";
import { Agent, agentTool } from "../../lib/tools/agent.ts";
import { Bash, Read } from "../../lib/tools/index.ts";
import { scratch } from "../_scratch.ts";

const start = (prompt: string, more: Record<string, unknown> = {}) => ({
  name: "Agent",
  input: { description: "d", prompt, ...more },
});

/** A model for parents and children alike: the first message says who asks. */
function by(first: Record<string, ScriptedReply[]>) {
  const left = new Map(Object.entries(first).map(([key, replies]) => [key, [...replies]]));
  return scripted([], {
    then: ({ messages }) => left.get(textOf(messages[0]))?.shift() ?? { text: "nothing left" },
  });
}

/** What a message of results says, and whether each is an error. */
const answersIn = (result: { messages: readonly { content: readonly unknown[] }[] }, at: number) =>
  (result.messages[at]!.content as { content?: string; is_error?: boolean }[]).map((b) =>
    [b.content, b.is_error ?? false] as const
  );

test("S0.4, S0.5, S0.28, U9: the Agent tool runs an agent with its own start, stop and end, with ids, and no session of its own", async () => {
  const seen: string[] = [];
  const ids: string[] = [];
  const who = (e: { agent_id: string; parent_agent_id?: string }) => e.parent_agent_id === undefined ? "root" : "sub";
  await agent({
    model: by({ go: [{ tools: [start("sub task")] }, { text: "done" }], "sub task": [{ text: "sub result" }] }),
    tools: [Agent],
    hooks: {
      sessionStart: (e) => void seen.push(`session-start ${who(e)}`),
      userPromptSubmit: (e) => void seen.push(`user-prompt-submit ${who(e)}`),
      agentStart: (e) => void (seen.push(`agent-start ${who(e)} ${e.task}`), ids.push(e.agent_id)),
      subagentStart: (e) => void seen.push(`subagent-start ${e.agent_type}`),
      stop: (e) => void seen.push(`stop ${who(e)}`),
      subagentStop: (e) => void seen.push(`subagent-stop ${e.last_assistant_message}`),
      agentStop: (e) => void (seen.push(`agent-stop ${who(e)} ${e.stop} ${e.result.text}`), ids.push(e.agent_id)),
      sessionEnd: (e) => void seen.push(`session-end ${who(e)}`),
    },
  }).run("go");
  assert.deepEqual(seen, [
    "session-start root",
    "user-prompt-submit root",
    "agent-start root go",
    "agent-start sub sub task",
    "subagent-start general-purpose",
    "subagent-stop sub result",
    "agent-stop sub done sub result",
    "stop root",
    "agent-stop root done done",
    "session-end root",
  ]);
  const [root, sub] = ids;
  assert.notEqual(sub, root);
  assert.deepEqual(ids, [root, sub, sub, root]);
});

test("S0.5: agent-stop of a sub-agent carries its whole result: text, stop, usage, cost and denials", async () => {
  const seen: unknown[] = [];
  const priced = { input: 1, output: 1, cacheRead: 0, cacheWrite: 0 };
  const result = await agent({
    model: by({
      go: [{ tools: [start("sub task")] }, { text: "done" }],
      "sub task": [{ tools: [start("deeper")] }, { text: "sub result" }],
    }),
    tools: [Agent],
    prices: { model: priced },
    hooks: {
      preToolUse: (e) => e.input.prompt === "deeper" ? deny("Deep enough") : undefined,
      agentStop: ({ stop, result, parent_agent_id }) => void seen.push([parent_agent_id !== undefined, stop, result]),
    },
  }).run("go");
  const [[isSub, stop, sub], [, , root]] = seen as [[boolean, string, typeof result], [boolean, string, typeof result]];
  assert.deepEqual([isSub, stop, sub.text, sub.stop], [true, "done", "sub result", "done"]);
  assert.deepEqual(sub.denials.map(({ tool_name, reason }) => [tool_name, reason]), [["Agent", "Deep enough"]]);
  assert.ok(sub.usage.input_tokens > 0 && sub.cost !== undefined);
  const { text, usage, cost, denials } = result;
  // Hooks see what each agent used itself: of agents side by side a sum would be in any order.
  assert.deepEqual(root, { text, stop: result.stop, usage: root.usage, cost: root.cost, denials });
  assert.equal(root.usage.input_tokens + sub.usage.input_tokens, usage.input_tokens);
  assert.equal(root.cost! + sub.cost!, cost);
});

test("S3.35: session-start has the profile and the config that an agent names, and null if it names none", async () => {
  const seen: unknown[] = [];
  const sessionStart = ({ profile, config }: { profile: unknown; config: unknown }) =>
    void seen.push([profile, config]);
  const named = { profile: "ci", config: { retries: 2 } };
  for (const options of [named, {}]) {
    await agent({ model: scripted([{ text: "ok" }]), hooks: { sessionStart }, ...options }).run("go");
  }
  assert.deepEqual(seen, [["ci", { retries: 2 }], [null, null]]);
  assert.throws(() => agent({ profile: 5 as never }), /Cannot make an agent as 'profile' must be a text/);
});

test("a sub-agent's stop can be refused, and its start: the parent reads why", async () => {
  const once = agent({
    model: by({
      go: [{ tools: [start("sub task")] }, { text: "done" }],
      "sub task": [{ text: "half" }, { text: "whole" }],
    }),
    tools: [Agent],
    hooks: { subagentStop: (e) => e.stop_hook_active ? undefined : keepGoing("Finish it") },
  });
  assert.match(answersIn(await once.run("go"), 2)[0]![0]!, /^whole/);
  const never = agent({
    model: by({ go: [{ tools: [start("sub task")] }, { text: "done" }] }),
    tools: [Agent],
    hooks: { subagentStart: () => deny("not today") },
  });
  assert.match(answersIn(await never.run("go"), 2)[0]![0]!, /Blocked by hook: not today/);
});

test("S0.26, S0.28: resume_agent_id goes on with an earlier sub-agent of the same store, its id and model; its events have other ids", async () => {
  let id = "";
  const events: string[] = [];
  const helper = agent({
    model: by({
      go: [{ tools: [start("sub task")] }, { text: "done" }],
      "sub task": [{ text: "first" }, { text: "second" }],
    }),
    tools: [Agent],
    hooks: {
      agentStart: (e) => void events.push(e.event_id),
      agentStop: (e) => {
        events.push(e.event_id);
        if (e.parent_agent_id !== undefined) id = e.agent_id;
      },
    },
  });
  await helper.run("go");
  const first = id;
  const replies = [{ tools: [start("go on", { resume_agent_id: id })] }, { text: "done" }];
  const model = scripted([], {
    then: ({ messages }) => textOf(messages[0]) === "sub task" ? { text: `saw ${messages.length}` } : replies.shift()!,
  });
  const session = await helper.open({ model });
  await session.setModel("other");
  const result = await session.prompt("later");
  await session.close();
  assert.match(answersIn(result, 2)[0]![0]!, /^saw 3/);
  assert.equal(id, first);
  const [lead, sub] = model.requests.map((request) => request.model);
  assert.deepEqual([lead, sub], ["other", "scripted"]);
  assert.deepEqual([events.length, new Set(events).size], [8, 8]);
});

test("a sub-agent starts in its parent's directory and follows its own shell, wherever the parent goes later", async () => {
  using folder = scratch({ "one/a.txt": "in one", "one/two/a.txt": "in two", "three/a.txt": "in three" });
  const bash = (command: string) => ({ name: "Bash", input: { command, description: "d" } });
  const places: string[] = [];
  await agent({
    model: by({
      go: [
        { tools: [bash("cd one")] },
        { tools: [start("sub task", { run_in_background: true }), bash("cd ../three")] },
        { text: "done" },
        { text: "heard" },
      ],
      "sub task": [
        { tools: [{ name: "Read", input: { file_path: "a.txt" } }], delay: 200 },
        { tools: [bash("cd two")] },
        { tools: [{ name: "Read", input: { file_path: "a.txt" } }] },
        { text: "read" },
      ],
    }),
    tools: [Agent, Bash, Read],
    hooks: { postToolUse: (e) => void (e.tool_name === "Read" && places.push(String(e.result.content))) },
  }).run("go", { cwd: folder.path });
  assert.deepEqual(places.map((text) => text.replace(/^1\t/, "")), ["in one", "in two"]);
});

test("S0.29: an unknown id to resume is an error, for an agent and for its sub-agents, never a fresh start", async () => {
  const model = by({ go: [{ tools: [start("x", { resume_agent_id: "nobody" })] }, { text: "done" }] });
  const store = memoryStore();
  const helper = agent({ model, tools: [Agent], store });
  const unknown = /Cannot resume 'nobody' as there is no run of that id/;
  await assert.rejects(helper.resume("nobody", "go"), unknown);
  await assert.rejects(helper.fork("nobody", "go"), unknown);
  await assert.rejects(helper.open({ resume: "nobody" }), unknown);
  // What was never given a store has none of the id either.
  await assert.rejects(agent({ model }).resume("nobody", "go"), unknown);
  assert.deepEqual([model.requests.length, await store.load("nobody")], [0, undefined]);
  const [content, isError] = answersIn(await helper.run("go"), 2)[0]!;
  assert.equal(isError, true);
  assert.match(content!, /Cannot resume agent 'nobody'/);
  assert.equal(model.requests.length, 2, "no sub-agent was started");
});

test("an unknown type of agent is an error that lists the known ones", async () => {
  const reviewer = { description: "Reviews", system: "You review." };
  const helper = agent({
    model: by({ go: [{ tools: [start("x", { subagent_type: "reviwer" })] }, { text: "done" }] }),
    tools: [agentTool({ agents: { reviewer } })],
  });
  assert.match(
    answersIn(await helper.run("go"), 2)[0]![0]!,
    /the types are general-purpose, reviewer; did you mean 'reviewer'/,
  );
});

test("agents/<name>.md defines an agent: its system prompt, tools and model", async () => {
  using folder = scratch({
    "agents/scout.md": "---\ndescription: Looks around\ntools: Echo\nmodel: tiny\n---\nYou look around.\n",
  });
  const echo = tool({ name: "Echo", description: "", input: { type: "object" }, run: () => "x" });
  const model = by({
    go: [{ tools: [start("look", { subagent_type: "scout" })] }, { text: "done" }],
    look: [{ text: "seen" }],
  });
  await agent({ model, tools: [Agent, echo], cwd: folder.path }).run("go");
  const asked = model.requests.find((r) => textOf(r.messages[0]) === "look")!;
  assert.deepEqual([asked.system, asked.model, asked.tools.map((t) => t.name)], ["You look around.", "tiny", ["Echo"]]);
});

test("several agents of one reply run at the same time", async () => {
  let running = 0;
  let meet = () => {};
  const together = new Promise<void>((resolve) => meet = resolve);
  const late = setTimeout(meet, 120_000); // One after the other they would never meet.
  let most = 0;
  const wait = tool({
    name: "Wait",
    description: "",
    effect: "read",
    input: { type: "object" },
    run: async () => {
      most = Math.max(most, ++running);
      if (running === 3) meet();
      await together;
      running--;
      return "ok";
    },
  });
  const child = [{ tools: [{ name: "Wait", input: {} }] }, { text: "ok" }];
  const model = by({
    go: [{ tools: [start("a"), start("b"), start("c")] }, { text: "done" }],
    a: child,
    b: child,
    c: child,
  });
  await agent({ model, tools: [Agent, wait] }).run("go");
  clearTimeout(late);
  assert.equal(most, 3);
});

test("U10: a background agent's report comes as a turn of its own", async () => {
  const triggers: string[] = [];
  const result = await agent({
    model: by({
      go: [{ tools: [start("later", { run_in_background: true })] }, { text: "waiting" }, { text: "thanks" }],
      later: [{ text: "report" }],
    }),
    tools: [Agent],
    hooks: { turnStart: (e) => void (e.parent_agent_id === undefined && triggers.push(e.trigger)) },
  }).run("go");
  assert.equal(result.text, "thanks");
  assert.deepEqual(triggers, ["user", "background"]);
  assert.match(textOf(result.messages[4]), /has ended and says:\n\nreport/);
});

test("U10: agents nest no deeper than limits.depth", async () => {
  const model = scripted([], {
    then: ({ messages }) => messages.length === 1 ? { tools: [start(`${textOf(messages[0])}+`)] } : { text: "ok" },
  });
  const errors: string[] = [];
  await agent({
    model,
    tools: [Agent],
    limits: { depth: 2 },
    on: (e) => void (e.type === "tool_end" && e.outcome === "failure" && errors.push(e.content)),
  }).run("go");
  assert.equal(errors.length, 1);
  assert.match(errors[0]!, /the limit is 2/);
});

test("U10: a sub-agent counts its own iterations and shares its parent's token budget", async () => {
  const many = Array.from({ length: 20 }, () => ({ tools: [{ name: "Nope", input: {} }] }));
  const stops: string[] = [];
  const result = await agent({
    model: by({ go: [{ tools: [start("sub")] }, { text: "done" }], sub: many }),
    tools: [Agent],
    limits: { tokens: 100 },
    hooks: { agentStop: (e) => void stops.push(e.stop) },
  }).run("go");
  assert.deepEqual([stops, result.stop], [["budget", "budget"], "budget"]);
});

test("aborting the parent always ends its agents too", async () => {
  const stop = new AbortController();
  const ends: string[] = [];
  const hang = tool({
    name: "Hang",
    description: "",
    input: { type: "object" },
    run: (_, { signal }) =>
      new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("stopped")))),
  });
  const running = agent({
    model: by({ go: [{ tools: [start("sub")] }], sub: [{ tools: [{ name: "Hang", input: {} }] }] }),
    tools: [Agent, hang],
    hooks: { agentStop: (e) => void ends.push(e.stop) },
    on: (e) => void (e.type === "tool_start" && e.name === "Hang" && setTimeout(() => stop.abort(), 5)),
  }).run("go", { signal: stop.signal });
  assert.equal((await running).stop, "aborted");
  assert.deepEqual(ends, ["aborted", "aborted"]);
});
