/**
 * Type tests: each `@ts-expect-error` is a program that must not compile, and `deno check` fails where it does. Run,
 * they do nothing but build.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  agent,
  type AgentStopHook,
  allow,
  ask,
  context,
  deny,
  type EventOf,
  halt,
  type Hook,
  type HookConfig,
  type HookMatcher,
  HookRegistry,
  type HookType,
  keepGoing,
  matchTool,
  modify,
  type PostToolUseHook,
  type PreToolUseHook,
  type StopHook,
  tool,
  type TurnStartHook,
  type UserPromptSubmitHook,
  type Verdict,
} from "../../lib/index.ts";
import type { GivenRow } from "../../lib/core/events.ts";
import { FAULTS, type KindAt } from "../../lib/extensions/faults/fault.ts";
import type { HookAction, StopDecision } from "../../lib/core/verdict.ts";
import type { TypedHooks } from "../../lib/hooks/code-hooks.ts";

test("deny on an event that only observes does not compile", () => {
  const hooks = [
    // @ts-expect-error nothing is prevented by denying agent-stop
    (() => deny("no")) satisfies AgentStopHook,
    // @ts-expect-error nor by denying a notification
    (() => deny("no")) satisfies Hook<"notification">,
    // @ts-expect-error nor session-start
    (() => deny("no")) satisfies Hook<"session-start">,
    // @ts-expect-error nor turn-end
    (() => ({ Block: "no" })) satisfies Hook<"turn-end">,
    (() => context("fine")) satisfies AgentStopHook,
    (() => "Continue") satisfies AgentStopHook,
  ];
  assert.equal(hooks.length, 6);
});

test("modify compiles only with the event's own subject", () => {
  const hooks = [
    (() => modify("a prompt")) satisfies UserPromptSubmitHook,
    // @ts-expect-error a prompt is a text
    (() => modify(5)) satisfies UserPromptSubmitHook,
    (() => modify({ command: "ls" })) satisfies PreToolUseHook,
    // @ts-expect-error an input is an object
    (() => modify("ls")) satisfies PreToolUseHook,
    (() => modify(null)) satisfies PostToolUseHook,
    // @ts-expect-error a result is a text, a result or null
    (() => modify(7)) satisfies PostToolUseHook,
    (() => modify({ system: "s" })) satisfies TurnStartHook,
    // @ts-expect-error its system prompt is a text
    (() => modify({ system: 5 })) satisfies TurnStartHook,
    // @ts-expect-error nothing can be modified on stop
    (() => modify("x")) satisfies StopHook,
    // @ts-expect-error nor by its older name
    (() => ({ Transform: "x" })) satisfies StopHook,
    (() => modify(true)) satisfies Hook<"error">,
    // @ts-expect-error an error can be retried or not
    (() => modify("yes")) satisfies Hook<"error">,
  ];
  assert.equal(hooks.length, 12);
});

test("ask compiles only on events that can ask a person", () => {
  const hooks = [
    (() => ask("sure?")) satisfies PreToolUseHook,
    (() => ask()) satisfies Hook<"model-switch">,
    // @ts-expect-error a stop is not asked about
    (() => ask()) satisfies StopHook,
    // @ts-expect-error nor a result
    (() => ask()) satisfies PostToolUseHook,
    // @ts-expect-error nor a prompt
    (() => ask()) satisfies UserPromptSubmitHook,
  ];
  assert.equal(hooks.length, 5);
});

test("there are hooks for the events of the table and for no others", () => {
  // @ts-expect-error there is no such event
  const unknown: Hook<"pre-tool"> = () => undefined;
  // @ts-expect-error aliases are names for people and files: in types an event has one
  const alias: EventOf<"PreToolUse"> = undefined as never;
  assert.deepEqual([typeof unknown, alias], ["function", undefined]);
});

test("an event has its own fields and no others, and none can be written", () => {
  const hook: PreToolUseHook = (event) => {
    const name: string = event.tool_name;
    // @ts-expect-error a call has no result yet
    const early = event.result;
    // @ts-expect-error an event is read-only
    const write = () => event.tool_name = "x";
    // @ts-expect-error all the way down
    const deep = () => event.input.command = "x";
    return name === "" && early === undefined && write === deep ? deny("no") : undefined;
  };
  const every: Hook = (event) => {
    // @ts-expect-error not every event has a prompt
    const loose = event.prompt;
    return event.event === "stop" && event.stop_hook_active && loose ? undefined : undefined;
  };
  assert.deepEqual([typeof hook, typeof every], ["function", "function"]);
});

test("the spellings of the seeds compile on events that support them", () => {
  const decision: StopDecision = { continue: true, reason: "more" };
  const action: HookAction<"pre-tool-use"> = { Transform: { a: 1 } };
  const hooks = [
    (() => decision) satisfies StopHook,
    (() => keepGoing("more")) satisfies StopHook,
    (() => halt("enough")) satisfies StopHook,
    (() => action) satisfies PreToolUseHook,
    (() => Promise.resolve(allow())) satisfies PreToolUseHook,
    (async () => {}) satisfies PreToolUseHook,
    // @ts-expect-error a StopDecision is for stop
    (() => decision) satisfies PreToolUseHook,
    // @ts-expect-error an unknown action is no verdict
    (() => ({ action: "refuse" })) satisfies PreToolUseHook,
  ];
  const verdict: Verdict<"stop"> = deny("no");
  assert.deepEqual([hooks.length, verdict.action], [8, "deny"]);
});

test("typed lists take the hooks of their event, under the names of the seeds too", () => {
  const lists: TypedHooks = {
    preToolUse: [() => deny("no"), matchTool("Bash", () => undefined)],
    postToolUseFailure: (event) => event.failed ? context("it failed") : undefined,
    preGeneration: [],
    subagentStop: () => keepGoing("more"),
    cleanup: () => undefined,
  };
  const wrong: TypedHooks = {
    // @ts-expect-error modify has no subject on stop
    stop: [() => modify("x")],
  };
  const misspelt: TypedHooks = {
    // @ts-expect-error there is no such list
    preTooluse: [],
  };
  assert.deepEqual([Object.keys(lists).length, typeof wrong, typeof misspelt], [5, "object", "object"]);
});

test("S3.41: definitions are checked as they are written", () => {
  const list: HookConfig[] = [
    { type: "command", command: "true", matcher: { events: ["PreToolUse", "post-tool-use"], tools: "bash" } },
    { type: "inline", rules: 'args.command contains "rm" -> deny("No rm")', on_error: "deny" },
    // @ts-expect-error there is no such type
    { type: "shell", command: "true" },
    // @ts-expect-error an llm definition has a prompt
    { type: "llm" },
    // @ts-expect-error there is no such event
    { type: "internal", matcher: { events: ["PreToolUze"] } },
    // @ts-expect-error there is no such operator
    { type: "inline", inline_rules: [{ field: "tool", operator: "like", value: "x", action: "deny" }] },
    // @ts-expect-error modify says what it sets
    { type: "inline", inline_rules: [{ field: "tool", operator: "equals", value: "x", action: "modify" }] },
  ];
  // @ts-expect-error there is no such key
  const matcher: HookMatcher = { tool: ["bash"] };
  const types: HookType[] = ["internal", "command", "llm", "inline"];
  assert.deepEqual([list.length, types.length, Object.keys(matcher)], [7, 4, ["tool"]]);
});

test("registries fire events of the table, with their fields", () => {
  const hooks = new HookRegistry();
  const build = () => [
    hooks.fire({ event: "pre-tool-use", tool_name: "Bash", input: {} }),
    // @ts-expect-error there is no such event
    hooks.fire({ event: "pre-tool", tool_name: "Bash" }),
    // @ts-expect-error a name is a text
    hooks.fire({ event: "pre-tool-use", tool_name: 5 }),
  ];
  assert.equal(typeof build, "function");
});

test("options and tools are checked as they are written", () => {
  const build = () => [
    agent({ system: "x", limits: { stalls: 0 } }),
    // @ts-expect-error there is no such option
    agent({ prompt: "x" }),
    // @ts-expect-error there is no such limit
    agent({ limits: { turns: 5 } }),
    // @ts-expect-error an effect is none, read or write
    tool({ name: "T", description: "", input: { type: "object" }, run: () => "x", effect: "maybe" }),
    // @ts-expect-error a tool has a function
    tool({ name: "T", description: "", input: { type: "object" } }),
  ];
  assert.equal(typeof build, "function");
});

test("a row of an event that refuses where its hook fails says whether it guards", () => {
  const rows: GivenRow[] = [
    // @ts-expect-error it does not say so
    { failure: "deny" },
    { failure: "deny", guards: false },
    { failure: "abort" },
  ];
  assert.equal(rows.length, 3);
});

test("what can go wrong at a place follows from the rows of faults: a switch over it needs a case for each", () => {
  const kinds: KindAt<"hook">[] = ["crash", "timeout", "nonsense"];
  // @ts-expect-error a tool cannot be cut
  const others: KindAt<"tool">[] = ["throws", "cut"];
  assert.deepEqual(
    kinds,
    Object.entries(FAULTS).filter(([, row]) => row.places.includes("hook")).map(([kind]) => kind),
  );
  assert.equal(others.length, 2);
});
