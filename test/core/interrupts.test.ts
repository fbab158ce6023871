import assert from "node:assert/strict";
import { test } from "node:test";
import { invalidConversation, type Message } from "../../lib/core/messages.ts";
import { type Tool } from "../../lib/core/tool.ts";
import { scripted } from "../../lib/testing/index.ts";
import { act, calls, echo, OPENING, results, stage, watch, within, write } from "./_stage.ts";

test("U9: interrupt ends everything at once: no stop, no turn-end; agent-stop and session-end once", async () => {
  const seen: string[] = [];
  const controller = new AbortController();
  const model = scripted([{ text: "on and on", stall: true }]);
  const s = stage({
    model,
    hooks: watch(seen),
    on: (e) => {
      if (e.type === "text") queueMicrotask(() => controller.abort());
    },
  });
  const result = await within(s.run("go", controller.signal));
  assert.equal(result.stop, "aborted");
  assert.equal(result.error, undefined);
  assert.deepEqual(seen, [...OPENING, "iteration", "agent-stop", "session-end"]);
});

test("U8, U9, U10, U15: a tool that ignores its abort signal is abandoned after a grace period, and its call is answered", async () => {
  const controller = new AbortController();
  let noted = false;
  const hang = act("Hang", "read", (_, { signal }) => {
    signal.addEventListener("abort", () => noted = true);
    queueMicrotask(() => controller.abort());
    return new Promise<string>(() => {});
  });
  const s = stage({ model: scripted([calls(["Hang"], ["Echo", "a"], ["Write", "b"])]), tools: [hang, echo, write] });
  const result = await within(s.run("go", controller.signal));
  assert.equal(result.stop, "aborted");
  assert.equal(noted, true);
  assert.equal(s.clock.tick(), 2000);
  assert.deepEqual(results(result.messages).map((r) => r.content), [
    "The call was interrupted before it ended",
    "a",
    "The call was interrupted before it ran",
  ]);
  const ends = s.events.flatMap((e) => e.type === "tool_end" ? [`${e.name} ${e.outcome}`] : []);
  assert.deepEqual(ends.sort(), ["Echo success", "Hang interrupted", "Write interrupted"]);
  assert.equal(invalidConversation(result.messages), undefined);
});

test("a tool never begins once the run was interrupted, though everything before let it", async () => {
  const controller = new AbortController();
  let ran = false;
  const s = stage({
    model: scripted([calls(["Do"])]),
    tools: [act("Do", "write", () => (ran = true, "done"))],
    on: (e) => e.type === "tool_start" ? controller.abort() : undefined,
  });
  const result = await within(s.run("go", controller.signal));
  assert.deepEqual([result.stop, ran], ["aborted", false]);
  assert.deepEqual(results(result.messages).map((r) => r.content), ["The call was interrupted before it ran"]);
});

test("a run that a hook aborts at a call answers all calls of the reply as errors that never ran", async () => {
  const s = stage({
    model: scripted([calls(["Do"], ["Do"])]),
    tools: [act("Do", "write", () => "done")],
    hooks: { preToolUse: (_, ctx) => ctx.abort("over") },
  });
  const { stop, messages } = await within(s.run());
  assert.equal(stop, "error");
  const answer = { content: "The call was interrupted before it ran", is_error: true };
  assert.deepEqual(results(messages), [answer, answer]);
});

test("U10: limits.seconds ends a run whose tool, hook, model, parser or person hangs", async () => {
  const never = () => new Promise<never>(() => {});
  const stuckParser: Tool = { ...echo, parse: never };
  const hanging: [string, Parameters<typeof stage>[0]][] = [
    ["tool", { model: scripted([calls(["Hang"])]), tools: [act("Hang", "read", never)] }],
    ["parser", { model: scripted([calls(["Echo"])]), tools: [stuckParser] }],
    ["model", { model: scripted([{ stall: "start" }]) }],
    ["hook", { model: scripted([]), hooks: { turnStart: never } }],
    ["person", {
      model: scripted([calls(["Echo"])]),
      tools: [echo],
      permit: () => ({ behavior: "ask", reason: "a rule" }),
      askPerson: never,
    }],
    ["rules", { model: scripted([calls(["Echo"])]), tools: [echo], permit: never }],
  ];
  for (const [what, setting] of hanging) {
    const s = stage({ ...setting, limits: { seconds: 3 } });
    const result = await within(s.run());
    assert.equal(result.stop, "deadline", what);
    assert.equal(invalidConversation(result.messages), undefined, what);
    assert.deepEqual(s.warnings(), ["The run ended at its limit of 3 seconds: raise limits.seconds"], what);
    assert.equal(s.clock.sleeping, 0, what);
  }
});

test("a run whose time cannot be counted ends with that error, and is not left without a limit", async () => {
  const s = stage({
    model: scripted([{ text: "on and on", stall: true }]),
    limits: { seconds: 5 },
    around: { sleep: () => Promise.reject(new Error("there is no timer")) },
  });
  const { stop, error } = await within(s.run());
  assert.deepEqual([stop, error?.message], ["error", "there is no timer"]);
});

test("a run within limits.seconds leaves no timer behind", async () => {
  const s = stage({ model: scripted([{ text: "hi" }]), limits: { seconds: 3 } });
  assert.equal((await s.run()).stop, "done");
  assert.equal(s.clock.sleeping, 0);
});

// Kills: a last save that is begun and not waited for.
test("S0.30: the last save of a run is waited for, and a run whose last save fails ends with that error", async () => {
  for (const fails of [false, true]) {
    const controller = new AbortController();
    const done: string[] = [];
    const save = async ({ role }: Message) => {
      if (!controller.signal.aborted) return;
      for (let i = 0; i < 200; i++) await undefined;
      if (fails) throw new Error("the disk is full");
      done.push(`saved ${role}`);
    };
    const hang = act("Hang", "read", () => {
      queueMicrotask(() => controller.abort());
      return new Promise<string>(() => {});
    });
    const hooks = { agentStop: () => void done.push("agent-stop") };
    const s = stage({ model: scripted([calls(["Hang"])]), tools: [hang], hooks, state: { save } });
    const result = await within(s.run("go", controller.signal));
    assert.deepEqual(done, fails ? ["agent-stop"] : ["saved user", "agent-stop"]);
    assert.deepEqual(
      [result.stop, result.error?.message],
      fails ? ["error", "the disk is full"] : ["aborted", undefined],
    );
  }
});
