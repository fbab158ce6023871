import assert from "node:assert/strict";
import { test } from "node:test";
import { agent, type AgentOptions, deny, type Message } from "crochet";
import { scripted, type ScriptedReply } from "crochet/testing";
import { agentTool, AskUserQuestion, Read } from "crochet/tools";
import { textOf } from "../../lib/core/messages.ts";
import { scratch } from "../_scratch.ts";

const reviewer = { description: "Reviews", system: "You review.", tools: ["Read"] };
const start = (more: object = {}): ScriptedReply => ({
  tools: [{ name: "Agent", input: { description: "d", prompt: "task", ...more } }],
});
const idIn = (messages: readonly Message[]) => /agent (a[0-9a-f]{16})/i.exec(JSON.stringify(messages.at(-1)))![1]!;

/** What the lead reads of agents it starts: its lead's replies may be made of the id of the last one. */
async function read(
  lead: readonly (ScriptedReply | ((id: string) => ScriptedReply))[],
  below: readonly ScriptedReply[],
  options: AgentOptions = {},
) {
  using folder = scratch({ "a.txt": "one\n" });
  const replies = lead.map((reply) =>
    typeof reply === "function" ? ({ messages }: { messages: readonly Message[] }) => reply(idIn(messages)) : reply
  );
  const routes = [{ when: (r: { messages: readonly Message[] }) => textOf(r.messages[0]) === "task", replies: below }];
  const model = scripted(replies, { routes, then: { text: "done" } });
  const tools = [Read, agentTool({ agents: { reviewer } })];
  const { messages } = await agent({ system: "Lead", model, tools, ...options }).run("go", { cwd: folder.path });
  const said = messages.filter(({ role }) => role === "user").slice(1).flatMap(({ content }) => content);
  const words = said.map((block) =>
    String((block as { content?: string }).content ?? (block as { text: string }).text)
  );
  return { words: words.map((text) => text.replaceAll(/a[0-9a-f]{16}/g, "ID")), requests: model.requests };
}

const look: ScriptedReply = { tools: [{ name: "Read", input: { file_path: "a.txt" } }] };
const early = (why: string) =>
  `[Report of agent ID (general-purpose), not of the user, who ended before the task was done as ${why}; resume it with resume_agent_id]`;

const options = [{ label: "a", description: "A" }, { label: "b", description: "B" }];
const wonder: ScriptedReply = {
  text: "Hm",
  tools: [{ name: "AskUserQuestion", input: { questions: [{ question: "Which?", header: "W", options }] } }],
};

const ENDS: readonly [what: string, below: ScriptedReply[], options: AgentOptions, told: string][] = [
  [
    "is done",
    [{ text: "x" }],
    {},
    "x\n\n[Report of agent ID (general-purpose), not of the user; resume it with resume_agent_id]",
  ],
  [
    "reaches its limit",
    [look, look],
    { limits: { iterations: 2 } },
    `(no words)\n\n${early("it reached its limit of model calls")}`,
  ],
  [
    "is cut off",
    [{ text: "ha", stop_reason: "max_tokens" }],
    {},
    `ha\n\n${early("its last reply was cut off by the output limit")}`,
  ],
  ["refuses", [{ text: "no", stop_reason: "refusal" }], {}, `no\n\n${early("the model refused to go on")}`],
  [
    "waits for an answer",
    [wonder],
    { tools: [agentTool(), AskUserQuestion] },
    `Hm\n\nNot answered yet: "Which?". The turn ends here; the user's next message is the answer.\n\n${
      early("it waits for an answer, which the prompt may give")
    }`,
  ],
  ["is not let to begin", [], { hooks: { subagentStart: () => deny("not today") } }, "Blocked by hook: not today"],
];

for (const [what, below, options, told] of ENDS) {
  test(`the one that started an agent reads how it ended: it ${what}`, async () => {
    assert.deepEqual((await read([start()], below, options)).words, [told]);
  });
}

test("the report of an agent in the background is marked as one, and says how to resume the agent", async () => {
  const { words } = await read([start({ run_in_background: true })], [{ text: "late" }]);
  assert.equal(
    words.at(-1),
    "Agent ID (general-purpose) that worked in the background has ended and says:\n\nlate\n\n" +
      "[Report of agent ID (general-purpose), not of the user; resume it with resume_agent_id]",
  );
});

test("S0.26: a resumed agent keeps its type, its instructions and its tools", async () => {
  const { words, requests } = await read(
    [start({ subagent_type: "reviewer" }), (id) => start({ prompt: "more", resume_agent_id: id })],
    [{ text: "first" }, { text: "second" }],
  );
  const below = requests.filter(({ messages }) => textOf(messages[0]) === "task");
  assert.deepEqual(below.map(({ system, tools }) => [system, tools.map(({ name }) => name)]), [
    ["You review.", ["Read"]],
    ["You review.", ["Read"]],
  ]);
  assert.match(words[1]!, /^second\n\n\[Report of agent ID \(reviewer\)/);
});

const REFUSED: readonly [what: string, lead: Parameters<typeof read>[0], told: string][] = [
  [
    "as another type",
    [start(), (id) => start({ subagent_type: "reviewer", resume_agent_id: id })],
    "Cannot resume agent 'ID' as a reviewer as it is a general-purpose: leave subagent_type out",
  ],
  [
    "while it works",
    [start({ run_in_background: true }), (id) => start({ resume_agent_id: id })],
    "Cannot resume agent 'ID' as it still works: wait for its report",
  ],
  [
    "by an unknown id",
    [start({ resume_agent_id: "nobody" })],
    "Cannot resume agent 'nobody' as there is no log of that id: take the id from its report, or start another",
  ],
];

for (const [what, lead, told] of REFUSED) {
  test(`an agent is not resumed ${what}, and the model reads what to do`, async () => {
    const { words } = await read(lead, [{ text: "first", delay: 100 }, { text: "second" }]);
    assert.ok(words.includes(told), words.join("\n"));
  });
}

test("an agent that may not start others reads that it has to do the task itself", async () => {
  const { requests } = await read([start()], [start({ prompt: "x" }), { text: "x" }], { limits: { depth: 1 } });
  const told = JSON.stringify(requests.filter(({ messages }) => textOf(messages[0]) === "task").at(-1)!.messages);
  assert.match(told, /Cannot start an agent as 1 are nested already and the limit is 1: do the task yourself/);
});
