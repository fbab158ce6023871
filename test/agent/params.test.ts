import assert from "node:assert/strict";
import { test } from "node:test";
import {
  agent,
  type AgentOptions,
  anthropic,
  type Block,
  context,
  type ModelEvent,
  type RunOptions,
  tool,
} from "crochet";
import { scripted, type ScriptedReply, scriptedServer } from "crochet/testing";
import { Agent, agentTool } from "crochet/tools";
import type { ModelRequest, RawBlock } from "../../lib/core/model.ts";

const asked = ({ max_tokens, effort, params }: ModelRequest) => ({ max_tokens, effort, params });
const echo = tool({
  name: "Echo",
  description: "Says it",
  input: { type: "object" },
  effect: "none",
  run: () => "said",
});
const call = (name: string, input = {}): ScriptedReply => ({ tools: [{ name, input }] });
const PICTURE: Block = { type: "image", source: { type: "base64", media_type: "image/png", data: "AAAA" } };

const WRONG: readonly [options: unknown, why: RegExp][] = [
  ...["model", "messages", "system", "tools", "stream", "max_tokens", "effort", "headers", "thread"].map((param) =>
    [{ params: { [param]: "x" } }, new RegExp(`'${param}' is not for params: `)] as [unknown, RegExp]
  ),
  [{ params: [] }, /'params' must be an object/],
  [{ params: { betas: "files-api" } }, /params\.betas must be a list of texts: current value is "files-api"/],
  [{ maxTokens: 0 }, /'maxTokens' must be a whole number above 0: current value is 0/],
  [{ effort: "hard" }, /'effort' must be "low" or "medium" or "high" or "xhigh" or "max"/],
  [{ effort: "high", params: { output_config: { effort: "low" } } }, /both given: keep one of them/],
  [{ compact: { at: -1 } }, /'compact' must be true, false or { at: tokens }/],
];

for (const [options, why] of WRONG) {
  test(`${JSON.stringify(options)} is refused before anything begins`, async () => {
    const model = scripted([]);
    assert.throws(() => agent({ model, ...options as AgentOptions }), why);
    await assert.rejects(agent({ model }).run("go", options as RunOptions), why);
    assert.equal(model.requests.length, 0);
  });
}

test("a run's parameters are merged by key over the agent's, and a prompt's over both", async () => {
  const model = scripted([], { then: { text: "ok" } });
  const helper = agent({
    model,
    maxTokens: 100,
    params: { thinking: { type: "adaptive" }, betas: ["a"], made_up: { x: 1 } },
  });
  await helper.run("one");
  await helper.run("two", { effort: "low", maxTokens: 7, params: { betas: ["b"], made_up: 2 } });
  const session = await helper.open({ params: { speed: "fast" } });
  await session.prompt("three", { params: { thinking: { type: "disabled" } }, effort: "max" });
  await session.prompt("four");
  await assert.rejects(session.prompt("five", { params: { model: "x" } }), /'model' is not for params/);
  await session.close();
  const base = { thinking: { type: "adaptive" }, betas: ["a"], made_up: { x: 1 } };
  assert.deepEqual(model.requests.map(asked), [
    { max_tokens: 100, effort: undefined, params: base },
    { max_tokens: 7, effort: "low", params: { ...base, betas: ["b"], made_up: 2 } },
    { max_tokens: 100, effort: "max", params: { ...base, speed: "fast", thinking: { type: "disabled" } } },
    { max_tokens: 100, effort: undefined, params: { ...base, speed: "fast" } },
  ]);
});

test("without options nothing is asked but 32,000 tokens at most", async () => {
  const model = scripted([{ text: "ok" }]);
  await agent({ model }).run("go");
  assert.deepEqual(asked(model.requests[0]!), { max_tokens: 32_000, effort: undefined, params: undefined });
});

test("an agent below another asks as its parent does, unless it names another model", async () => {
  const other = agentTool({ agents: { other: { description: "another model", model: "other" } } });
  const start = (subagent_type?: string) =>
    call("Agent", { description: "d", prompt: "task", ...(subagent_type && { subagent_type }) });
  const model = scripted([start(), { text: "1" }, start("other"), { text: "2" }, { text: "done" }]);
  await agent({ model, tools: [other], effort: "low", params: { top_k: 1 } }).run("go", { maxTokens: 50 });
  const parents = { max_tokens: 50, effort: "low", params: { top_k: 1 } };
  assert.deepEqual(model.requests.map(asked), [
    parents,
    parents,
    parents,
    { max_tokens: 32_000, effort: undefined, params: undefined },
    parents,
  ]);
});

test("a forced tool is forced in the first call of a turn alone: forced in each, no turn would end", async () => {
  const model = scripted([call("Echo"), { text: "a" }, { text: "b" }, { text: "c" }]);
  let stops = 0;
  const helper = agent({
    model,
    tools: [echo],
    hooks: { stop: [() => stops++ === 0 ? { action: "deny", reason: "more" } : undefined] },
    params: { tool_choice: { type: "any", disable_parallel_tool_use: true }, top_k: 1 },
  });
  const session = await helper.open();
  await session.prompt("one");
  await session.prompt("two");
  await session.close();
  const auto = { type: "auto", disable_parallel_tool_use: true };
  const any = { type: "any", disable_parallel_tool_use: true };
  assert.deepEqual(model.requests.map(({ params }) => params?.tool_choice), [any, auto, auto, any]);
  assert.ok(model.requests.every(({ params }) => params?.top_k === 1));
});

test("on the wire effort is part of output_config, betas are a header, and all else is sent as it is", async () => {
  await using server = await scriptedServer([{ text: "ok" }, { text: "ok" }]);
  const model = anthropic({
    apiKey: "k",
    baseURL: server.url,
    headers: { "Anthropic-Beta": "always" },
    cache: "1h",
  });
  const params = { betas: ["one", "two"], thinking: { type: "adaptive" }, made_up: [1] } as const;
  const format = { type: "json_schema", schema: { type: "object" } } as const;
  await agent({ model, effort: "xhigh", maxTokens: 9, params: { ...params, output_config: { format } } }).run("go");
  await agent({ model }).run("go");
  const [one, two] = server.requests;
  const { messages, model: _, stream: __, ...sent } = one!.body as { [key: string]: unknown };
  assert.deepEqual(sent, {
    max_tokens: 9,
    thinking: { type: "adaptive" },
    made_up: [1],
    output_config: { format, effort: "xhigh" },
  });
  assert.deepEqual((messages as any)[0].content[0].cache_control, { type: "ephemeral", ttl: "1h" });
  assert.deepEqual([one, two].map((r) => r!.headers["anthropic-beta"]), ["always,one,two", "always"]);
});

test("middleware reads the body as a text and may change it", async () => {
  await using server = await scriptedServer([{ text: "ok" }]);
  const model = anthropic({
    apiKey: "k",
    baseURL: server.url,
    middleware: [(sent, next) => next({ ...sent, body: (sent.body as string).replace("héllo", "hallo") })],
  });
  await agent({ model }).run("héllo");
  assert.deepEqual((server.requests[0]!.body as any).messages[0].content[0].text, "hallo");
});

test("the API's own tools are sent as they are, after ours; those that run here have a type and no schema", async () => {
  const search = { type: "web_search_20260318", name: "web_search", max_uses: 5 };
  const toolset = { type: "mcp_toolset", mcp_server_name: "docs" };
  const memory = { type: "memory_20250818", name: "memory", run: (input: unknown) => JSON.stringify(input) };
  await using server = await scriptedServer([call("memory", { command: "view" }), call("web_search"), { text: "ok" }]);
  const model = anthropic({ apiKey: "k", baseURL: server.url, cache: false });
  const { messages } = await agent({ model, tools: [search, memory, toolset, echo] }).run("go");
  assert.deepEqual((server.requests[0]!.body as any).tools, [
    { type: "memory_20250818", name: "memory" },
    { name: "Echo", description: "Says it", input_schema: { type: "object" } },
    search,
    toolset,
  ]);
  const results = messages.flatMap(({ content }) => content.filter(({ type }) => type === "tool_result")) as any[];
  assert.equal(results[0].content, '{"command":"view"}');
  assert.match(results[1].content, /no tool|unknown|web_search/i);
  assert.throws(() => agent({ tools: [search, search] }), /two of its tools are named 'web_search'/);
  assert.throws(() => agent({ tools: [{ name: "x", run: () => "" }] }), /not a schema/);
});

test("the API's own tools are those of agents below, too, unless their kind names its tools", async () => {
  const search = { type: "web_search_20260318", name: "web_search" };
  const model = scripted([call("Agent", { description: "d", prompt: "task" }), { text: "1" }, { text: "done" }]);
  await agent({ model, tools: [Agent, search] }).run("go");
  assert.deepEqual(model.requests.map(({ tools }) => tools.map(({ name }) => name)), [
    ["Agent", "web_search"],
    ["Agent", "web_search"],
    ["Agent", "web_search"],
  ]);
});

const events = (blocks: Block[], stop_reason: string, container?: string): ScriptedReply => ({
  events: [
    { type: "message_start", message: { ...(container && { container: { id: container } }) } },
    ...blocks.flatMap((content_block, index): ModelEvent[] => [
      { type: "content_block_start", index, content_block: content_block as RawBlock },
      { type: "content_block_stop", index },
    ]),
    { type: "message_delta", delta: { stop_reason } },
    { type: "message_stop" },
  ],
});

test("the container of a reply is named by every later request, beside its skills", async () => {
  const model = scripted([
    events([{ type: "text", text: "a" }], "pause_turn", "c1"),
    events([{ type: "text", text: "b" }], "end_turn"),
    events([{ type: "text", text: "c" }], "end_turn", "c2"),
    { text: "d" },
  ]);
  const skills = [{ type: "anthropic", skill_id: "xlsx" }];
  const session = await agent({ model }).open();
  await session.prompt("one");
  await session.prompt("two", { params: { container: { skills } } });
  await session.prompt("three");
  await session.close();
  assert.deepEqual(model.requests.map(({ params }) => params?.container), [
    undefined,
    "c1",
    { skills, id: "c1" },
    "c2",
  ]);
});

test("pause_turn and compaction go on, with the reply as it came", async () => {
  const summary: Block = { type: "compaction", content: "so far" };
  await using server = await scriptedServer([
    events([{ type: "text", text: "a" }], "pause_turn"),
    events([summary], "compaction"),
    { text: "end" },
  ]);
  const { stop, text, messages } = await agent({ model: anthropic({ apiKey: "k", baseURL: server.url }) }).run("go");
  assert.deepEqual([stop, text, server.requests.length], ["done", "aend", 3]);
  assert.deepEqual(messages.map(({ role, content }) => [role, content.map(({ type }) => type).join()]), [
    ["user", "text"],
    ["assistant", "text,compaction,text"],
  ]);
  assert.deepEqual((server.requests[2]!.body as any).messages[1].content[1], summary);
});

test("beside a tool that the API has yet to answer there are results alone; what hooks say waits", async () => {
  const server: Block = { type: "server_tool_use", id: "srv1", name: "web_search", input: {} };
  const own: Block = { type: "tool_use", id: "own1", name: "Echo", input: {} };
  const answer: Block = { type: "web_search_tool_result", tool_use_id: "srv1", content: [] };
  const model = scripted([
    events([server, own], "tool_use"),
    events([answer, { type: "tool_use", id: "own2", name: "Echo", input: {} }], "tool_use"),
    { text: "end" },
  ]);
  await agent({
    model,
    tools: [echo],
    hooks: {
      postToolUse: [() => context("after the tool")],
      iteration: [({ iteration }) => iteration === 1 ? context("before the call") : undefined],
    },
  }).run("go");
  const last = model.requests.map(({ messages }) =>
    messages.at(-1)!.content.map((b) => b.type === "text" ? b.text : b.type)
  );
  assert.deepEqual(last[1], ["tool_result"]);
  assert.deepEqual(last[2]!.map((words) => /tool_result|after the tool|before the call/.exec(words as string)?.[0]), [
    "tool_result",
    "after the tool",
    "before the call",
    "after the tool",
  ]);
});

test("a prompt may be blocks: hooks read its texts, and what they make of them stands for all", async () => {
  const model = scripted([], { then: { text: "ok" } });
  const seen: unknown[] = [];
  const helper = agent({
    model,
    hooks: {
      userPromptSubmit: [({ prompt }) => {
        seen.push(prompt);
        return prompt === "change" ? { action: "modify", value: "changed" } : undefined;
      }],
    },
  });
  const prompts = [
    [{ type: "text", text: "look" }, PICTURE, { type: "text", text: "here" }],
    [PICTURE, { type: "text", text: "change" }],
    [PICTURE],
  ];
  const { id, messages } = await helper.run(prompts[0]!);
  await helper.run(prompts[1]!);
  await helper.run(prompts[2]!);
  await helper.fork(id, [PICTURE]);
  assert.deepEqual(seen, ["look\nhere", "change", "", ""]);
  assert.deepEqual(model.requests.map((request) => request.messages.at(-1)!.content), [
    prompts[0],
    [PICTURE, { type: "text", text: "changed" }],
    [PICTURE],
    [PICTURE],
  ]);
  assert.deepEqual(messages[0]!.content, prompts[0]);
  for (const wrong of [[], [1], { type: "text" }, undefined]) {
    await assert.rejects(helper.run(wrong as never), /is neither a text nor a list of blocks/);
  }
});
