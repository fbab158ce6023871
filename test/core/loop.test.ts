import assert from "node:assert/strict";
import { test } from "node:test";
import { invalidConversation } from "../../lib/core/messages.ts";
import { context, deny, keepGoing } from "../../lib/core/verdict.ts";
import { scripted } from "../../lib/testing/index.ts";
import { boom, calls, echo, OPENING, played, results, shown, stage, watch, write } from "./_stage.ts";

const CLOSING = ["stop", "turn-end", "agent-stop", "session-end"];

test("S4.23: PreGeneration runs once before the loop, PostGeneration once after stop let go, which it cannot restart", async () => {
  for (const last of [deny("go on"), { continue: true, reason: "go on" }, context("go on")]) {
    const seen: string[] = [];
    const s = await played([calls(["Echo", "a"]), { text: "one" }, { text: "two" }], {
      hooks: [watch(seen, ({ event }) => ["iteration", "stop"].includes(event)), {
        preGeneration: () => void seen.push("PreGeneration"),
        stop: ({ stop_hook_active }) => stop_hook_active ? undefined : keepGoing("more"),
        postGeneration: () => {
          seen.push("PostGeneration");
          return last as never;
        },
      }],
    });
    const { stop, text } = s.result;
    assert.deepEqual([stop, text], ["done", "two"]);
    assert.deepEqual(seen, ["PreGeneration", "iteration", "iteration", "stop", "iteration", "stop", "PostGeneration"]);
    s.model.done();
  }
});

test("U9, S0.13, S4.1: a prompt without tools fires each event once, stop before turn-end", async () => {
  const seen: string[] = [];
  const { run } = stage({ model: scripted([{ text: "hi" }]), hooks: watch(seen) });
  const result = await run();
  assert.equal(result.stop, "done");
  assert.equal(result.text, "hi");
  assert.deepEqual(seen, [...OPENING, "iteration", ...CLOSING]);
});

test("U9, S0.13, S4.1, S4.11, S4.18: each model call is an iteration, until one calls no tool; each tool call has its gate before and its hooks after", async () => {
  const seen: string[] = [];
  const model = scripted([calls(["Echo", "a"]), calls(["Write", "b"]), { text: "done" }]);
  const { run } = stage({ model, tools: [echo, write], hooks: watch(seen) });
  assert.equal((await run()).iterations, 3);
  assert.deepEqual(seen, [
    ...OPENING,
    ...["iteration", "pre-tool-use Echo", "post-tool-use Echo", "post-tool-batch"],
    ...["iteration", "pre-tool-use Write", "post-tool-use Write", "post-tool-batch"],
    ...["iteration", ...CLOSING],
  ]);
  model.done();
});

test("U9, S4.3: a stop denial re-enters the loop in the same turn", async () => {
  const seen: string[] = [];
  let asked = 0;
  const model = scripted([{ text: "one" }, calls(["Echo", "a"]), { text: "two" }]);
  const hooks = [watch(seen), { stop: () => asked++ === 0 ? keepGoing("more") : undefined }];
  const result = await stage({ model, tools: [echo], hooks }).run();
  assert.deepEqual(seen, [
    ...OPENING,
    ...["iteration", "stop", "iteration", "pre-tool-use Echo", "post-tool-use Echo", "post-tool-batch", "iteration"],
    ...CLOSING,
  ]);
  assert.deepEqual([result.stop, result.text, result.turns], ["done", "two", 1]);
});

test("U9, U11: a HookInput of turn-end starts a new turn of the same run", async () => {
  const seen: string[] = [];
  const triggers: string[] = [];
  let ends = 0;
  const model = scripted([{ text: "one" }, { text: "two" }]);
  const result = await stage({
    model,
    hooks: [watch(seen), {
      turnStart: (e) => void triggers.push(`start ${e.trigger} ${e.prompt}`),
      turnEnd: (e, ctx) => {
        triggers.push(`end ${e.trigger}`);
        if (ends++ === 0) ctx.hookInput("and now");
      },
    }],
  }).run("first");
  assert.deepEqual(seen, [
    ...OPENING,
    ...["iteration", "stop", "turn-end"],
    ...["turn-start", "iteration", "stop", "turn-end"],
    ...["agent-stop", "session-end"],
  ]);
  assert.deepEqual(triggers, ["start user first", "end user", "start hook_input and now", "end hook_input"]);
  assert.equal(result.turns, 2);
});

test("U9: turn inputs of several hooks are taken first in, first out, one turn each", async () => {
  const prompts: string[] = [];
  let ends = 0;
  await stage({
    model: scripted([], { then: { text: "ok" } }),
    hooks: {
      turnStart: (e) => void prompts.push(e.prompt),
      turnEnd: [
        (_, ctx) => {
          if (ends++ === 0) { for (const words of ["a", "b"]) ctx.hookInput(words); }
        },
        (_, ctx) => {
          if (ends === 1) ctx.hookInput("c");
        },
      ],
    },
  }).run("person");
  assert.deepEqual(prompts, ["person", "a", "b", "c"]);
});

test("U2, S0.6, C11: iteration counts from zero in a turn and after each stop denial; total_iterations only grows", async () => {
  const counted: unknown[] = [];
  let asked = 0;
  const model = scripted([calls(["Echo", "a"]), { text: "one" }, { text: "two" }, { text: "three" }]);
  let ends = 0;
  await stage({
    model,
    tools: [echo],
    hooks: {
      iteration: (e) => void counted.push([e.agent_id, e.iteration, e.total_iterations]),
      stop: () => asked++ === 0 ? keepGoing("more") : undefined,
      turnEnd: (_, ctx) => {
        if (ends++ === 0) ctx.hookInput("again");
      },
    },
  }).run();
  assert.deepEqual(counted, [[0, 0], [1, 1], [0, 2], [0, 3]].map((counts) => ["session-1", ...counts]));
});

test("S4.18, C24: at the limit of model calls the last reply's tools still run and are answered; no stop, but turn-end", async () => {
  const seen: string[] = [];
  const model = scripted([], { then: calls(["Echo", "a"]) });
  const s = stage({ model, tools: [echo], hooks: watch(seen), limits: { iterations: 2 } });
  const result = await s.run();
  assert.equal(result.stop, "max_iterations");
  assert.equal(result.iterations, 2);
  assert.deepEqual(results(result.messages).map((r) => r.content), ["a", "a"]);
  assert.deepEqual(seen.slice(-6), [
    ...["pre-tool-use Echo", "post-tool-use Echo", "post-tool-batch"],
    ...["turn-end", "agent-stop", "session-end"],
  ]);
  assert.equal(invalidConversation(result.messages), undefined);
});

test("U10: a HookInput at a limit is reported and starts nothing", async () => {
  const model = scripted([], { then: calls(["Echo", "a"]) });
  const hooks = { turnEnd: (_: unknown, ctx: { hookInput(text: string): void }) => ctx.hookInput("more") };
  const s = stage({ model, tools: [echo], hooks, limits: { iterations: 1 } });
  const result = await s.run();
  assert.deepEqual([result.stop, result.turns], ["max_iterations", 1]);
  assert.equal(s.events.filter((e) => e.type === "hook_input").length, 1);
});

test("pause_turn sends the conversation back as it is, and the reply continues from the pause", async () => {
  const model = scripted([{ text: "half ", stop_reason: "pause_turn" }, { text: "done" }]);
  const result = await stage({ model }).run();
  assert.deepEqual(model.requests[1]!.messages.map((m) => m.role), ["user", "assistant"]);
  assert.deepEqual(result.messages.map((m) => [m.role, ...shown(m)]), [["user", "go"], ["assistant", "half ", "done"]]);
  assert.equal(result.text, "half done");
  assert.equal(result.iterations, 2);
});

test("a model that pauses forever ends at the limit of model calls", async () => {
  const model = scripted([], { then: { text: "x", stop_reason: "pause_turn" } });
  const result = await stage({ model, limits: { iterations: 5 } }).run();
  assert.deepEqual([result.stop, model.requests.length], ["max_iterations", 5]);
});

test("U10: a reply that was cut or refused is not asked to stop", async () => {
  const rows: [string, string][] = [
    ["max_tokens", "truncated"],
    ["model_context_window_exceeded", "truncated"],
    ["refusal", "refused"],
  ];
  for (const [stop_reason, stop] of rows) {
    const seen: string[] = [];
    const model = scripted([{ text: "half", stop_reason }]);
    const result = await stage({ model, hooks: watch(seen) }).run();
    assert.equal(result.stop, stop);
    assert.equal(result.text, "half");
    assert.equal(seen.includes("stop"), false);
    assert.equal(seen.includes("turn-end"), true);
  }
});

test("U17: a reply whose tool call has no id or no name never enters the history", async () => {
  for (const block of [{ type: "tool_use", name: "Echo", input: {} }, { type: "tool_use", id: "a", input: {} }]) {
    const s = stage({ model: scripted([], { then: { blocks: [block] } }), tools: [echo] });
    const result = await s.run();
    assert.equal(result.stop, "error");
    assert.equal(result.error!.type, "grammar");
    assert.deepEqual(result.messages.map((m) => m.role), ["user"]);
  }
});

test("U17: an empty reply is kept as one that says so", async () => {
  const result = await stage({ model: scripted([{}]) }).run();
  assert.deepEqual([result.stop, result.text], ["done", "(empty reply)"]);
});

test("streaming: events are reported as they happen, in order, with the agent's id", async () => {
  const s = await played([{ thinking: "hm", text: "let me look", tools: [{ name: "Echo", input: { say: "a" } }] }, {
    text: "ok",
  }], { tools: [echo] });
  assert.deepEqual(s.events.map((e) => e.type), [
    ...["start", "message", "thinking", "text", "usage", "message", "tool_start", "tool_end", "message"],
    ...["text", "usage", "message", "end"],
  ]);
  assert.ok(s.events.every((e) => e.agent_id === "session-1"));
});

test("every model call and tool call is one step, with a name of its own", async () => {
  const names: string[] = [];
  const model = scripted([calls(["Echo", "a"], ["Echo", "b"]), { text: "done" }]);
  await stage({
    model,
    tools: [echo],
    engine: {
      step: (name, work) => {
        names.push(name);
        return work();
      },
    },
  }).run();
  assert.equal(names.length, 4);
  assert.equal(new Set(names).size, 4);
  assert.deepEqual(names.map((n) => n.split(":")[0]), ["llm", "tool", "tool", "llm"]);
});

test("the whole history is sent each time, and it is always a conversation the API takes", async () => {
  const model = scripted([calls(["Echo", "a"]), calls(["Boom"]), { text: "done" }]);
  await stage({ model, tools: [echo, boom] }).run();
  assert.deepEqual(model.requests.map((r) => r.messages.length), [1, 3, 5]);
  for (const { messages } of model.requests) assert.equal(invalidConversation(messages), undefined);
});
