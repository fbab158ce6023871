import assert from "node:assert/strict";
import { test } from "node:test";
import { assistant, type Message, user } from "../../lib/core/messages.ts";
import { context, deny, halt, modify } from "../../lib/core/verdict.ts";
import { scripted } from "../../lib/testing/index.ts";
import { calls, echo, last, named, played, said, shown, stage, watch } from "./_stage.ts";

test("U6: session-start: context stands before the first user input; deny and halt are ignored with a warning", async () => {
  const model = scripted([{ text: "hi" }, { text: "again" }]);
  const s = stage({
    model,
    hooks: [
      named("ctx", "session-start", () => context("be kind")),
      named("no", "session-start", () => deny("no")),
      named("stop", "session-start", () => halt("no")),
    ],
  });
  assert.equal((await s.session.prompt("go")).stop, "done");
  await s.session.prompt("more");
  assert.deepEqual(last(model.requests[0]), [said("ctx", "be kind"), "go"]);
  assert.deepEqual(last(model.requests[1]), ["more"]);
  assert.deepEqual(s.warnings(), [
    "Hook no denied session-start, which cannot be denied: ignored",
    "Hook stop cannot halt at session start: ignored",
  ]);
});

test("U6: user-prompt-submit: modify replaces the prompt, context stands after it or before it as its dialect wants", async () => {
  const s = await played([{ text: "hi" }], {
    hooks: [
      named("m", "user-prompt-submit", (e) => modify(e.prompt.toUpperCase())),
      named("c", "user-prompt-submit", () => context("after")),
      named("b", "user-prompt-submit", () => 0, { read: () => ({ contexts: [{ text: "before", place: "before" }] }) }),
    ],
  });
  assert.deepEqual(last(s.model.requests[0]), [said("b", "before"), "GO", said("c", "after")]);
});

test("U6: user-prompt-submit: a denial drops the prompt: no agent, no request, nothing in the transcript, the reason shown", async () => {
  const seen: string[] = [];
  const s = await played([{ text: "never" }], {
    hooks: [watch(seen), named("no", "user-prompt-submit", () => deny("rude"))],
  });
  assert.equal(s.result.stop, "denied");
  assert.equal(s.result.text, "Prompt dropped by hook no: rude");
  assert.deepEqual(s.result.messages, []);
  assert.deepEqual(seen, ["session-start", "user-prompt-submit", "session-end"]);
});

test("U6: user-prompt-submit: halt ends quietly before any request", async () => {
  const s = await played([], { hooks: named("h", "user-prompt-submit", () => halt("closed")) });
  const { stop, text, messages, error } = s.result;
  assert.deepEqual([stop, text, messages, error], ["halted", "Operation stopped by hook: closed", [], undefined]);
});

test("U6, S0.4: agent-start: modify replaces the task, context joins the first message", async () => {
  const noted: unknown[] = [];
  const s = await played([{ text: "hi" }], {
    hooks: [
      named("m", "agent-start", (e) => {
        noted.push([e.agent_id, e.task, e.agent_type]);
        return { ...modify("other"), context: "look" };
      }),
    ],
  });
  assert.deepEqual(noted, [["session-1", "go", "tester"]]);
  assert.deepEqual(last(s.model.requests[0]), ["other", said("m", "look")]);
});

test("U6: agent-start: a denied agent does not run, and still has its agent-stop", async () => {
  const seen: string[] = [];
  const s = await played([], { hooks: [watch(seen), named("no", "agent-start", () => deny("not today"))] });
  assert.deepEqual([s.result.stop, s.result.text, s.result.messages], ["denied", "Blocked by hook: not today", []]);
  assert.deepEqual(seen.slice(2), ["agent-start", "agent-stop", "session-end"]);
});

test("U6: turn-start: modify changes system and history for the turn and for nothing else; absent parts stay", async () => {
  const replies = [{ text: "one" }, calls(["Echo", "a"]), { text: "two" }, { text: "three" }, { text: "four" }];
  const model = scripted(replies);
  const seen: string[] = [];
  const s = stage({
    model,
    tools: [echo],
    hooks: {
      turnStart: (e) => {
        const turn = seen.push(e.turn.system);
        if (turn === 2) return modify({ messages: [user("earlier"), assistant("yes")] });
        if (turn === 3) return modify({ system: "Other." });
      },
    },
  });
  for (const prompt of ["first", "second", "third", "fourth"]) await s.session.prompt(prompt);
  assert.deepEqual(seen, Array(4).fill("You test."));
  const asked = model.requests.map((r) => [r.system, ...r.messages.map((m) => shown(m).join("|"))]);
  assert.deepEqual(asked[1], ["You test.", "earlier", "yes", "second"]);
  assert.deepEqual(asked[2], ["You test.", "earlier", "yes", "second", "tool_use", 'toolu_scripted_0001: "a"']);
  const kept = ["first", "one", "second", "tool_use", 'toolu_scripted_0001: "a"', "two", "third", "three", "fourth"];
  assert.deepEqual(asked[3], ["Other.", ...kept.slice(0, 7)]);
  assert.deepEqual(asked[4], ["You test.", ...kept]);
  assert.deepEqual(s.state.messages.map((m) => shown(m)[0]), [...kept, "four"]);
});

test("turn-start: a changed history keeps the new prompt, even if it joined an existing message", async () => {
  const model = scripted([calls(["Echo", "a"]), { text: "done" }]);
  let turn = 0;
  const s = stage({
    model,
    tools: [echo],
    limits: { iterations: 1 },
    hooks: { turnStart: () => ++turn === 2 ? modify({ messages: [user("earlier"), assistant("yes")] }) : undefined },
  });
  assert.equal((await s.session.prompt("first")).stop, "max_iterations");
  await s.session.prompt("second");
  assert.deepEqual(model.requests[1]!.messages.map(shown), [["earlier"], ["yes"], ["second"]]);
  assert.deepEqual(s.state.messages.map(shown)[2], ['toolu_scripted_0001: "a"', "second"]);
});

test("turn-start: a history the model would refuse is the hook's failure, which ends the run", async () => {
  for (const messages of [[assistant("I begin")], "none", [user("a"), assistant([])]]) {
    const s = await played([], {
      hooks: named("bad", "turn-start", () => modify({ messages: messages as Message[] })),
    });
    assert.equal(s.result.stop, "error");
    assert.match(s.result.error!.message, /Hook bad failed on turn-start: Cannot use the changed messages/);
  }
});

test("U6: turn-start: a refused turn makes no request, no stop and no turn-end; what waited for it waits on", async () => {
  const seen: string[] = [];
  let refuse = true;
  const model = scripted([{ text: "ok" }]);
  const s = stage({
    model,
    hooks: [
      watch(seen),
      named("ctx", "session-start", () => context("be kind")),
      named("no", "turn-start", () => refuse ? deny("closed") : undefined),
    ],
  });
  const result = await s.session.prompt("go");
  assert.deepEqual([result.stop, result.text], ["denied", "Turn refused by hook no: closed"]);
  assert.deepEqual(seen, ["session-start", "user-prompt-submit", "agent-start", "turn-start", "agent-stop"]);
  refuse = false;
  await s.session.prompt("again");
  assert.deepEqual(last(model.requests[0]), [said("ctx", "be kind"), "again"]);
});

test("U6: turn-start: context follows the input and is kept", async () => {
  const s = await played([{ text: "ok" }], { hooks: named("c", "turn-start", () => context("note")) });
  assert.deepEqual(shown(s.result.messages[0]), ["go", said("c", "note")]);
});

test("S4.11, C21: iteration changes the system prompt and appends messages for one call only", async () => {
  const s = await played([calls(["Echo", "a"]), calls(["Echo", "b"]), { text: "done" }], {
    hooks: {
      iteration: (e) => {
        if (e.iteration === 0) return modify({ system: `${e.request.system} Twice.`, append: "psst" });
        if (e.iteration === 1) return modify({ append: [user("really"), assistant("yes"), user("so?")] });
      },
    },
  });
  assert.deepEqual(s.model.requests.map((r) => r.system), ["You test. Twice.", "You test.", "You test."]);
  assert.deepEqual(s.model.requests[0]!.messages.map(shown), [["go", "psst"]]);
  assert.deepEqual(s.model.requests[1]!.messages.slice(2).map(shown), [
    ['toolu_scripted_0001: "a"', "really"],
    ["yes"],
    ["so?"],
  ]);
  assert.equal(JSON.stringify(s.result.messages).includes("psst"), false);
  assert.equal(s.model.requests[2]!.messages.length, 5);
});

test("iteration: messages the model would refuse are the hook's failure", async () => {
  for (
    const append of [5, [assistant([]), user("x")], [{
      role: "user",
      content: [{ type: "tool_use", id: "x", name: "y", input: {} }],
    }]]
  ) {
    const s = await played([], { hooks: named("bad", "iteration", () => modify({ append } as never)) });
    assert.equal(s.result.stop, "error");
    assert.match(s.result.error!.message, /Hook bad failed on iteration: Cannot append/);
  }
});

test("S0.8: what an iteration hook does to the request it sees changes nothing that is sent", async () => {
  const refused: string[] = [];
  const s = await played([{ text: "ok" }], {
    hooks: {
      iteration: (e) => {
        const { messages } = e.request;
        for (const list of [messages, messages[0]!.content]) {
          try {
            (list as unknown[]).push({ type: "text", text: "smuggled" });
          } catch (error) {
            refused.push((error as Error).name);
          }
        }
      },
    },
  });
  assert.deepEqual(refused, ["TypeError", "TypeError"]);
  assert.deepEqual(last(s.model.requests[0]), ["go"]);
});

test("U6, S4.12: iteration: deny or a failure ends the run with an error; context joins the messages", async () => {
  for (
    const run of [() => deny("enough"), () => {
      throw new Error("enough");
    }]
  ) {
    const seen: string[] = [];
    const s = await played([], { hooks: [watch(seen), named("no", "iteration", run)] });
    assert.equal(s.result.stop, "error");
    assert.match(s.result.error!.message, /no.*enough/);
    assert.deepEqual(seen.slice(-2), ["agent-stop", "session-end"]);
    assert.deepEqual(s.result.messages.map(shown), [["go"]]);
  }
  const model = scripted([{ text: "ok" }]);
  await stage({ model, hooks: named("c", "iteration", () => context("note")) }).run();
  assert.deepEqual(last(model.requests[0]), ["go", said("c", "note")]);
});

test("an empty prompt is sent as one that says so", async () => {
  const model = scripted([{ text: "ok" }]);
  await stage({ model, hooks: { userPromptSubmit: () => modify("  ") } }).run("go");
  assert.deepEqual(last(model.requests[0]), ["(empty prompt)"]);
});
