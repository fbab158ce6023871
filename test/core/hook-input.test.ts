import assert from "node:assert/strict";
import { test } from "node:test";
import { context, keepGoing } from "../../lib/core/verdict.ts";
import { scripted } from "../../lib/testing/index.ts";
import { calls, echo, last, named, played, shown, stage } from "./_stage.ts";

test("U11: HookInput of turn-start follows the input in every request of its turn, in no later turn, never in the transcript", async () => {
  const model = scripted([calls(["Echo", "a"]), { text: "one" }, { text: "two" }]);
  let turn = 0;
  const s = stage({
    model,
    tools: [echo],
    hooks: named("h", "turn-start", (_, ctx) => turn++ === 0 ? ctx.hookInput(" lint: 2 errors \n") : undefined),
  });
  await s.session.prompt("first");
  await s.session.prompt("second");
  assert.deepEqual(model.requests.map((r) => shown(r.messages[0])), [
    ["first", "HookInput (TurnStart): lint: 2 errors"],
    ["first", "HookInput (TurnStart): lint: 2 errors"],
    ["first"],
  ]);
  assert.equal(JSON.stringify(s.state.messages).includes("lint"), false);
  assert.deepEqual(
    s.events.filter((e) => e.type === "hook_input").map(({ hook, event, text }) => [hook, event, text]),
    [
      ["h", "turn-start", "lint: 2 errors"],
    ],
  );
});

test("U11: a HookInput of turn-start is not shown in the next turn of the same run", async () => {
  const model = scripted([{ text: "one" }, { text: "two" }]);
  const s = stage({
    model,
    hooks: {
      turnStart: ({ trigger }, ctx) => trigger === "user" ? ctx.hookInput("lint: 2 errors") : undefined,
      turnEnd: ({ trigger }, ctx) => trigger === "user" ? ctx.hookInput("tests fail") : undefined,
    },
  });
  await s.run("first");
  assert.deepEqual(model.requests.map((r) => r.messages.map(shown)), [
    [["first", "HookInput (TurnStart): lint: 2 errors"]],
    [["first"], ["one"], ["HookInput (TurnEnd): tests fail"]],
  ]);
});

test("U11: a HookInput that started a turn leaves one line, so that roles alternate", async () => {
  const model = scripted([{ text: "one" }, { text: "two" }, { text: "three" }]);
  let n = 0;
  const s = stage({
    model,
    hooks: named("h", "turn-end", (_, ctx) => n++ === 0 ? ctx.hookInput("tests fail") : undefined),
  });
  await s.session.prompt("first");
  await s.session.prompt("second");
  assert.ok(last(model.requests[1]).includes("HookInput (TurnEnd): tests fail"));
  assert.deepEqual(s.state.messages.map(shown), [
    ...[["first"], ["one"], ["HookInput (TurnEnd): [not kept]"], ["two"], ["second"], ["three"]],
  ]);
  assert.equal(JSON.stringify(model.requests[2]!.messages).includes("tests fail"), false);
});

test("U2, U11: ctx.hookInput elsewhere joins the turn that is on", async () => {
  const events = ["user-prompt-submit", "agent-start", "iteration", "pre-tool-use", "post-tool-use"];
  for (const event of events) {
    const model = scripted([calls(["Echo", "a"]), { text: "one" }]);
    let n = 0;
    const s = stage({
      model,
      tools: [echo],
      hooks: named("h", event, (_, ctx) => n++ === 0 ? ctx.hookInput("note") : undefined),
    });
    await s.run();
    assert.equal(JSON.stringify(model.requests[1]!.messages).split("HookInput (").length, 2, event);
    assert.equal(JSON.stringify(s.state.messages).includes("HookInput"), false, event);
  }
});

test("U2: an ephemeral context is in the requests of its turn and is not kept, wherever it was said", async () => {
  const events = [
    ...["session-start", "user-prompt-submit", "agent-start", "turn-start", "iteration"],
    ...["pre-tool-use", "post-tool-use"],
  ];
  for (const event of events) {
    const model = scripted([calls(["Echo", "a"]), { text: "one" }, { text: "two" }]);
    let n = 0;
    const s = stage({
      model,
      tools: [echo],
      hooks: named("h", event, (_, ctx) => n++ === 0 ? ctx.addContext("for now", { ephemeral: true }) : undefined),
    });
    await s.session.prompt("first");
    await s.session.prompt("second");
    const showing = model.requests.map((r) => JSON.stringify(r.messages).includes("for now"));
    assert.deepEqual(showing, [!event.includes("tool"), true, false], event);
    assert.equal(JSON.stringify(s.state.messages).includes("for now"), false, event);
  }
});

test("U5: what an async hook says is delivered at the next boundary: tool results, a stop denial, the next turn", async () => {
  const later = (name: string, event: string, text: string) => {
    let n = 0;
    return named(name, event, async () => {
      if (n++ > 0) return;
      await Promise.resolve();
      return context(text);
    }, { mode: "async" });
  };
  const model = scripted([calls(["Echo", "a"]), { text: "one" }, { text: "two" }, { text: "three" }]);
  let stops = 0;
  const s = stage({
    model,
    tools: [echo],
    hooks: [
      later("a", "pre-tool-use", "with the result"),
      named("more", "stop", () => stops++ === 0 ? keepGoing("more") : undefined),
      named("c", "iteration", async (e) => {
        if (e.total_iterations === 1) return context("with the denial");
        if (e.total_iterations === 2) return context("with the next turn");
      }, { mode: "async" }),
    ],
  });
  await s.session.prompt("first");
  await s.session.prompt("second");
  const texts = s.state.messages.map((m) => shown(m).join(" "));
  assert.match(texts[2]!, /Context from hook a: with the result/);
  assert.match(texts[4]!, /Context from hook c: with the denial.*Stop hook feedback/s);
  assert.match(texts[6]!, /Context from hook c: with the next turn.*second/s);
});

test("what an async hook says while turn-start is asked is in the first request of that turn", async () => {
  const asked = Promise.withResolvers<void>();
  const s = await played([{ text: "done" }], {
    hooks: [
      named("late", "user-prompt-submit", () => asked.promise.then(() => context("in time")), { mode: "async" }),
      named("slow", "turn-start", async () => {
        asked.resolve();
        for (let i = 0; i < 100; i++) await Promise.resolve();
      }),
    ],
  });
  assert.match(last(s.model.requests[0]).join(" "), /Context from hook late: in time/);
});
