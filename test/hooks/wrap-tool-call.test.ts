import * as crochet from "../../lib/index.ts";
import assert from "node:assert/strict";
import { test } from "node:test";
import type { AnyEvent } from "../../lib/core/events.ts";
import { ask, deny, halt, modify } from "../../lib/core/verdict.ts";
import { expectEvent } from "../../lib/input/nearest.ts";
import type { CodeHooks } from "../../lib/hooks/code-hooks.ts";
import { readDefinition } from "../../lib/hooks/read-answer.ts";
import { HookRegistry, sessionHooks } from "../../lib/hooks/registry.ts";
import { ToolDeniedError, wrapToolCall } from "../../lib/hooks/wrap-tool-call.ts";
import type { HookConfig, HookMatcher, HookResult, HookType } from "../../lib/index.ts";
import { record } from "../core/_stage.ts";

/** A registry that writes down all it is told. */
function listening(...more: CodeHooks[]): { hooks: HookRegistry; told: AnyEvent[] } {
  const told: AnyEvent[] = [];
  return { hooks: new HookRegistry().register({ onEvent: (e) => void told.push(e) }, ...more), told };
}

test("S3.31: without hooks wrapToolCall() just calls the tool", async () => {
  assert.equal(await wrapToolCall(null, "s", "Bash", { command: "ls" }, ({ command }) => `ran ${command}`), "ran ls");
});

test("S3.32: wrapToolCall() fires an event before the call, with the session's id", async () => {
  const { hooks, told } = listening();
  await wrapToolCall(hooks, { session_id: "s1" }, "Bash", { command: "ls" }, () => "out");
  assert.partialDeepStrictEqual(told[0], {
    event: "pre-tool-use",
    tool_name: "Bash",
    input: { command: "ls" },
    session_id: "s1",
  });
});

test("S3.32, S3.39: a denied call throws ToolDeniedError with the reason; the tool is not called and no event fires after", async () => {
  const rows: [unknown, string][] = [
    [deny("no rm"), "no rm"],
    [{ Block: "no rm" }, "no rm"],
    [deny(""), "Tool call denied by hook"],
    [{ action: "deny" }, "Denied by hook code:1#0"],
    [ask("sure?"), "sure?"],
    [halt("enough"), "enough"],
    [halt(), "Denied by hook code:1#0"],
  ];
  for (const [answer, message] of rows) {
    let ran = false;
    const { hooks, told } = listening();
    hooks.register((e) => e.event === "pre-tool-use" ? answer as never : undefined);
    const call = wrapToolCall(hooks, "s", "Bash", {}, () => void (ran = true));
    await assert.rejects(call, (error) => error instanceof ToolDeniedError && error.message === message);
    assert.equal(ran, false);
    assert.deepEqual(told.map((e) => e.event), ["pre-tool-use"]);
  }
});

test("S3.32: ctx.abort refuses the call too", async () => {
  const hooks = new HookRegistry().register({ onEvent: (_, ctx) => ctx.abort("stop everything") });
  await assert.rejects(wrapToolCall(hooks, "s", "Bash", {}, () => 1), /stop everything/);
});

/** A hook as a definition of the third seed compiles to one. */
function definition(answer: unknown) {
  return record({
    name: "definition",
    on: [expectEvent("PreToolUse")],
    lenient: true,
    dialect: "definition",
    run: () => answer,
    read: (raw, e) => readDefinition(raw, e.event),
  });
}

test("S3.33: modified_data.args replace the arguments; without that key they stay", async () => {
  const rows: [unknown, unknown][] = [
    [{ action: "modify", modified_data: { args: { command: "pwd" } } }, { command: "pwd" }],
    [{ action: "modify", modified_data: { other: 1 } }, { command: "ls" }],
    [{ action: "modify" }, { command: "ls" }],
  ];
  for (const [answer, expected] of rows) {
    const hooks = new HookRegistry().register(definition(answer));
    assert.deepEqual(await wrapToolCall(hooks, "s", "Bash", { command: "ls" }, (args) => args), expected);
  }
});

test("S3.34: after the call an event always fires, with the input and the result", async () => {
  const { hooks, told } = listening({ preToolUse: () => modify({ command: "pwd" }) });
  await wrapToolCall(hooks, "s1", "Bash", { command: "ls" }, () => ({ out: "x" }));
  const after = told[1] as AnyEvent & { event: "post-tool-use" };
  assert.partialDeepStrictEqual(after, {
    event: "post-tool-use",
    tool_name: "Bash",
    session_id: "s1",
    input: { command: "pwd" },
    original_input: { command: "ls" },
    outcome: "success",
    failed: false,
    error: null,
    result: { content: '{"out":"x"}', is_error: false, response: { out: "x" } },
  });
  assert.equal(typeof after.duration_ms, "number");
});

test("S3.34: a tool's exception is thrown again, the same one, after hooks saw it", async () => {
  const { hooks, told } = listening();
  const broken = new RangeError("too far");
  await assert.rejects(
    wrapToolCall(hooks, "s", "Bash", {}, () => {
      throw broken;
    }),
    (error) => error === broken,
  );
  assert.partialDeepStrictEqual(told[1], {
    event: "post-tool-use",
    outcome: "failure",
    failed: true,
    error: "too far",
  });
});

test("the tool may change its arguments: they are the host's own, or its own after a rewrite", async () => {
  const push = (args: { list: number[] }) => (args.list.push(2), args);
  const args = { list: [1] };
  await wrapToolCall(new HookRegistry().register({ onEvent: () => undefined }), "s", "T", args, push);
  assert.deepEqual(args, { list: [1, 2] });
  const rewriting = new HookRegistry().register({ preToolUse: () => modify({ list: [0] }) });
  assert.deepEqual(await wrapToolCall(rewriting, "s", "T", args, push), { list: [0, 2] });
  assert.deepEqual(args, { list: [1, 2] });
});

test("S3.35: without hooks every moment of a session is a no-op", async () => {
  const life = sessionHooks(null, "s");
  await life.onSessionStart();
  await life.onSessionEnd(1, "done");
  await life.onError(new Error("x"));
  await life.onCheckpoint("c");
  await life.onMemoryUpdate("AGENTS.md");
  assert.equal(await life.onModelSwitch("old", "new"), "new");
});

test("S3.35, S3.39: each moment of a session fires its event with what the host knows", async () => {
  const { hooks, told } = listening();
  const life = sessionHooks(hooks, { id: "s1" });
  await life.onSessionStart({ profile: "ci", config: { a: 1 } });
  await life.onSessionEnd(1200, "done");
  await life.onError(new RangeError("too far"), "Bash");
  await life.onError(new Error("x"));
  await life.onCheckpoint("c1", { checkpoint_type: "manual", message_count: 4 });
  await life.onModelSwitch("old", "new", { reason: "cost", triggered_by: "automatic" });
  await life.onMemoryUpdate("AGENTS.md", "created", { content_size: 7 });
  assert.ok(told.every((e) => e.session_id === "s1"));
  const expected = [
    { event: "session-start", profile: "ci", config: { a: 1 } },
    { event: "session-end", duration_ms: 1200, reason: "done" },
    { event: "error", error_type: "RangeError", error_message: "too far", tool: "Bash", severity: "error" },
    { event: "error", tool: null },
    { event: "checkpoint", checkpoint_id: "c1", checkpoint_type: "manual", message_count: 4 },
    { event: "model-switch", old_model: "old", new_model: "new", reason: "cost", triggered_by: "automatic" },
    { event: "memory-update", file_path: "AGENTS.md", update_type: "created", content_size: 7 },
  ];
  assert.equal(told.length, expected.length);
  for (const [i, e] of expected.entries()) assert.partialDeepStrictEqual(told[i], e);
});

test("S3.4, S3.35: onError gives back that a hook refuses, or asks for another try", async () => {
  const reply = (answer: unknown) =>
    sessionHooks(new HookRegistry().register({ error: (() => answer) as never }), "s").onError(new Error("x"));
  assert.deepEqual(await reply(undefined), { denied: false, retry: false });
  assert.deepEqual(await reply(deny("three in a row")), { denied: true, reason: "three in a row", retry: false });
  assert.deepEqual(await reply(modify(true)), { denied: false, retry: true });
  assert.deepEqual(await reply(modify(false)), { denied: false, retry: false });
  const aborting = new HookRegistry().register({ error: (_, ctx) => ctx.abort("enough") });
  assert.deepEqual(await sessionHooks(aborting, "s").onError(new Error("x")), {
    denied: true,
    reason: "enough",
    retry: false,
  });
});

test("S3.8, C16: a model switch can be refused: the old model is kept; or changed to another", async () => {
  const policy = (answer: unknown) =>
    sessionHooks(
      new HookRegistry().register({ modelSwitch: (e) => e.new_model.includes("opus") ? answer as never : undefined }),
      "s",
    );
  assert.equal(await policy(deny("too dear")).onModelSwitch("haiku", "opus"), "haiku");
  assert.equal(await policy(ask("sure?")).onModelSwitch("haiku", "opus"), "haiku");
  assert.equal(await policy(modify("sonnet")).onModelSwitch("haiku", "opus"), "sonnet");
  assert.equal(await policy(deny("too dear")).onModelSwitch(null, "sonnet"), "sonnet");
});

test("S3.41: the package exports what the third seed's does: manager, wrappers, error, events and definitions", async () => {
  const { definitions, EVENTS, HookRegistry, sessionHooks, ToolDeniedError, wrapToolCall } = crochet;
  const deniesBash: HookConfig = {
    name: "no-bash" satisfies HookConfig["name"],
    type: "inline" satisfies HookType,
    matcher: { events: ["PreToolUse"], tools: ["bash"] } satisfies HookMatcher,
    inline_rules: [{ field: "tool", operator: "equals", value: "bash", action: "deny", reason: "No shell" }],
  };
  const hooks = new HookRegistry().registerSource(definitions({ hooks: { definitions: [deniesBash] } }));
  await hooks.load();
  await assert.rejects(
    wrapToolCall(hooks, "s", "bash", {}, () => 1),
    (error) => error instanceof ToolDeniedError && error.name === "ToolDeniedError" && error.message === "No shell",
  );
  const results: HookResult[] = await hooks.emit("s", "PreToolUse", { tool: "bash", args: {} });
  assert.deepEqual(results, [{ hook: "no-bash", action: "deny", reason: "No shell" }]);
  assert.equal(await sessionHooks(hooks, "s").onModelSwitch("a", "b"), "b");
  hooks.disable("no-bash");
  assert.equal(await wrapToolCall(hooks, "s", "bash", {}, () => 1), 1);
  assert.deepEqual([hooks.getStats()["no-bash"]!.denied, hooks.getStats()["no-bash"]!.enabled], [2, false]);
  const four: (keyof typeof EVENTS)[] = ["error", "checkpoint", "model-switch", "memory-update"];
  for (const name of four) assert.ok(EVENTS[name], name);
});
