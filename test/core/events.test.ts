import assert from "node:assert/strict";
import { test } from "node:test";
import { NO_USAGE } from "../../lib/core/messages.ts";
import { type AnyEvent, type EventName, type EventRow, EVENTS } from "../../lib/core/events.ts";
import { compileMatcher, missing } from "../../lib/hooks/hook-matcher.ts";
import { EVENT_NAMES, pascal, resolveEvent } from "../../lib/core/names.ts";
import { expectEvent, nearest } from "../../lib/input/nearest.ts";
import type { HookConfig } from "../../lib/hooks/definition.ts";
import { definitions } from "../../lib/hooks/definitions.ts";
import { loadSettings } from "../../lib/hooks/hook-settings.ts";
import { type Firing, HookRegistry } from "../../lib/hooks/registry.ts";
import { projection, wireInput } from "../../lib/hooks/process/wire.ts";
import { context, deny, keepGoing, modify } from "../../lib/core/verdict.ts";
import { type Message, user } from "../../lib/core/messages.ts";
import { sampleEvent } from "../../lib/hooks/samples.ts";
import { scripted } from "../../lib/testing/index.ts";
import { STOP } from "./_fired.ts";
import { boom, calls, echo, fail, played, stage, write } from "./_stage.ts";

/** Each event that our loop fires, with what a host must give at least; the rest are defaults. */
const OWN_FIRINGS = {
  "session-start": { event: "session-start" },
  "user-prompt-submit": { event: "user-prompt-submit", prompt: "hi" },
  "agent-start": { event: "agent-start", task: "hi", agent_type: "main" },
  "turn-start": { event: "turn-start", trigger: "user", prompt: "hi", turn: { system: "", messages: [] } },
  "iteration": { event: "iteration", iteration: 0, total_iterations: 0, request: { system: "", messages: [] } },
  "pre-tool-use": { event: "pre-tool-use", tool_name: "Bash", input: { command: "ls" } },
  "permission-request": {
    event: "permission-request",
    tool_name: "Bash",
    input: { command: "ls" },
    reason: "a rule",
    permission_suggestions: [],
  },
  "tool-denied": { event: "tool-denied", tool_name: "Bash", input: {}, reason: "no", denied_by: "rules" },
  "post-tool-use": {
    event: "post-tool-use",
    tool_name: "Bash",
    input: {},
    result: { content: "a", is_error: false, response: "a" },
    outcome: "success",
    failed: false,
    error: null,
    duration_ms: 3,
  },
  "post-tool-batch": {
    event: "post-tool-batch",
    tool_calls: [{ tool_name: "Bash", input: {}, tool_use_id: "t1", response: "a", is_error: false }],
  },
  "stop": { ...STOP },
  "stop-failure": { event: "stop-failure", error: "api_error", error_details: "down", last_assistant_message: "" },
  "turn-end": {
    event: "turn-end",
    trigger: "user",
    stop: "done",
    last_assistant_message: "done",
    messages: [],
    usage: { input_tokens: 1, output_tokens: 1, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 },
  },
  "agent-stop": {
    event: "agent-stop",
    stop: "done",
    result: { text: "", stop: "done", usage: NO_USAGE, cost: null, denials: [] },
    agent_type: "main",
  },
  "session-end": { event: "session-end", reason: "other", duration_ms: 4 },
  "model-switch": { event: "model-switch", old_model: null, new_model: "claude-opus-5" },
  "post-model-switch": {
    event: "post-model-switch",
    old_model: null,
    new_model: "claude-opus-5",
    reason: null,
    triggered_by: "user",
  },
  "error": { event: "error", error_type: "RangeError", error_message: "too far" },
  "pre-compact": { event: "pre-compact", trigger: "auto", instructions: "" },
  "post-compact": { event: "post-compact", trigger: "auto", summary: "so far" },
  "notification": { event: "notification", message: "look", notification_type: "idle" },
  "checkpoint": { event: "checkpoint", checkpoint_id: "c1" },
  "memory-update": { event: "memory-update", file_path: "AGENTS.md" },
  "agent-prompt": { event: "agent-prompt", prompt_type: "question", message: "which?" },
  "cwd-changed": { event: "cwd-changed", old_cwd: "/a", new_cwd: "/b" },
  "instructions-loaded": {
    event: "instructions-loaded",
    file_path: "AGENTS.md",
    memory_type: "Project",
    load_reason: "session_start",
  },
} satisfies { readonly [N in EventName]?: Firing<N> };

const NAMES = Object.keys(EVENTS) as EventName[];

const FIRINGS = Object.fromEntries(
  NAMES.map((name) => [name, (OWN_FIRINGS as Record<string, unknown>)[name] ?? sampleEvent(name, { cwd: "/" })]),
) as { readonly [N in EventName]: Firing<N> };

test("what our loop fires is what a host with a loop of its own must be able to fire, and nothing else", () => {
  assert.deepEqual(Object.keys(OWN_FIRINGS).sort(), NAMES.filter((name) => EVENTS[name].fires).sort());
});

/** Fires one event and gives it as a hook saw it. */
async function seen(firing: Firing, where = {}): Promise<AnyEvent> {
  const got: AnyEvent[] = [];
  await new HookRegistry().register({ onEvent: (event) => void got.push(event) }).fire(firing, where);
  assert.equal(got.length, 1);
  return got[0]!;
}

test("S3.1, S3.2: the events of the third seed have exactly its names on the wire", async () => {
  const wanted = [
    ...["Error", "Checkpoint", "ModelSwitch", "MemoryUpdate"],
    ...["PreToolUse", "PostToolUse", "SessionStart", "SessionEnd", "Notification", "Stop", "SubagentStop"],
  ];
  for (const name of wanted) {
    const { event, scope } = expectEvent(name);
    const where = scope === "sub" ? { session_id: "s", agent_id: "a", parent_agent_id: "s" } : {};
    const names: unknown[] = [];
    const hook = (fired: AnyEvent) => void names.push(wireInput(fired, "/").hook_event_name, projection(fired).event);
    await new HookRegistry().register({ [name[0]!.toLowerCase() + name.slice(1)]: hook })
      .fire(FIRINGS[event] as Firing, where);
    assert.deepEqual(names, [name, name]);
  }
});

test("U2: every name is understood in kebab-case, snake_case, PascalCase and camelCase", () => {
  for (const name of EVENT_NAMES) {
    const found = resolveEvent(name);
    assert.ok(found, name);
    const camel = pascal(name)[0]!.toLowerCase() + pascal(name).slice(1);
    for (const spelling of [name.replaceAll("-", "_"), pascal(name), camel]) {
      assert.deepEqual(resolveEvent(spelling), found, spelling);
    }
  }
});

test("U6: events of the seeds that share a moment are aliases of one event, with a narrower scope or outcome if they need one", () => {
  const rows: [string, ReturnType<typeof resolveEvent>][] = [
    ["PreGeneration", { event: "turn-start", scope: "all" }],
    ["PostGeneration", { event: "turn-end", scope: "all" }],
    ["PreIteration", { event: "iteration", scope: "all" }],
    ["SubagentStart", { event: "agent-start", scope: "sub" }],
    ["SubagentStop", { event: "stop", scope: "sub" }],
    ["subagent-stop", { event: "stop", scope: "sub" }],
    ["PostToolUseFailure", { event: "post-tool-use", scope: "all", outcome: "failure" }],
    ["PermissionDenied", { event: "tool-denied", scope: "all" }],
    ["PreModelSwitch", { event: "model-switch", scope: "all" }],
    ["cleanup", { event: "agent-stop", scope: "all" }],
    ["Stop", { event: "stop", scope: "root" }],
  ];
  for (const [name, expected] of rows) assert.deepEqual(resolveEvent(name), expected, name);
});

test("U9: tool events, iteration and turn-start see every agent; prompt, stop and session events the root alone", () => {
  const scopes = Object.fromEntries(NAMES.map((name) => [name, EVENTS[name].scope]));
  for (const name of ["pre-tool-use", "post-tool-use", "tool-denied", "iteration", "turn-start", "agent-stop"]) {
    assert.equal(scopes[name], "all", name);
  }
  for (const name of ["user-prompt-submit", "stop", "session-start", "session-end"]) {
    assert.equal(scopes[name], "root", name);
  }
});

test("U6: the table says of each event what can be changed and what a denial does", () => {
  const table = NAMES.filter((name) => EVENTS[name].fires).map((name) => {
    const { subject, deny, ask } = EVENTS[name] as EventRow;
    return [name, subject, deny, ask];
  });
  assert.deepEqual(table, [
    ["session-start", null, "ignored", false],
    ["user-prompt-submit", "prompt", "prevents", false],
    ["agent-start", "task", "prevents", false],
    ["turn-start", "turn", "prevents", false],
    ["iteration", "request", "prevents", false],
    ["pre-tool-use", "input", "prevents", true],
    ["permission-request", "input", "prevents", false],
    ["tool-denied", null, "ignored", false],
    ["post-tool-use", "result", "collects", false],
    ["post-tool-batch", null, "prevents", false],
    ["stop", null, "collects", false],
    ["stop-failure", null, "ignored", false],
    ["turn-end", null, "ignored", false],
    ["agent-stop", null, "ignored", false],
    ["session-end", null, "ignored", false],
    ["model-switch", "new_model", "prevents", true],
    ["post-model-switch", null, "ignored", false],
    ["error", "retry", "prevents", false],
    ["pre-compact", "instructions", "prevents", false],
    ["post-compact", null, "ignored", false],
    ["notification", null, "ignored", false],
    ["checkpoint", null, "ignored", false],
    ["memory-update", null, "ignored", false],
    ["agent-prompt", null, "ignored", false],
    ["cwd-changed", null, "ignored", false],
    ["instructions-loaded", null, "ignored", false],
  ]);
});

test("what must not happen without its hooks is guarded", () => {
  const guarded = (Object.keys(EVENTS) as EventName[]).filter((name) => EVENTS[name].guards);
  assert.deepEqual(guarded, ["user-prompt-submit", "pre-tool-use", "permission-request"]);
});

test("expectEvent() names the nearest event if the name is unknown", () => {
  assert.throws(() => expectEvent("pre-tool-us"), {
    name: "TypeError",
    message: "Cannot hook event 'pre-tool-us' as there is no such event: did you mean 'pre-tool-use'?",
  });
  assert.throws(() => expectEvent("Stopp"), /did you mean 'stop'\?/);
  assert.equal(resolveEvent("constructor"), undefined);
  assert.equal(nearest("stop", ["top", "stops", "stop"]), "stop");
  assert.equal(nearest("x", []), undefined);
});

test("S3.3: an error event has the seed's fields and defaults", async () => {
  const event = await seen(FIRINGS.error) as AnyEvent & { event: "error" };
  const { error_type, error_message, tool, stack_trace, severity } = event;
  assert.deepEqual({ error_type, error_message, tool, stack_trace, severity }, {
    error_type: "RangeError",
    error_message: "too far",
    tool: null,
    stack_trace: null,
    severity: "error",
  });
});

test("S3.5: a checkpoint event has the seed's fields and defaults", async () => {
  const event = await seen(FIRINGS.checkpoint, { session_id: "s1" });
  assert.partialDeepStrictEqual(event, {
    checkpoint_id: "c1",
    session_id: "s1",
    checkpoint_type: "auto",
    message_count: 0,
    duration_since_last_ms: null,
    storage_path: null,
  });
});

test("S3.6: a model switch has the seed's fields and defaults", async () => {
  assert.partialDeepStrictEqual(await seen(FIRINGS["model-switch"]), {
    old_model: null,
    new_model: "claude-opus-5",
    reason: null,
    profile: null,
    triggered_by: "user",
  });
});

test("S3.9, S3.10: a memory update has the seed's fields and defaults, and its path is what a matcher sees", async () => {
  assert.partialDeepStrictEqual(await seen(FIRINGS["memory-update"]), {
    file_path: "AGENTS.md",
    update_type: "modified",
    content_size: null,
    previous_hash: null,
    new_hash: null,
  });
  assert.equal(EVENTS["memory-update"].match, "file_path");
});

test("S3.4, S3.7: errors are matched by their tool, model switches by the new model", async () => {
  const matched = async (pattern: string, ...firings: Firing[]) => {
    const misses = missing(pattern, compileMatcher(pattern))!;
    const events = await Promise.all(firings.map((firing) => seen(firing)));
    return events.map((event) => misses(event) === undefined);
  };
  const error = (tool: string | null): Firing => ({ ...FIRINGS.error, tool });
  const change = (new_model: string): Firing => ({ ...FIRINGS["model-switch"], new_model });
  assert.deepEqual(await matched("Bash", error("Bash"), error("Edit"), error(null)), [true, false, false]);
  assert.deepEqual(await matched(".*opus.*", change("claude-opus-5"), change("claude-haiku-5")), [true, false]);
});

test("S3.11, S3.39: every event has one shape, survives JSON and carries an ISO timestamp", async () => {
  for (const name of NAMES) {
    const event = await seen(FIRINGS[name] as Firing);
    assert.equal(event.event, name);
    const copy = JSON.parse(JSON.stringify(event));
    assert.deepEqual(copy, { ...event }, name);
    assert.equal(new Date(copy.timestamp).toISOString(), copy.timestamp, name);
  }
});

/** The same data with something deep in each of its lists and objects. */
function deepened(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return [...value.map(deepened), { deep: [{ n: 1 }] }];
  const parts = Object.entries(value).map(([key, part]) => [key, deepened(part)]);
  return { ...Object.fromEntries(parts), deep: [{ n: 1 }] };
}

/** Everything that can still be changed, by its path. */
function changeable(value: unknown, path: string): string[] {
  if (typeof value !== "object" || value === null) return [];
  const parts = Object.entries(value).flatMap(([key, part]) => changeable(part, `${path}.${key}`));
  return Object.isFrozen(value) ? parts : [path, ...parts];
}

test("U2, S0.8: every event is frozen all the way down, and what the host gave stays the host's own", async () => {
  for (const name of NAMES) {
    const given = deepened(FIRINGS[name]) as Firing & { deep: { n: number }[] };
    const before = changeable(given, name).length;
    const event = await seen(given);
    assert.deepEqual(changeable(event, name), []);
    assert.equal(changeable(given, name).length, before, name);
    const then = JSON.stringify(event);
    given.deep[0]!.n = 2;
    assert.equal(JSON.stringify(event), then, name);
  }
});

// Kills: a run that fires what only a registry freezes, and a change that is passed on as the hook's own object.
test("U2, S0.8: every event of a run is frozen too, also as the hook before has left it", async () => {
  const open: string[] = [];
  const look = { onEvent: (event: AnyEvent) => void open.push(...changeable(event, event.event)) };
  const deep = () => ({ say: "changed", more: [{ n: 1 }] });
  const model = scripted([calls(["Echo", "a"], ["Fail", "b"]), { text: "done" }]);
  const changes = {
    turnStart: () => modify({ messages: [] }),
    iteration: () => modify({ append: [] }),
    preToolUse: () => modify(deep()),
    postToolUse: () => modify({ content: "other", is_error: false, response: deep() }),
  };
  const result = await stage({ model, tools: [echo, fail], hooks: [look, changes, look] }).run();
  assert.deepEqual([result.stop, open], ["done", []]);
});

test("U2, S0.8: what a hook kept always equals what it saw, whenever it is read", async () => {
  const before = [user("before"), { role: "assistant" as const, content: [{ type: "text", text: "it" }] }];
  /** A run with every kind of change to its conversation, and its events, each written down at once or at the end. */
  const events = async (late: boolean, messages: typeof before | []) => {
    const kept: (() => string)[] = [];
    let asked = 0;
    const s = stage({
      model: scripted([
        calls(["Echo", "a"], ["Fail", "b"], ["Boom", "c"]),
        calls(["Write", "d"]),
        { text: "one" },
        { text: "two" },
        { text: "three" },
      ], { then: { text: "four" } }),
      tools: [echo, fail, boom, write],
      state: { messages: [...messages] },
      compact: async ({ state }) => {
        if (++asked === 4) state.messages = [user("summary"), ...state.messages.slice(-1)];
        return asked === 4;
      },
      hooks: [
        {
          name: "keep",
          onEvent: (event) => {
            const write = () => JSON.stringify({ ...event, stack_trace: null });
            const now = late ? undefined : write();
            kept.push(() => now ?? write());
          },
        },
        {
          preToolUse: ({ tool_name }) => tool_name === "Write" ? deny("no") : modify({ say: "changed" }),
          postToolUse: () => context("looked at"),
          iteration: () => context("counted"),
          turnStart: () => context("begun"),
          stop: ({ stop_hook_active }) => stop_hook_active ? undefined : keepGoing("Go on"),
          turnEnd: ({ trigger }, ctx) => trigger === "user" ? ctx.hookInput("again") : undefined,
        },
      ],
    });
    await s.session.prompt("go");
    await s.session.setModel("other");
    await s.session.prompt("and on");
    await s.session.close();
    return kept.map((read) => read());
  };
  const [now, late] = [await events(false, before), await events(true, before)];
  assert.deepEqual(late, now);
  assert.deepEqual(await events(true, []), await events(false, []), "the conversation begins with its first prompt");
  const fired = new Set(now.map((event) => (JSON.parse(event) as AnyEvent).event));
  // What only the agent or hosts fire has fields that are texts and numbers, and is in the test above.
  const elsewhere = [
    "permission-request",
    "stop-failure",
    "pre-compact",
    "post-compact",
    "notification",
    "checkpoint",
    "memory-update",
    "agent-prompt",
    "cwd-changed",
    "instructions-loaded",
  ];
  assert.deepEqual(NAMES.filter((name) => EVENTS[name].fires && !fired.has(name)), elsewhere);
});

test("U2: events share the messages of the conversation, and list them once", async () => {
  const lists: (readonly Message[])[] = [];
  const s = await played([calls(["Echo", "a"]), { text: "done" }], {
    hooks: { stop: (event) => void lists.push(event.messages, event.messages) },
  });
  assert.equal(lists[0], lists[1]);
  assert.deepEqual(lists[0]!.map((message) => s.result.messages.includes(message)), [true, true, true, true]);
});

test("U2: the engine stamps id, time and place; a caller cannot", async () => {
  const forged = { event_id: "mine", timestamp: "1999", session_id: "mine", agent_id: "mine", turn_id: "mine" };
  const where = { session_id: "s", agent_id: "a", parent_agent_id: "p", turn_id: "t" };
  const event = await seen({ ...FIRINGS.notification, ...forged } as Firing, where);
  assert.partialDeepStrictEqual(event, where);
  assert.notEqual(event.event_id, "mine");
  assert.notEqual(event.timestamp, "1999");
});

test("U2: two events never have the same id", async () => {
  const ids: string[] = [];
  const hooks = new HookRegistry().register({ onEvent: (event) => void ids.push(event.event_id) });
  for (const name of NAMES) await hooks.fire(FIRINGS[name] as Firing);
  assert.equal(new Set(ids).size, NAMES.length);
});

/** Events that there were before those of S3, as settings name them, and when each fires. */
const OLD: { readonly [name: string]: EventName } = {
  PreToolUse: "pre-tool-use",
  PostToolUse: "post-tool-use",
  UserPromptSubmit: "user-prompt-submit",
  SessionStart: "session-start",
  SessionEnd: "session-end",
  Stop: "stop",
  SubagentStop: "stop",
  PreCompact: "pre-compact",
  Notification: "notification",
};

// Kills: an old name that is left out of the table.
test("S3.12: hooks of the old events go on working beside the new ones, in code, in definitions and in settings", async () => {
  for (const [name, event] of Object.entries(OLD)) {
    const heard: string[] = [];
    const key = name[0]!.toLowerCase() + name.slice(1);
    const rule = { field: "event", operator: "matches", value: ".", action: "continue" } as const;
    const matcher = { events: [name] } as HookConfig["matcher"];
    const inFile = { name: "defined", type: "inline", matcher, inline_rules: [rule] } as HookConfig;
    const hooks = new HookRegistry().register(
      { [key]: () => void heard.push(name) },
      { modelSwitch: () => void heard.push("new") },
    ).registerSource(definitions({ hooks: { definitions: [inFile] } }));
    await hooks.load();
    const below = name === "SubagentStop" ? { agent_id: "sub", parent_agent_id: "s" } : {};
    await hooks.fire(FIRINGS[event] as Firing, { session_id: "s", agent_id: "s", ...below });
    await hooks.fire(FIRINGS["model-switch"]);
    assert.deepEqual(heard, [name, "new"]);
    assert.equal(hooks.getStats().defined!.runs, 1, name);
  }
  const command = [{ hooks: [{ type: "command", command: "true" }] }];
  const text = JSON.stringify({ hooks: Object.fromEntries(Object.keys(OLD).map((name) => [name, command])) });
  const { records, problems } = await loadSettings([{ path: "settings.json", text }], { projectDir: "/" });
  assert.deepEqual(records.flatMap(({ on }) => on.map(({ event }) => event)), Object.values(OLD));
  assert.deepEqual(problems, []);
});
