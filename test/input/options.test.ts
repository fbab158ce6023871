import assert from "node:assert/strict";
import { test } from "node:test";
import { agent, definitions, HookRegistry, memoryStore, promptGate, promptStop, tool } from "crochet";
import { serve } from "crochet/durable/restate";
import { conversationArbitrary, eventArbitrary, runExamples, scripted } from "crochet/testing";
import { agentTool, openSandbox, permissionGate, read, undo } from "crochet/tools";
import { place } from "../_place.ts";

const model = scripted([], { then: { text: "ok" } });
const run = () => "";
const input = { type: "object" as const };

/** Calls with a mistyped option, and the option that is meant. */
const MISTYPED: readonly (readonly [name: string, call: () => unknown, wrong: string, meant: string])[] = [
  ["agent", () => agent({ modle: model } as object), "modle", "model"],
  ["agent, for a tape", () => agent({ model, tape: { path: "x", tols: true } as object }).run("x"), "tols", "tools"],
  ...([["ask", "permissionAsker"], ["asker", "questionAsker"], ["rollout", "log"]] as const).map(([old, now]) =>
    [`an older agent.run (${old})`, () => agent({ model }).run("x", { [old]: run }), old, now] as const
  ),
  ["agent.run", () => agent({ model }).run("x", { resum: "x" } as object), "resum", "resume"],
  ["tool", () => tool({ name: "A", description: "", input, run, efect: "none" } as never), "efect", "effect"],
  ["agentTool", () => agentTool({ agent: {} } as object), "agent", "agents"],
  [
    "an agent of agentTool",
    () => agentTool({ agents: { rev: { description: "x", tols: [] } as never } }),
    "tols",
    "tools",
  ],
  ["HookRegistry", () => new HookRegistry({ wran: run } as object), "wran", "warn"],
  ["definitions", () => definitions("hooks.yaml", { workspce: "/" } as object), "workspce", "workspace"],
  ["promptGate", () => promptGate(model, "x", { modelNme: "x" } as object), "modelNme", "modelName"],
  ["promptStop", () => promptStop(model, "x", { insists: true } as object), "insists", "insist"],
  ["read", () => read({ file_path: "x" }, { cwdd: "/" } as object), "cwdd", "cwd"],
  ["undo", () => undo(new Map(), { filepath: "x" } as object), "filepath", "file_path"],
  ["openSandbox", () => openSandbox({ mode: "workspace", root: [] } as never), "root", "roots"],
  [
    "permissionGate",
    () => permissionGate({}, { permissionAskers: run } as object),
    "permissionAskers",
    "permissionAsker",
  ],
  ["serve", () => serve([], { identityKey: [] } as object), "identityKey", "identityKeys"],
  ["eventArbitrary", () => eventArbitrary("stop", { tol: "x" } as object), "tol", "tool"],
  ["conversationArbitrary", () => conversationArbitrary({ reply: 1 } as object), "reply", "replies"],
  ["runExamples", () => runExamples("x", { timout: 1 } as object), "timout", "timeout"],
];

for (const [name, call, wrong, meant] of MISTYPED) {
  test(`a mistyped option of ${name} is refused with what was meant`, async () => {
    const words = new RegExp(`option '${wrong}' is unknown: did you mean '${meant}'\\?`);
    await assert.rejects(async () => await call(), (error: Error) => {
      assert.equal(error.name, "TypeError");
      assert.match(error.message, words);
      return true;
    });
  });
}

test("an agent that names a folder of hooks which is not there is refused when it is made", () => {
  using here = place({ "hooks/stop.sh": "#!/bin/sh\n" });
  const from = `${here.cwd}/agent.ts`;
  assert.throws(
    () => agent({ model, from, hooks: "./hoks" }),
    /as there is no folder of hooks '.*\/hoks': correct 'hooks'/,
  );
  assert.doesNotThrow(() => agent({ model, from, hooks: "./hooks" }));
});

test("an option that is like none is refused with those there are", () => {
  assert.throws(
    () => agent("hi" as never),
    /^TypeError: Cannot make an agent as its options are .?hi.?: give an object/,
  );
  const words = /option 'model' is unknown: expected workspace, internal, by, host, onProblem, warn$/;
  assert.throws(() => definitions("hooks.yaml", { model } as object), { name: "TypeError", message: words });
});

test("a definition of an agent without a description, or of a wrong field, is refused when the tool is made", () => {
  assert.throws(() => agentTool({ agents: { rev: { prompt: "x" } as never } }), /option 'prompt' is unknown/);
  assert.throws(() => agentTool({ agents: { rev: {} as never } }), /it has no 'description': say what it is for/);
});

test("agents/*.md with a mistyped field or tool never starts an agent with other tools than it names", async () => {
  const head = (line: string) => `---\ndescription: Reviews\n${line}\n---\nYou review.\n`;
  using here = place({
    "agents/one.md": head("tool: Read"),
    "agents/two.md": head("allowed-tools: Read"),
    "agents/three.md": head("tools: Raed"),
    "agents/four.md": head("tools: Read, WebFetch\nname: four\ncolor: blue"),
  });
  const WRONG: readonly (readonly [type: string, why: RegExp | undefined])[] = [
    ["one", /Cannot use .*agents\/one\.md as in its front matter option 'tool' is unknown: did you mean 'tools'\?/],
    ["two", /in its front matter option 'allowed-tools' is unknown: expected description, tools, model, name, color/],
    ["three", /it names tool 'Raed', which does not exist: did you mean 'Read'\?/],
    ["four", undefined],
  ];
  const Read = tool({ name: "Read", description: "Reads", effect: "read", input, run });
  for (const [type, why] of WRONG) {
    const call = { name: "Agent", input: { description: "x", prompt: "x", subagent_type: type } };
    const asked = scripted([{ tools: [call] }], { then: { text: "done" } });
    const lead = agent({ model: asked, cwd: here.cwd, tools: [Read, agentTool()], store: memoryStore() });
    const { messages } = await lead.run("go");
    const told = JSON.stringify(messages[2]);
    if (why === undefined) assert.deepEqual(asked.requests[1]!.tools.map(({ name }) => name), ["Read"], told);
    else assert.match(JSON.parse(told).content[0].content, why);
    assert.equal(asked.requests.length, why === undefined ? 3 : 2);
  }
});
