import assert from "node:assert/strict";
import { test } from "node:test";
import { agent, type RunEvent, tool } from "crochet";
import { scripted } from "crochet/testing";
import { Agent, type AgentDefinition, agentTool, Bash } from "crochet/tools";
import type { Tool } from "../../lib/core/tool.ts";
import { scratch } from "../_scratch.ts";

const definition = (description: string) => `---\ndescription: ${description}\n---\nYou do it.\n`;

/** What the model is told of the tool that starts agents, and what the session warned of. */
async function told(tool: Tool, files: Record<string, string> = {}) {
  using folder = scratch(files);
  const model = scripted([{ text: "ok" }]);
  const warnings: string[] = [];
  const on = (event: RunEvent) => void (event.type === "warning" && warnings.push(event.message));
  await agent({ model, tools: [tool], on }).run("hi", { cwd: folder.path });
  const said = model.requests[0]!.tools![0]!.description as string;
  return { kinds: said.split("Kinds of agent, by subagent_type:\n")[1]?.split("\n"), warnings, folder: folder.path };
}

const counter = { description: "Counts the\n lines of a file" };

const CASES: readonly [what: string, tool: Tool, files: Record<string, string>, kinds: string[] | undefined][] = [
  ["none where there are none", Agent, {}, undefined],
  ["those in code, on one line each", agentTool({ agents: { counter } }), {}, [
    "- general-purpose: Any task",
    "- counter: Counts the lines of a file",
  ]],
  ["those of agents/, by name", Agent, { "agents/b.md": definition("Bakes"), "agents/a.md": definition("Asks") }, [
    "- general-purpose: Any task",
    "- a: Asks",
    "- b: Bakes",
  ]],
  [
    "with the tools they have, if not all",
    agentTool({
      agents: { counter: { ...counter, tools: ["Read", "Grep"] }, sage: { description: "Thinks", tools: [] } },
    }),
    {},
    [
      "- general-purpose: Any task",
      "- counter: Counts the lines of a file (tools: Read, Grep)",
      "- sage: Thinks (tools: none)",
    ],
  ],
  ["those of another folder", agentTool({ folder: "crew" }), { "crew/a.md": definition("Asks") }, [
    "- general-purpose: Any task",
    "- a: Asks",
  ]],
  [
    "the one in code of two with one name",
    agentTool({ agents: { counter } }),
    { "agents/counter.md": definition("x") },
    [
      "- general-purpose: Any task",
      "- counter: Counts the lines of a file",
    ],
  ],
  ["a general one of one's own", Agent, { "agents/general-purpose.md": definition("All but code") }, [
    "- general-purpose: All but code",
  ]],
  ["none that is only a page", Agent, { "agents/README.md": "# Our agents\n" }, undefined],
];

for (const [what, tool, files, kinds] of CASES) {
  test(`the model reads which agents it can start: ${what}`, async () => {
    const { warnings, ...said } = await told(tool, files);
    assert.deepEqual(said.kinds, kinds);
    assert.deepEqual(warnings, []);
  });
}

test("a definition that cannot be used is a warning with the fix, and the others are listed", async () => {
  const { kinds, warnings, folder } = await told(Agent, {
    "agents/a.md": definition("Asks"),
    "agents/b.md": "---\nmodel: tiny\n---\n",
    "agents/c.md/d.txt": "a folder\n",
  });
  assert.deepEqual(kinds, ["- general-purpose: Any task", "- a: Asks"]);
  const use = (name: string) => `Cannot use ${folder}/agents/${name}.md as`;
  assert.equal(warnings[0], `${use("b")} its front matter has no 'description': say what it is for`);
  assert.equal(warnings[1], `${use("c")} it cannot be read: 'agents/c.md' is not a regular file`);
});

test("an agent that the model read about can be started wherever the shell is", async () => {
  using folder = scratch({ "agents/a.md": definition("Asks"), "below/file.txt": "" });
  const model = scripted([
    { tools: [{ name: "Bash", input: { command: "cd below", description: "Go there" } }] },
    { tools: [{ name: "Agent", input: { description: "d", prompt: "p", subagent_type: "a" } }] },
    { text: "asked" },
    { text: "done" },
  ]);
  const { text } = await agent({ model, tools: [Agent, Bash] }).run("go", { cwd: folder.path });
  assert.deepEqual([text, model.requests[2]!.system], ["done", "You do it."]);
});

test("an agent in code without a description is refused at once, by its name", () => {
  const agents = { counter: { system: "You count." } as AgentDefinition };
  assert.throws(() => agentTool({ agents }), {
    name: "TypeError",
    message: "Cannot start agents of type 'counter' as it has no 'description': say what it is for",
  });
});

test("a tool that cannot be described for a session has its own description, and a warning says so", async () => {
  const describe = () => Promise.reject(new Error("no network"));
  const look = tool({ name: "Look", description: "Looks", input: { type: "object" }, describe, run: () => "" });
  const model = scripted([{ text: "ok" }]);
  const warnings: string[] = [];
  const on = (event: RunEvent) => void (event.type === "warning" && warnings.push(event.message));
  await agent({ model, tools: [look], on }).run("hi");
  assert.deepEqual(
    [model.requests[0]!.tools[0]!.description, warnings],
    ["Looks", ["Cannot describe tool Look for this run as it failed: no network"]],
  );
});
