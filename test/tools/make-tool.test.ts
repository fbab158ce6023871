import { betaTool } from "@anthropic-ai/sdk/helpers/beta/json-schema";
import { betaZodTool } from "@anthropic-ai/sdk/helpers/beta/zod";
import { betaAgentToolset20260401 } from "@anthropic-ai/sdk/tools/agent-toolset/node";
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { z } from "zod";
import { thaw } from "../../lib/core/json.ts";
import { frozen } from "../../lib/log/stores/memory-store.ts";
import { findTool, type Tool, ToolError } from "../../lib/core/tool.ts";
import { asTool, type RunnableTool, tool } from "../../lib/tools/make-tool.ts";
import { deny } from "../../lib/core/verdict.ts";
import { agent } from "../../lib/index.ts";
import { scripted } from "../../lib/testing/index.ts";
import { scratch } from "../_scratch.ts";
import { results, stage } from "../core/_stage.ts";

const NAME = { name: "T", description: "A tool." };
const run = () => "ran";

/** Has a scripted model call one tool once, and gives the tool's answer as the model read it. */
async function called(given: Tool | RunnableTool, input: unknown): Promise<{ content: unknown; is_error: boolean }> {
  const used = asTool(given);
  const model = scripted([{ tools: [{ name: used.name, input }] }, { text: "done" }]);
  const result = await stage({ model, tools: [used] }).run();
  assert.equal(result.stop, "done");
  return results(result.messages)[0]!;
}

test("tool() takes plain JSON Schema and gives it to the model as it is", async () => {
  const input = { type: "object", properties: { n: { type: "integer", minimum: 1 } }, required: ["n"] } as const;
  const double = tool<{ n: number }>({ ...NAME, input, effect: "none", run: ({ n }) => String(n * 2) });
  assert.equal(double.input_schema, input);
  assert.deepEqual(await called(double, { n: 4 }), { content: "8", is_error: false });
});

test("input is checked against the schema before anything runs, and the model reads what is wrong", async () => {
  const input = {
    type: "object",
    properties: {
      n: { type: "integer", minimum: 1 },
      list: { type: "array", items: { type: "object", properties: { a: { type: "string" } }, required: ["a"] } },
    },
    required: ["n"],
    additionalProperties: false,
  };
  const strict = tool({ ...NAME, input, run });
  const rows: [unknown, RegExp][] = [
    [{}, /^Cannot call T as its input is not valid: .*"?n"?/],
    [{ n: "4" }, /n: /],
    [{ n: 0 }, /n: /],
    [{ n: 1, list: [{ a: "x" }, { a: 5 }] }, /list\.1\.a: /],
    [{ n: 1, other: true }, /: other: There is no such property: there are n, list$/],
  ];
  for (const [given, message] of rows) {
    const { content, is_error } = await called(strict, given);
    assert.equal(is_error, true);
    assert.match(String(content), message);
  }
});

test("tool() takes a zod schema: its JSON Schema for the model, its parse for the input", async () => {
  const greet = tool({
    ...NAME,
    input: z.object({ name: z.string().min(2), times: z.number().int().default(1) }),
    run: ({ name, times }) => `hi ${name}`.repeat(times),
  });
  const { type, properties, required } = greet.input_schema as Record<string, unknown>;
  assert.equal(type, "object");
  assert.deepEqual(Object.keys(properties as object), ["name", "times"]);
  assert.deepEqual(required, ["name"]);
  assert.equal("$schema" in greet.input_schema, false);
  assert.deepEqual(await called(greet, { name: "Al" }), { content: "hi Al", is_error: false });
  const { content } = await called(greet, { name: "A" });
  assert.match(String(content), /^Cannot call T as its input is not valid: name: /);
});

test("an invalid schema is refused when the tool is made, with the place", () => {
  const rows: [unknown, RegExp][] = [
    [undefined, /expected a JSON Schema object or a zod schema/],
    ["object", /expected a JSON Schema object/],
    [[], /expected a JSON Schema object/],
    [{}, /type must be "object", current value is undefined/],
    [{ type: "string" }, /type must be "object", current value is "string"/],
    [
      { type: "object", properties: { a: { type: "text" } } },
      /input\.properties\.a\.type "text" is not one of object, /,
    ],
    [{ type: "object", properties: { a: "string" } }, /input\.properties\.a must be a schema object/],
    [{ type: "object", properties: [], required: "a" }, /input\.required must be a list of names/],
    [{ type: "object", properties: { a: { items: 5 } } }, /input\.properties\.a\.items must be a schema object/],
    [{ type: "object", properties: { a: { enum: "x" } } }, /input\.properties\.a\.enum must be a list/],
    [z.string(), /type must be "object"/],
    [{ "~standard": { validate: () => ({ value: 1 }) } }, /its schema cannot be turned into JSON Schema: use zod 4\.2/],
  ];
  for (const [input, message] of rows) {
    assert.throws(() => tool({ ...NAME, input: input as never, run }), (error: Error) => {
      assert.equal(error.name, "TypeError");
      assert.match(error.message, /^Cannot make tool 'T' as its /);
      assert.match(error.message, message);
      return true;
    });
  }
});

test("a tool without a usable name, effect or function is refused", () => {
  const input = { type: "object" };
  for (const name of ["", "a b", "ä", "x".repeat(129), 5 as never]) {
    assert.throws(() => tool({ name, description: "", input, run }), /its name must be 1 to 128 letters, digits/);
  }
  assert.throws(
    () => tool({ ...NAME, input, run, effect: "maybe" as never }),
    /Cannot make tool 'T' as 'effect' must be "none" or "read" or "write": current value is "maybe"/,
  );
  assert.throws(() => tool({ ...NAME, input, run: "x" as never }), /Cannot make tool 'T' as 'run' must be a function/);
  assert.equal(tool({ ...NAME, input, run }).effect, "write");
});

test("prepare makes the input plain before hooks see it", async () => {
  const seen: unknown[] = [];
  const read = tool<{ file: string }>({
    name: "Read",
    description: "Reads.",
    input: { type: "object", properties: { file: { type: "string" } } },
    effect: "read",
    prepare: (input, { cwd }) => ({ file: join(cwd, input.file) }),
    run: ({ file }) => file,
  });
  const model = scripted([{ tools: [{ name: "Read", input: { file: "a.txt" } }] }, { text: "done" }]);
  const { messages } = await stage({
    model,
    tools: [read],
    hooks: { preToolUse: (e) => void seen.push(e.input) },
  }).run();
  assert.deepEqual(seen, [{ file: "/srv/a.txt" }]);
  assert.equal(results(messages)[0]!.content, "/srv/a.txt");
});

test("a tool answers to its aliases, its own name first", () => {
  const input = { type: "object" };
  const agentTool = tool({ name: "Agent", description: "", input, run, aliases: ["Task"] });
  const task = tool({ name: "Task", description: "", input, run });
  assert.equal(findTool([agentTool], "Task"), agentTool);
  assert.equal(findTool([agentTool, task], "Task"), task);
  assert.equal(findTool([agentTool], "task"), undefined);
});

test("a ToolError is for the model, and hooks read its structure", async () => {
  const seen: unknown[] = [];
  const bad = tool({
    ...NAME,
    input: { type: "object" },
    run: () => {
      throw new ToolError("String not found", { code: "not_found", response: { count: 0 } });
    },
  });
  const model = scripted([{ tools: [{ name: "T" }] }, { text: "done" }]);
  const { messages } = await stage({
    model,
    tools: [bad],
    hooks: { postToolUseFailure: (e) => void seen.push([e.error, e.result.response]) },
  }).run();
  assert.deepEqual(results(messages), [{ content: "String not found", is_error: true }]);
  assert.deepEqual(seen, [["String not found", { count: 0 }]]);
});

test("a tool gets its directory, its ids and its signal, and may show progress", async () => {
  const told: unknown[] = [];
  const keys: string[] = [];
  const look = tool({
    ...NAME,
    input: { type: "object" },
    run: (_, ctx) => {
      ctx.progress("half");
      const { cwd, toolUseId, agentId, sessionId, idempotencyKey, toolUse, signal } = ctx;
      told.push({ cwd, toolUseId, agentId, sessionId, toolUse, aborted: signal.aborted });
      keys.push(idempotencyKey);
      ctx.state.set("n", Number(ctx.state.get("n") ?? 0) + 1);
      return String(ctx.state.get("n"));
    },
  });
  const model = scripted([{ tools: [{ name: "T" }] }, { tools: [{ name: "T", id: "toolu_scripted_0001" }] }, {
    text: "x",
  }]);
  const s = stage({ model, tools: [look] });
  const { messages } = await s.run();
  assert.deepEqual(told[0], {
    cwd: "/srv",
    toolUseId: "toolu_scripted_0001",
    agentId: "session-1",
    sessionId: "session-1",
    toolUse: { type: "tool_use", id: "toolu_scripted_0001", name: "T", input: {} },
    aborted: false,
  });
  assert.deepEqual(keys, ["", "#2"].map((again) => `tool:session-1:0.1:T:toolu_scripted_0001${again}`));
  assert.deepEqual(results(messages).map((r) => r.content), ["1", "2"]);
  assert.equal(s.events.filter((e) => e.type === "tool_progress").length, 2);
});

test("the SDK's betaZodTool plugs in unchanged, hooks and all", async () => {
  const weather = betaZodTool({
    name: "get_weather",
    description: "The weather.",
    inputSchema: z.object({ city: z.string(), unit: z.enum(["c", "f"]).default("c") }),
    run: ({ city, unit }) => `${city}: 20 ${unit}`,
  });
  assert.deepEqual(await called(weather, { city: "Bern" }), { content: "Bern: 20 c", is_error: false });
  assert.equal((await called(weather, { city: 5 })).is_error, true);
  const model = scripted([{ tools: [{ name: "get_weather", input: { city: "Bern" } }] }, { text: "done" }]);
  const result = await agent({ model, tools: [weather], hooks: { preToolUse: () => deny("no") } }).run("go");
  assert.equal(result.denials[0]!.tool_name, "get_weather");
});

test("the SDK's betaTool of plain JSON Schema plugs in unchanged", async () => {
  const add = betaTool({
    name: "add",
    description: "Adds.",
    inputSchema: {
      type: "object",
      properties: { a: { type: "number" }, b: { type: "number" } },
      required: ["a", "b"],
    },
    run: ({ a, b }) => [{ type: "text", text: String(a + b) }],
  });
  assert.deepEqual(await called(add, { a: 1, b: 2 }), { content: [{ type: "text", text: "3" }], is_error: false });
  const { content, is_error } = await called(add, { a: 1 });
  assert.equal(is_error, true);
  assert.match(String(content), /its input is not valid/);
});

test("the SDK's own file tools plug in unchanged: a scripted model reads and edits a real file", async () => {
  using folder = scratch();
  const file = join(folder.path, "a.txt");
  writeFileSync(file, "hello world\n");
  const tools = betaAgentToolset20260401({ workdir: folder.path }).filter((t) =>
    t.name === "read" || t.name === "edit"
  );
  assert.equal(tools.length, 2);
  const model = scripted([
    { tools: [{ name: "read", input: { file_path: "a.txt" } }] },
    { tools: [{ name: "edit", input: { file_path: "a.txt", old_string: "world", new_string: "there" } }] },
    { tools: [{ name: "edit", input: { file_path: "a.txt", old_string: "nowhere", new_string: "x" } }] },
    { text: "done" },
  ]);
  const result = await agent({ model, tools }).run("greet");
  assert.equal(result.stop, "done");
  const [read, edit, miss] = results(result.messages);
  assert.match(JSON.stringify(read!.content), /hello world/);
  assert.equal(edit!.is_error, false);
  assert.equal(miss!.is_error, true);
  assert.equal(readFileSync(file, "utf8"), "hello there\n");
  model.done();
});

test("a value that is not a tool is refused", () => {
  assert.throws(() => asTool({} as never), /Cannot use a value as a tool as it has no 'run' function/);
  assert.throws(() => asTool(null as never), /Cannot use a value as a tool/);
  assert.throws(() => asTool({ name: "x", run } as never), /Cannot make tool 'x' as its input is not a schema/);
  assert.throws(() => asTool({ name: "x y", run, input_schema: { type: "object" } } as never), /its name must be/);
});

test("a foreign tool's result is text or blocks; anything else is shown as JSON, and nothing is an error", async () => {
  const foreign = (value: unknown) => ({ ...NAME, input_schema: { type: "object" }, run: () => value });
  assert.equal((await called(foreign({ a: 1 }), {})).content, '{"a":1}');
  assert.equal((await called(foreign(undefined), {})).is_error, true);
});

test("a tool's result that is neither text nor blocks, nor has such content, is an error that says so", async () => {
  for (const value of [undefined, 5, { a: 1 }, [{}], [null], ["text"], [{ type: 5 }], { content: [{}] }]) {
    const { content, is_error } = await called(
      tool({ ...NAME, input: { type: "object" }, run: () => value as never }),
      {},
    );
    assert.equal(is_error, true, JSON.stringify(value));
    assert.match(String(content), /^Cannot use the tool's result as it is not a text, not a list of blocks/);
  }
});

test("a field named __proto__ in a model's input never becomes input that rules and hooks did not see", async () => {
  const input = { type: "object", properties: { place: { type: "string" }, list: { type: "array" } } };
  const place = tool<{ place?: string }>({ ...NAME, input, run: ({ place = "nowhere" }) => place });
  const hostile = JSON.parse('{"list":[],"__proto__":{"place":"/etc"}}');
  assert.deepEqual(await called(place, hostile), { content: "nowhere", is_error: false });
  assert.equal(JSON.stringify(thaw(hostile)), JSON.stringify(hostile));
  assert.ok(Object.isFrozen(frozen(hostile)));
  assert.equal(({} as { place?: string }).place, undefined);
});
