import assert from "node:assert/strict";
import { test } from "node:test";
import { hooksFor } from "../../../lib/extensions/sdks/index.ts";
import { scratch } from "../../_scratch.ts";

const GUARD =
  `export default ({ input }) => /^rm/.test(input.command) ? { action: "deny", reason: "NO-RM" } : undefined;`;
const REWRITE = `export default ({ input }) => ({ action: "modify", value: { command: input.command + "!" } });`;

type Given = { command: string };
const bash = { execute: (input: Given, _options: object): unknown => `ran ${input.command}` };

/** A tool of OpenAI Agents, as `tool()` makes one. */
function agentTool(ran: string[]) {
  return {
    ...{ type: "function", name: "Bash" },
    invoke: (_: unknown, input: string, _details?: object): Promise<unknown> => {
      ran.push(JSON.parse(input).command);
      return Promise.resolve(`ran ${ran.at(-1)}`);
    },
    needsApproval: (_: unknown, _input: unknown, _id?: string) => Promise.resolve(false),
  };
}

const details = (callId: string) => ({ toolCall: { callId } });

test("hooks around a tool refuse, rewrite its input, and change or add to its result, in both SDKs with tools", async () => {
  using folder = scratch({
    "pre-tool-use@Bash.10-guard.ts": GUARD,
    "pre-tool-use@Bash.20-rewrite.ts": REWRITE,
    "post-tool-use.10-new.ts": `export default ({ result }) => ({ action: "modify", value: result.content + "?" });`,
    "post-tool-use.20-say.ts": `export default () => ({ action: "continue", context: "BE-SIDE" });`,
  });
  const { Bash } = (await hooksFor("ai-sdk", folder.path)).tools({ Bash: bash });
  await assert.rejects(async () => await Bash.execute({ command: "rm x" }, {}), { message: "NO-RM" });
  assert.equal(await Bash.execute({ command: "ls" }, {}), "ran ls!?\n\nBE-SIDE");
  const ran: string[] = [];
  const [tool] = (await hooksFor("openai-agents", folder.path)).tools([agentTool(ran)]);
  assert.equal(await tool!.invoke({}, `{"command":"rm x"}`, details("1")), "NO-RM");
  assert.equal(await tool!.invoke({}, `{"command":"ls"}`, details("2")), "ran ls!?\n\nBE-SIDE");
  assert.deepEqual(ran, ["ls!"]);
});

test("a tool of the AI SDK that gives one result after the other is judged by its last", async () => {
  using folder = scratch({
    "post-tool-use.x.ts": `export default ({ result }) => ({ action: "modify", value: result.content + "?" });`,
  });
  const { Many } = (await hooksFor("ai-sdk", folder.path)).tools({
    Many: {
      async *execute(_input: object, _options: object): AsyncGenerator<string> {
        yield "first";
        yield "last";
      },
    },
  });
  assert.equal(await (Many.execute({}, {}) as unknown), "last?");
});

test("a hook that asks is a refusal in the AI SDK, and in OpenAI Agents a question to a person, asked once", async () => {
  using folder = scratch({
    "pre-tool-use.x.ts": `let n = 0; export default () => ({ action: "ask", reason: "sure? " + ++n });`,
  });
  const { Bash } = (await hooksFor("ai-sdk", folder.path)).tools({ Bash: bash });
  await assert.rejects(async () => await Bash.execute({ command: "ls" }, {}), { message: "sure? 1" });
  const ran: string[] = [];
  const [tool] = (await hooksFor("openai-agents", folder.path)).tools([agentTool(ran)]);
  assert.equal(await tool!.needsApproval({}, { command: "ls" }, "1"), true);
  assert.equal(await tool!.invoke({}, `{"command":"ls"}`, details("1")), "ran ls");
});

test("a hook that ends the run refuses the call and ends it: at the next model call of the AI SDK, at the call in OpenAI Agents", async () => {
  using folder = scratch({ "pre-tool-use.x.ts": `export default () => ({ action: "halt", reason: "ENOUGH" });` });
  const { tools, middleware } = await hooksFor("ai-sdk", folder.path);
  const params = { prompt: [{ role: "tool", content: [] }] };
  assert.deepEqual(await middleware.transformParams({ params }), params);
  await assert.rejects(async () => await tools({ Bash: bash }).Bash.execute({ command: "ls" }, {}), {
    name: "ToolDeniedError",
    message: "ENOUGH",
  });
  await assert.rejects(middleware.transformParams({ params }), { message: "A hook ended the run: ENOUGH" });
  const ran: string[] = [];
  const [tool] = (await hooksFor("openai-agents", folder.path)).tools([agentTool(ran)]);
  await assert.rejects(tool!.invoke({}, `{"command":"ls"}`, details("1")), { message: "A hook ended the run: ENOUGH" });
  assert.deepEqual(ran, []);
});

test("a prompt that a hook rewrites reads the same to the model at every step of the AI SDK", async () => {
  using folder = scratch({
    "user-prompt-submit.x.ts":
      `export default ({ prompt }) => prompt === "no" ? { action: "deny", reason: "NOT-THIS" } : { action: "modify", value: prompt + "!", context: "ON-MAIN" };`,
  });
  const { middleware } = await hooksFor("ai-sdk", folder.path);
  const user = (...texts: string[]) => ({ role: "user", content: texts.map((text) => ({ type: "text", text })) });
  const tool = { role: "tool", content: [] };
  const read = async (...prompt: { role: string; content: unknown[] }[]) =>
    (await middleware.transformParams({ params: { prompt } })).prompt;
  assert.deepEqual(await read(user("go")), [user("go!", "ON-MAIN")]);
  assert.deepEqual(await read(user("go"), tool), [user("go!", "ON-MAIN"), tool]);
  await assert.rejects(read(user("no")), { message: "A hook refused the prompt: NOT-THIS" });
});

test("Claude Agent SDK asks hooks about an edit of a notebook as an Edit, and who names its tool about that", async () => {
  const says = (tool: string) =>
    `export default ({ tool_name, input }, ctx) => { ctx.addContext("${tool} " + tool_name + " " + Object.keys(input)); };`;
  using folder = scratch({
    "pre-tool-use@Edit.10-rewrite.ts":
      `export default ({ input }) => ({ action: "modify", value: { ...input, new_string: "NEWER" } });`,
    "pre-tool-use@Edit.20-sees.ts": says("Edit"),
    "pre-tool-use@NotebookEdit.30-sees.ts": says("own"),
  });
  const hooks = await hooksFor("claude-agent-sdk", folder.path);
  const cell = { notebook_path: "/p/a.ipynb", new_source: "new" };
  const call = {
    session_id: "s",
    cwd: "/p",
    hook_event_name: "PreToolUse",
    tool_name: "NotebookEdit",
    tool_input: cell,
  };
  const { signal } = new AbortController();
  const { hookSpecificOutput } = await hooks.PreToolUse![0]!.hooks[0]!(call, undefined, { signal });
  assert.deepEqual(hookSpecificOutput, {
    hookEventName: "PreToolUse",
    updatedInput: { ...cell, new_source: "NEWER" },
    additionalContext: "Edit Edit file_path,new_string\nown NotebookEdit notebook_path,new_source",
  });
});

test("Claude Agent SDK gets one callback for each event, which asks all hooks in their order", async () => {
  using folder = scratch({
    "pre-tool-use@Bash.10-guard.ts": GUARD,
    "pre-tool-use@Bash.20-rewrite.ts": REWRITE,
    "pre-tool-use@Bash.30-rewrite.ts": REWRITE,
    "permission-request.ends.ts": `export default () => ({ action: "halt", reason: "STOP" });`,
    "stop.x.sh": "cat >/dev/null; echo 'go on' >&2; exit 2\n",
    "subagent-stop.x.ts": `export default ({ agent_type }) => ({ action: "deny", reason: agent_type });`,
  });
  const hooks = await hooksFor("claude-agent-sdk", folder.path);
  assert.deepEqual(Object.keys(hooks).sort(), ["PermissionRequest", "PreToolUse", "Stop", "SubagentStop"]);
  assert.deepEqual([hooks.PreToolUse![0]!.onFailure, hooks.Stop![0]!.onFailure], ["block", undefined]);
  const ask = async (hook_event_name: string, fields: object) => {
    const input = { session_id: "s", cwd: folder.path, hook_event_name, ...fields };
    return await hooks[hook_event_name]![0]!.hooks[0]!(input, undefined, { signal: new AbortController().signal });
  };
  const call = (command: string) => ask("PreToolUse", { tool_name: "Bash", tool_input: { command } });
  const specific = { hookEventName: "PreToolUse" };
  assert.deepEqual(await call("rm x"), {
    hookSpecificOutput: { ...specific, permissionDecision: "deny", permissionDecisionReason: "NO-RM" },
  });
  assert.deepEqual(await call("ls"), { hookSpecificOutput: { ...specific, updatedInput: { command: "ls!!" } } });
  assert.deepEqual(await ask("PreToolUse", { tool_name: "Read", tool_input: {} }), {});
  assert.deepEqual(await ask("PermissionRequest", { tool_name: "Read", tool_input: {} }), {
    hookSpecificOutput: {
      hookEventName: "PermissionRequest",
      decision: { behavior: "deny", message: "STOP", interrupt: true },
    },
  });
  assert.deepEqual(await ask("Stop", { stop_hook_active: false }), {
    decision: "block",
    reason: "[stop.x.sh]: go on\n",
  });
  assert.deepEqual(await ask("SubagentStop", { agent_id: "a", agent_type: "Explore" }), {
    decision: "block",
    reason: "Explore",
  });
});

test("what an SDK has no place for is refused by name", async () => {
  using folder = scratch({ "iteration.x.ts": GUARD, "stop.y.ts": GUARD, "pre-tool-use@Bash.z.ts": GUARD });
  for (
    const [sdk, lost] of [
      ["claude-agent-sdk", ["iteration.x.ts: iteration"]],
      ["ai-sdk", ["iteration.x.ts: iteration", "stop.y.ts: stop"]],
      ["openai-agents", ["iteration.x.ts: iteration", "stop.y.ts: stop"]],
    ] as const
  ) {
    const message = [
      `Cannot use these hooks as ${sdk} has no place for them: move them to another folder`,
      ...lost.map((line) => `  ${line}`),
    ].join("\n");
    await assert.rejects(hooksFor(sdk, folder.path), { name: "TypeError", message });
  }
  await assert.rejects(async () => await hooksFor("langchain" as "ai-sdk", folder.path), /that SDK is not known/);
});

test("a tool that the SDK does not run in this program is refused if a hook would have to judge it", async () => {
  using folder = scratch({ "pre-tool-use@web_search.x.ts": GUARD });
  const why = (sdk: string) =>
    `Cannot guard 'web_search' with pre-tool-use@web_search.x.ts as ${sdk} does not run that tool in this program: take the tool or the hook out`;
  const ai = await hooksFor("ai-sdk", folder.path);
  assert.throws(() => ai.tools({ web_search: {} }), { message: why("ai-sdk") });
  assert.deepEqual(ai.tools({ other: {} }), { other: {} });
  const agents = await hooksFor("openai-agents", folder.path);
  const hosted = (name: string) => ({ type: "hosted_tool", name });
  assert.throws(() => agents.tools([hosted("web_search")]), { message: why("openai-agents") });
  assert.deepEqual(agents.tools([hosted("other")]), [hosted("other")]);
});
