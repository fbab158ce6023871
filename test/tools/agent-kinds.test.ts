import assert from "node:assert/strict";
import { test } from "node:test";
import { agent, type RunEvent } from "crochet";
import { scripted } from "crochet/testing";
import { Agent, agentTool } from "crochet/tools";
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
  const said = model.requests[0]!.tools![0]!.description;
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
  test(`the model is told which agents it can start: ${what}`, async () => {
    const { warnings, ...said } = await told(tool, files);
    assert.deepEqual(said.kinds, kinds);
    assert.deepEqual(warnings, []);
  });
}

test("a definition that cannot be used is a warning with the mend, and the others are told", async () => {
  const { kinds, warnings, folder } = await told(Agent, {
    "agents/a.md": definition("Asks"),
    "agents/b.md": "---\nmodel: tiny\n---\n",
  });
  assert.deepEqual(kinds, ["- general-purpose: Any task", "- a: Asks"]);
  assert.deepEqual(warnings, [`Cannot use ${folder}/agents/b.md as its front matter has no 'description'`]);
});
