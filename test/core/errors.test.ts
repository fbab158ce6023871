import assert from "node:assert/strict";
import { test } from "node:test";
import { type CodeHooks, codeHooks } from "../../lib/hooks/code-hooks.ts";
import { invalidConversation } from "../../lib/core/messages.ts";
import { ModelError } from "../../lib/core/model.ts";
import { deny, halt, modify } from "../../lib/core/verdict.ts";
import { scripted } from "../../lib/testing/index.ts";
import { act, calls, echo, OPENING, played, results, shown, stage, watch, within } from "./_stage.ts";

test("U17: mid-stream errors and cuts are tried again while nothing has happened, with growing waits", async () => {
  const model = scripted([{ text: "ha", error: "overloaded_error" }, { text: "lf", cut: 3 }, { text: "whole" }]);
  const s = stage({ model });
  const result = await s.run();
  assert.deepEqual([result.stop, result.text, result.iterations], ["done", "whole", 1]);
  const retries = s.events.filter((e) => e.type === "retry");
  assert.deepEqual(retries.map((e) => [e.attempt, e.wait_ms]), [[1, 500], [2, 1000]]);
  assert.equal(s.clock.tick(), 1500);
  assert.deepEqual(result.messages.map((m) => shown(m)), [["go"], ["whole"]]);
});

test("a failing model call is tried exactly three times; the Result has the error and the transcript", async () => {
  const model = scripted([], { then: { text: "x", error: "api_error" } });
  const result = await stage({ model }).run();
  assert.equal(model.requests.length, 3);
  assert.equal(result.stop, "error");
  assert.equal(result.error!.type, "api_error");
  assert.deepEqual(result.messages.map(shown), [["go"]]);
});

test("a server's retry-after is honoured", async () => {
  let attempts = 0;
  const model = scripted([], {
    then: () => {
      if (attempts++ === 0) {
        throw new ModelError("busy", { code: "rate_limit_error", retryable: true, retryAfter: 7000 });
      }
      return { text: "ok" };
    },
  });
  const s = stage({ model });
  assert.equal((await s.run()).text, "ok");
  assert.equal(s.clock.tick(), 7000);
});

test("U9: on a model error there is no stop and no turn-end, but the error event, stop-failure and agent-stop", async () => {
  const seen: string[] = [];
  const model = scripted([{ http: 400 }]);
  const result = await stage({ model, hooks: watch(seen) }).run();
  assert.equal(result.stop, "error");
  assert.deepEqual(seen, [...OPENING, "iteration", "error", "stop-failure", "agent-stop", "session-end"]);
});

test("stop-failure says how the model failed; other ends do not fire it", async () => {
  const seen: unknown[] = [];
  const hooks: CodeHooks = {
    stopFailure: ({ error, error_details, last_assistant_message }) => {
      seen.push([error, error_details !== "", last_assistant_message]);
    },
  };
  const failing = scripted([{ text: "first", tools: [{ name: "Echo", input: { say: "a" } }] }, { http: 400 }]);
  const s = stage({ model: failing, tools: [echo], hooks });
  assert.equal((await s.run()).stop, "error");
  assert.deepEqual(seen, [["invalid_request_error", true, "first"]]);
  await stage({ model: scripted([{ text: "fine" }]), hooks }).run();
  await stage({ model: scripted([{ text: "fine" }]), hooks: [hooks, { stop: () => halt("enough") }] }).run();
  assert.equal(seen.length, 1);
});

test("U6, S3.3, S3.4: an error hook may have a model call tried once more, and hears of the second failure too", async () => {
  const noted: [tool: string | null, severity: string, retry: boolean][] = [];
  const model = scripted([{ http: 400 }, { http: 400 }, { text: "never" }]);
  const s = stage({
    model,
    hooks: {
      error: (e) => {
        noted.push([e.tool, e.severity, e.retry]);
        return modify(true);
      },
    },
  });
  const result = await s.run();
  assert.deepEqual(noted, [[null, "critical", true], [null, "critical", false]]);
  assert.equal(result.stop, "error");
  assert.equal(model.requests.length, 2);
  const good = scripted([{ http: 400 }, { text: "second" }]);
  assert.equal((await stage({ model: good, hooks: { error: () => modify(true) } }).run()).text, "second");
  const once = scripted([{ http: 400 }, { text: "never" }]);
  assert.equal((await stage({ model: once, hooks: { error: () => modify(false) } }).run()).stop, "error");
});

test("U6, S3.4: an error hook may have a tool tried once more, unless it writes: effects never happen twice", async () => {
  for (const effect of ["none", "read", "write"] as const) {
    let ran = 0;
    const noted: unknown[] = [];
    const flaky = act("Flaky", effect, () => {
      if (++ran === 1) throw new RangeError("first");
      return "second";
    });
    const model = scripted([calls(["Flaky"]), { text: "done" }]);
    const result = await stage({
      model,
      tools: [flaky],
      hooks: {
        error: (e) => {
          noted.push([e.error_type, e.error_message, e.tool, e.severity, e.retry]);
          return modify(true);
        },
      },
    }).run();
    assert.equal(ran, effect === "write" ? 1 : 2);
    assert.deepEqual(noted, [["RangeError", "first", "Flaky", "error", effect !== "write"]]);
    assert.deepEqual(results(result.messages).map((r) => r.content), [effect === "write" ? "first" : "second"]);
  }
});

test("an error hook that denies ends the run; a call that ran is answered with what it gave, not as if it never ran", async () => {
  const model = scripted([calls(["Boom", "it broke"], ["Echo", "later"])]);
  const result = await stage({
    model,
    tools: [
      act("Boom", "write", () => {
        throw new Error("it broke");
      }),
      act("Echo", "write", () => "later"),
    ],
    hooks: { error: () => deny("no more") },
  }).run();
  assert.equal(result.stop, "error");
  assert.match(result.error!.message, /no more/);
  assert.deepEqual(results(result.messages).map((r) => r.content), [
    "it broke",
    "The call was interrupted before it ran",
  ]);
  assert.equal(invalidConversation(result.messages), undefined);
});

test("a listener that throws ends the run with a Result, and the cleanup still runs", async () => {
  for (const type of ["start", "hook_end", "message", "fired", "text"]) {
    const seen: string[] = [];
    let thrown = false;
    const s = stage({
      model: scripted([], { then: { text: "hi" } }),
      hooks: [watch(seen), { iteration: async () => {} }],
      on: (e) => {
        if (e.type !== type || thrown) return;
        thrown = true;
        throw new Error("deaf");
      },
    });
    const result = await within(s.run());
    assert.equal(result.stop, "error", type);
    assert.equal(result.error!.message, "deaf", type);
    assert.deepEqual(seen.slice(-2), ["agent-stop", "session-end"], type);
  }
});

test("a listener that throws at a background hook also ends the run", async () => {
  for (const type of ["hook_start", "hook_end", "log"]) {
    const [late] = codeHooks([{ iteration: (_event, ctx) => ctx.log("seen") }]);
    const s = stage({
      model: scripted([calls(["Echo", "a"]), { text: "never" }]),
      tools: [echo],
      records: () => [{ ...late!, mode: "async" }],
      on: (e) => {
        if (e.type === type) throw new Error("deaf");
      },
    });
    const result = await within(s.run());
    assert.deepEqual([result.stop, result.error?.message], ["error", "deaf"], type);
  }
});

test("U15: the store is waited for, and a message it cannot keep ends the run with every call answered", async () => {
  const saved: number[] = [];
  const s = await played([calls(["Echo", "a"]), { text: "never" }], {
    state: {
      save: (message, index) => {
        saved.push(index);
        return message.role === "assistant" ? Promise.reject(new Error("disk full")) : Promise.resolve();
      },
    },
  });
  assert.equal(s.result.stop, "error");
  assert.equal(s.result.error!.message, "disk full");
  assert.deepEqual(saved, [0, 1, 2]);
  assert.deepEqual(results(s.result.messages), [{ content: "The call was interrupted before it ran", is_error: true }]);
  assert.equal(invalidConversation(s.result.messages), undefined);
});
