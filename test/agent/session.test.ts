import assert from "node:assert/strict";
import { test } from "node:test";
import { codeHooks } from "../../lib/hooks/code-hooks.ts";
import type { EventOf } from "../../lib/core/events.ts";
import type { HookRecord } from "../../lib/core/hook.ts";
import { invalidConversation } from "../../lib/core/messages.ts";
import { context, deny, keepGoing } from "../../lib/core/verdict.ts";
import { scripted } from "../../lib/testing/index.ts";
import { act, calls, echo, shown, stage, watch, within } from "../core/_stage.ts";

test("U9: a session starts once and ends once, whatever the number of its prompts", async () => {
  const seen: string[] = [];
  const s = stage({ model: scripted([{ text: "a" }, { text: "b" }]), hooks: watch(seen) });
  await s.session.prompt("one");
  await s.session.prompt("two");
  await s.session.close();
  await s.session.close();
  const run = ["user-prompt-submit", "agent-start", "turn-start", "iteration", "stop", "turn-end", "agent-stop"];
  assert.deepEqual(seen, ["session-start", ...run, ...run, "session-end"]);
});

test("a session that was never prompted starts and ends nothing", async () => {
  const seen: string[] = [];
  await stage({ model: scripted([]), hooks: watch(seen) }).session.close();
  assert.deepEqual(seen, []);
});

test("one transcript: each prompt continues from the end of the one before", async () => {
  const model = scripted([{ text: "a" }, { text: "b" }]);
  const s = stage({ model });
  const first = await s.session.prompt("one");
  const second = await s.session.prompt("two");
  assert.deepEqual(first.messages.map(shown), [["one"], ["a"]]);
  assert.deepEqual(second.messages.map(shown), [["one"], ["a"], ["two"], ["b"]]);
  assert.deepEqual([second.text, second.turns, second.iterations], ["b", 1, 1]);
  assert.equal(second.usage.input_tokens, 10);
});

test("U10: a new prompt of a person resets every count", async () => {
  const checks: unknown[] = [];
  const model = scripted([], { then: { text: "done" } });
  const s = stage({
    model,
    price: () => 1,
    limits: { stalls: 2, iterations: 3, tokens: 45, dollars: 5, continuations: 5 },
    hooks: {
      stop: (e) => {
        checks.push([e.stop_hook_active, e.continuations, e.stalled, e.remaining]);
        return keepGoing("more");
      },
    },
  });
  for (let i = 0; i < 3; i++) {
    const result = await s.session.prompt(`prompt ${i}`);
    assert.deepEqual([result.stop, result.iterations], ["stop_hook_stalled", 3], `prompt ${i}`);
    assert.deepEqual(checks.splice(0), [[false, 0, 0, 2], [true, 1, 1, 1], [true, 2, 2, 0]]);
  }
  assert.equal(model.requests.length, 9);
});

test("a prompt after an end in the middle of things joins what was left, and stays a valid conversation", async () => {
  const model = scripted([calls(["Echo", "a"]), { text: "b" }]);
  const s = stage({ model, tools: [echo], limits: { iterations: 1 } });
  assert.equal((await s.session.prompt("one")).stop, "max_iterations");
  const { messages, text } = await s.session.prompt("two");
  assert.deepEqual(messages.map(shown), [["one"], ["tool_use"], ['toolu_scripted_0001: "a"', "two"], ["b"]]);
  assert.equal(invalidConversation(messages), undefined);
  assert.equal(text, "b");
});

test("the text of a run that said nothing is empty, also after one that did", async () => {
  const s = stage({ model: scripted([{ text: "a" }, { http: 400 }]) });
  await s.session.prompt("one");
  assert.equal((await s.session.prompt("two")).text, "");
});

test("U6: what one prompt was denied leaves no trace in the next", async () => {
  const model = scripted([{ text: "b" }]);
  let n = 0;
  const s = stage({
    model,
    hooks: { userPromptSubmit: () => n++ === 0 ? { ...deny("no"), context: "x" } : undefined },
  });
  assert.equal((await s.session.prompt("one")).stop, "denied");
  await s.session.prompt("two");
  assert.deepEqual(s.state.messages.map(shown), [["two"], ["b"]]);
});

test("a prompt that was over before it began opens no session; the next one does", async () => {
  const seen: string[] = [];
  const model = scripted([{ text: "b" }]);
  const s = stage({ model, hooks: [watch(seen), { sessionStart: () => context("hello") }] });
  const gone = await s.session.prompt("one", { signal: AbortSignal.abort() });
  assert.equal(gone.stop, "aborted");
  assert.deepEqual(seen, ["agent-stop"]);
  await s.session.prompt("two");
  assert.equal(seen.filter((e) => e === "session-start").length, 1);
  assert.match(shown(model.requests[0]!.messages[0])[0]!, /hello/);
});

test("an interrupt ends one prompt, not the session", async () => {
  const controller = new AbortController();
  const model = scripted([{ stall: "start" }, { text: "b" }]);
  const s = stage({ model, on: (e) => e.type === "message" ? queueMicrotask(() => controller.abort()) : undefined });
  assert.equal((await within(s.session.prompt("one", { signal: controller.signal }))).stop, "aborted");
  assert.equal((await s.session.prompt("two")).stop, "done");
});

test("close() ends the prompt that is on, and session-end comes after its agent-stop", async () => {
  const seen: string[] = [];
  const s = stage({ model: scripted([{ stall: "start" }]), hooks: watch(seen) });
  const running = s.session.prompt("one");
  for (let i = 0; i < 20; i++) await undefined;
  await within(s.session.close());
  assert.equal((await running).stop, "aborted");
  assert.deepEqual(seen.slice(-2), ["agent-stop", "session-end"]);
});

test("close() tells why and how long; hooks of session-end run to their end", async () => {
  const noted: unknown[] = [];
  const s = stage({
    model: scripted([{ text: "a" }]),
    hooks: {
      stop: async () => {
        await s.clock.sleep(250);
      },
      sessionEnd: async (e: EventOf<"session-end">) => {
        await s.clock.sleep(10);
        noted.push([e.reason, e.duration_ms]);
      },
    },
  });
  await s.session.prompt("one");
  await s.session.close("clear");
  assert.deepEqual(noted, [["clear", 250]]);
});

test("close() gives work in the background a grace before session-end and after, and then leaves it", async () => {
  const s = stage({ model: scripted([{ text: "a" }]) });
  s.state.background.add(new Promise(() => {}));
  await s.session.prompt("one");
  await within(s.session.close());
  assert.equal(s.clock.tick(), 4000);
});

test("close() tells async hooks that still run to stop, and nothing of them is left", async () => {
  let noted = false;
  const [base] = codeHooks([{ iteration: () => undefined }]);
  const hook: HookRecord = {
    ...base!,
    mode: "async",
    run: (_, ctx) => {
      ctx.signal.addEventListener("abort", () => noted = true);
      return new Promise(() => {});
    },
  };
  const s = stage({ model: scripted([{ text: "a" }]), hooks: hook });
  await s.session.prompt("one");
  assert.equal(s.state.background.size, 1);
  await within(s.session.close());
  assert.equal(noted, true);
  assert.equal(s.state.background.size, 0);
  assert.equal(s.clock.sleeping, 0);
});

test("a session takes one prompt at a time, and refuses prompts after its end", async () => {
  const s = stage({ model: scripted([{ text: "a" }]) });
  const first = s.session.prompt("one");
  await assert.rejects(s.session.prompt("two"), {
    name: "TypeError",
    message: "Cannot prompt a session as it is still running: wait for its Result",
  });
  assert.equal((await first).text, "a");
  await s.session.close();
  await assert.rejects(s.session.prompt("three"), {
    name: "TypeError",
    message: "Cannot prompt a session as it is closed: open another",
  });
});

test("U16: a run keeps the hooks it began with, and a sub-agent does not ask for files again", async () => {
  const seen: string[] = [];
  const asked: (boolean | undefined)[] = [];
  let set = 0;
  const change = act("Change", "read", () => {
    set++;
    return "changed";
  });
  const sets = [0, 1, 2].map((n) => codeHooks([{ iteration: () => void seen.push(`set ${n}`) }]));
  const model = scripted([calls(["Change"]), { text: "a" }, { text: "b" }]);
  const { session } = stage({
    model,
    tools: [change],
    records: (again) => {
      asked.push(again);
      return sets[set]!;
    },
  });
  await session.prompt("one");
  await session.prompt("two");
  assert.deepEqual(seen, ["set 0", "set 0", "set 1"]);
  assert.deepEqual(asked, [true, true]);
});
