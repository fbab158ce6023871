import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { agent, type AgentOptions, memoryStore, type Message, type Tool } from "crochet";
import { scripted, type ScriptedReply } from "crochet/testing";
import { Agent, Bash, BashOutput, Read } from "crochet/tools";
import { textOf } from "../../lib/core/messages.ts";
import { scratch } from "../_scratch.ts";

const bash = (command: string, more: object = {}): ScriptedReply => ({
  tools: [{ name: "Bash", input: { command, ...more } }],
});
const call = (name: string, input: object): ScriptedReply => ({ tools: [{ name, input: input as never }] });
const resultsIn = (messages: readonly Message[]) =>
  messages.flatMap(({ content }) => content).filter(({ type }) => type === "tool_result")
    .map((block) => String((block as { content: unknown }).content));
const LONG = "seq 1 20000";
const fileIn = (messages: readonly Message[]) => /all of it is in (\S+)/.exec(resultsIn(messages).at(-1)!)![1]!;

const LONG_RUNS: readonly [how: string, replies: ScriptedReply[]][] = [
  ["a command", [bash(`cd src; ${LONG}`), bash(LONG)]],
  ["a command outside the workspace", [bash("cd /tmp"), bash(LONG)]],
  ["a command in the background", [
    bash("cd src"),
    bash(LONG, { run_in_background: true }),
    bash("sleep 0.5"),
    call("BashOutput", { bash_id: "bash_1" }),
  ]],
];

for (const [how, replies] of LONG_RUNS) {
  test(`the whole output of ${how} is kept in the workspace, for Read, wherever the shell is`, async () => {
    using folder = scratch({ "src/a.txt": "x" });
    const model = scripted([
      ...replies,
      ({ messages }) => call("Read", { file_path: fileIn(messages), offset: 20000 }),
      { text: "done" },
    ]);
    const { messages } = await agent({ model, tools: [Bash, BashOutput, Read] }).run("go", { cwd: folder.path });
    assert.equal(resultsIn(messages).at(-1), "20000\t20000\n20001");
    assert.equal(existsSync(join(folder.path, "src/.crochet")), false);
  });
}

const GONE = (place: string) =>
  `The shell had ended: this is a new one in ${place}, without the old one's variables, functions and jobs.`;

test("a resumed session reads once that its shell and what ran beside it are gone", async () => {
  using folder = scratch({ "src/a.txt": "x" });
  const place = folder.path;
  const fixer = agent({ store: memoryStore(), tools: [Bash, BashOutput, Read] });
  const begun = scripted([bash("cd src"), bash("sleep 60", { run_in_background: true }), { text: "ok" }]);
  const { id } = await fixer.run("go", { cwd: place, model: begun });
  const model = scripted([call("BashOutput", { bash_id: "bash_1" }), bash("pwd"), bash("pwd"), { text: "ok" }]);
  const { messages } = await fixer.resume(id, "go on", { cwd: place, model });
  assert.deepEqual(resultsIn(messages).slice(-3), [
    "Cannot find background run 'bash_1' as no run has that ID: none was started since this session began or was resumed, so start it with Bash",
    `${GONE(place)}\n${place}`,
    place,
  ]);
});

test("a resumed session that never had a shell reads nothing about one", async () => {
  using folder = scratch({});
  const fixer = agent({ store: memoryStore(), tools: [Bash] });
  const { id } = await fixer.run("go", { cwd: folder.path, model: scripted([{ text: "ok" }]) });
  const model = scripted([bash("pwd"), { text: "ok" }]);
  const { messages } = await fixer.resume(id, "go on", { cwd: folder.path, model });
  assert.deepEqual(resultsIn(messages), [folder.path]);
});

test("a resumed agent reads that its shell is gone", async () => {
  using folder = scratch({});
  const start = (more: object = {}) => call("Agent", { description: "d", prompt: "task", ...more });
  const isBelow = ({ messages }: { messages: readonly Message[] }) => textOf(messages[0]) === "task";
  const model = scripted([
    start(),
    ({ messages }) => start({ resume_agent_id: /agent (a[0-9a-f]{16})/.exec(resultsIn(messages).at(-1)!)![1] }),
  ], {
    routes: [{ when: isBelow, replies: [bash("A=1"), { text: "first" }, bash("echo A=$A"), { text: "second" }] }],
    then: { text: "done" },
  });
  await agent({ model, tools: [Agent, Bash] }).run("go", { cwd: folder.path });
  assert.equal(resultsIn(model.requests.filter(isBelow).at(-1)!.messages).at(-1), `${GONE(folder.path)}\nA=`);
});

const SANDBOXED: readonly [what: string, tool: Tool, options: AgentOptions, told: RegExp][] = [
  ["nothing of a sandbox", Bash, {}, /the whole output is saved to a file\.$/],
  [
    "the sandbox of its agent",
    Bash,
    { sandbox: "workspace" },
    /in a sandbox: only the workspace .* and there is no network\.$/,
  ],
  ["a sandbox with a network", Bash, { sandbox: { mode: "workspace", network: true } }, /empty at first\.$/],
];

for (const [what, tool, options, told] of SANDBOXED) {
  test(`the model reads what commands cannot do: ${what}`, async () => {
    using folder = scratch({});
    const model = scripted([{ text: "ok" }]);
    await agent({ model, tools: [tool], ...options }).run("go", { cwd: folder.path });
    assert.match(model.requests[0]!.tools[0]!.description as string, told);
  });
}
