import assert from "node:assert/strict";
import { test } from "node:test";
import type { CodeHooks } from "../../lib/core/code-hooks.ts";
import type { EventOf } from "../../lib/core/events.ts";
import type { HookContext, HookRecord } from "../../lib/core/hook.ts";
import { assistant, invalidConversation, type Message, user } from "../../lib/core/messages.ts";
import { expectEvent } from "../../lib/core/names.ts";
import { ModelError, type ModelRequest } from "../../lib/core/model.ts";
import { tool } from "../../lib/core/tool.ts";
import { allow, ask, context, deny, halt, keepGoing, modify, type Opinion } from "../../lib/core/verdict.ts";
import { scripted, type ScriptEntry } from "../../lib/testing/index.ts";
import { act, boom, calls, echo, fail, record, results, shown, stage, watch, write } from "./_stage.ts";

const said = (hook: string, text: string) =>
  `<system-reminder>\nContext from hook ${hook}: ${text}\n</system-reminder>`;

const last = (request: ModelRequest | undefined) => shown(request!.messages.at(-1));

/** A hook of one event under a name of its own. */
function named(
  name: string,
  event: string,
  run: (event: any, ctx: HookContext) => unknown,
  given: Partial<HookRecord> = {},
): HookRecord {
  return record({ name, on: [expectEvent(event)], run, ...given });
}

test("session-start: context stands before the first user input; deny and halt are ignored with a warning", async () => {
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

test("user-prompt-submit: modify replaces the prompt, context stands after it or before it as its dialect wants", async () => {
  const model = scripted([{ text: "hi" }]);
  const s = stage({
    model,
    hooks: [
      named("m", "user-prompt-submit", (e) => modify(e.prompt.toUpperCase())),
      named("c", "user-prompt-submit", () => context("after")),
      named("b", "user-prompt-submit", () => 0, { read: () => ({ contexts: [{ text: "before", place: "before" }] }) }),
    ],
  });
  await s.run("go");
  assert.deepEqual(last(model.requests[0]), [said("b", "before"), "GO", said("c", "after")]);
});

test("user-prompt-submit: a denial drops the prompt: no agent, no request, nothing in the transcript, the reason shown", async () => {
  const seen: string[] = [];
  const s = stage({
    model: scripted([{ text: "never" }]),
    hooks: [watch(seen), named("no", "user-prompt-submit", () => deny("rude"))],
  });
  const result = await s.run("go");
  assert.equal(result.stop, "denied");
  assert.equal(result.text, "Prompt dropped by hook no: rude");
  assert.deepEqual(result.messages, []);
  assert.deepEqual(seen, ["session-start", "user-prompt-submit", "session-end"]);
});

test("user-prompt-submit: halt ends quietly before any request", async () => {
  const s = stage({ model: scripted([]), hooks: named("h", "user-prompt-submit", () => halt("closed")) });
  const { stop, text, messages, error } = await s.run("go");
  assert.deepEqual([stop, text, messages, error], ["halted", "Operation stopped by hook: closed", [], undefined]);
});

test("agent-start: modify replaces the task, context joins the first message; S0.4", async () => {
  const told: unknown[] = [];
  const model = scripted([{ text: "hi" }]);
  const s = stage({
    model,
    hooks: [
      named("m", "agent-start", (e) => {
        told.push([e.agent_id, e.task, e.agent_type]);
        return { ...modify("other"), context: "look" };
      }),
    ],
  });
  await s.run("go");
  assert.deepEqual(told, [["session-1", "go", "tester"]]);
  assert.deepEqual(last(model.requests[0]), ["other", said("m", "look")]);
});

test("agent-start: a denied agent does not run, and still has its agent-stop", async () => {
  const seen: string[] = [];
  const s = stage({ model: scripted([]), hooks: [watch(seen), named("no", "agent-start", () => deny("not today"))] });
  const result = await s.run();
  assert.deepEqual([result.stop, result.text, result.messages], ["denied", "Blocked by hook: not today", []]);
  assert.deepEqual(seen.slice(2), ["agent-start", "agent-stop", "session-end"]);
});

test("turn-start: modify changes system and history for the turn and for nothing else; absent parts stay", async () => {
  const model = scripted([{ text: "one" }, calls(["Echo", "a"]), { text: "two" }, { text: "three" }]);
  let turn = 0;
  const s = stage({
    model,
    tools: [echo],
    hooks: {
      turnStart: (e) => {
        turn++;
        assert.equal(e.turn.system, "You test.");
        if (turn === 2) return modify({ messages: [user("earlier"), assistant("yes")] });
        if (turn === 3) return modify({ system: "Other." });
      },
    },
  });
  for (const prompt of ["first", "second", "third"]) await s.session.prompt(prompt);
  const asked = model.requests.map((r) => [r.system, ...r.messages.map((m) => shown(m).join("|"))]);
  assert.deepEqual(asked[1], ["You test.", "earlier", "yes", "second"]);
  assert.deepEqual(asked[2], ["You test.", "earlier", "yes", "second", "tool_use", 'toolu_scripted_0001: "a"']);
  assert.deepEqual(asked[3]!.slice(0, 3), ["Other.", "first", "one"]);
  assert.deepEqual(s.life.messages.map((m) => shown(m)[0]), [
    ...["first", "one", "second", "tool_use", 'toolu_scripted_0001: "a"', "two", "third", "three"],
  ]);
});

test("turn-start: a changed history keeps the new prompt also where it joined a message that was there", async () => {
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
  assert.deepEqual(s.life.messages.map(shown)[2], ['toolu_scripted_0001: "a"', "second"]);
});

test("turn-start: a history the model would refuse is the hook's failure, which ends the run", async () => {
  for (const messages of [[assistant("I begin")], "none", [user("a"), assistant([])]]) {
    const s = stage({
      model: scripted([]),
      hooks: named("bad", "turn-start", () => modify({ messages: messages as Message[] })),
    });
    const result = await s.run();
    assert.equal(result.stop, "error");
    assert.match(result.error!.message, /Hook bad failed on turn-start: Cannot use the changed messages/);
  }
});

test("turn-start: a refused turn makes no request, no stop and no turn-end; what waited for it waits on", async () => {
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

test("turn-start: context follows the input and is kept", async () => {
  const model = scripted([{ text: "ok" }]);
  const s = stage({ model, hooks: named("c", "turn-start", () => context("note")) });
  const { messages } = await s.run("go");
  assert.deepEqual(shown(messages[0]), ["go", said("c", "note")]);
});

test("S4.11, C21: iteration changes the system prompt and appends messages for one call only", async () => {
  const model = scripted([calls(["Echo", "a"]), calls(["Echo", "b"]), { text: "done" }]);
  const s = stage({
    model,
    tools: [echo],
    hooks: {
      iteration: (e) => {
        if (e.iteration === 0) return modify({ system: `${e.request.system} Twice.`, append: "psst" });
        if (e.iteration === 1) return modify({ append: [user("really"), assistant("yes"), user("so?")] });
      },
    },
  });
  const result = await s.run();
  assert.deepEqual(model.requests.map((r) => r.system), ["You test. Twice.", "You test.", "You test."]);
  assert.deepEqual(model.requests[0]!.messages.map(shown), [["go", "psst"]]);
  assert.deepEqual(model.requests[1]!.messages.slice(2).map(shown), [
    ['toolu_scripted_0001: "a"', "really"],
    ["yes"],
    ["so?"],
  ]);
  assert.equal(JSON.stringify(result.messages).includes("psst"), false);
  assert.equal(model.requests[2]!.messages.length, 5);
});

test("iteration: messages the model would refuse are the hook's failure", async () => {
  for (
    const append of [5, [assistant([]), user("x")], [{
      role: "user",
      content: [{ type: "tool_use", id: "x", name: "y", input: {} }],
    }]]
  ) {
    const s = stage({ model: scripted([]), hooks: named("bad", "iteration", () => modify({ append } as never)) });
    const result = await s.run();
    assert.equal(result.stop, "error");
    assert.match(result.error!.message, /Hook bad failed on iteration: Cannot append/);
  }
});

test("S0.8: what an iteration hook does to the request it sees changes nothing that is sent", async () => {
  const model = scripted([{ text: "ok" }]);
  const s = stage({
    model,
    hooks: {
      iteration: (e) => {
        const { messages } = e.request;
        for (const list of [messages, messages[0]!.content]) {
          assert.throws(() => (list as unknown[]).push({ type: "text", text: "smuggled" }), TypeError);
        }
      },
    },
  });
  await s.run();
  assert.deepEqual(last(model.requests[0]), ["go"]);
});

test("S4.12: iteration: deny or a failure ends the run with an error; context joins the messages", async () => {
  for (
    const run of [() => deny("enough"), () => {
      throw new Error("enough");
    }]
  ) {
    const seen: string[] = [];
    const s = stage({ model: scripted([]), hooks: [watch(seen), named("no", "iteration", run)] });
    const result = await s.run();
    assert.equal(result.stop, "error");
    assert.match(result.error!.message, /no.*enough/);
    assert.deepEqual(seen.slice(-2), ["agent-stop", "session-end"]);
    assert.deepEqual(result.messages.map(shown), [["go"]]);
  }
  const model = scripted([{ text: "ok" }]);
  await stage({ model, hooks: named("c", "iteration", () => context("note")) }).run();
  assert.deepEqual(last(model.requests[0]), ["go", said("c", "note")]);
});

test("S0.14, S4.14: pre-tool-use: a denied tool is not run and the reason reaches the model as an error result", async () => {
  const rows: [CodeHooks, string][] = [
    [named("no", "pre-tool-use", () => deny("no rm")), "Denied by hook no: no rm"],
    [named("no", "pre-tool-use", () => ({ Block: "no rm" })), "Denied by hook no: no rm"],
    [named("no", "pre-tool-use", () => ({ action: "deny" })), "Denied by hook no"],
    [named("no", "pre-tool-use", () => deny(" ")), "Denied by hook no"],
    [
      named("no", "pre-tool-use", () => {
        throw new Error("bad day");
      }),
      "Denied by hook no: bad day",
    ],
    [
      named("no", "pre-tool-use", () => 0, { read: () => ({ decision: "deny", text: "Host's words" }) }),
      "Host's words",
    ],
  ];
  for (const [hooks, content] of rows) {
    let ran = false;
    const model = scripted([calls(["Do"]), { text: "done" }]);
    const s = stage({ model, tools: [act("Do", "write", () => (ran = true, "ran"))], hooks });
    const result = await s.run();
    assert.equal(ran, false);
    assert.deepEqual(results(model.requests[1]!.messages), [{ content, is_error: true }]);
    assert.equal(result.stop, "done");
  }
});

test("S0.2, S0.15, S4.7, S4.8: pre-tool-use: the tool runs with the new input as a whole; history keeps the model's own", async () => {
  const seen: unknown[] = [];
  const model = scripted([calls(["Echo", "a"]), { text: "done" }]);
  const s = stage({
    model,
    tools: [echo],
    hooks: {
      preToolUse: [
        (e) => {
          assert.deepEqual([e.tool_name, e.input], ["Echo", { say: "a" }]);
          return modify({ say: `${e.input.say}b` });
        },
        (e) => ({ Transform: { say: `${e.input.say}c` } }),
      ],
      postToolUse: (e) => void seen.push([e.input, e.original_input]),
    },
  });
  const { messages } = await s.run();
  assert.deepEqual(results(messages), [{ content: "abc", is_error: false }]);
  assert.deepEqual(seen, [[{ say: "abc" }, { say: "a" }]]);
  assert.deepEqual(messages[1]!.content.map((b) => (b as { input?: unknown }).input), [{ say: "a" }]);
});

test("U6: pre-tool-use: a rewritten input is validated again; a bad rewrite never runs and is named", async () => {
  let ran = false;
  const model = scripted([calls(["Do", "a"]), { text: "done" }]);
  const s = stage({
    model,
    tools: [act("Do", "write", () => (ran = true, "ran"))],
    hooks: named("clumsy", "pre-tool-use", () => modify({ say: 5 })),
  });
  const result = await s.run();
  assert.equal(ran, false);
  const [answer] = results(result.messages);
  assert.match(
    String(answer!.content),
    /^PreToolUse hook for Do returned updatedInput that failed schema validation: say: .*\(hook clumsy\)/,
  );
  assert.equal(s.events.find((e) => e.type === "tool_end")!.outcome, "invalid");
});

test("S4.9, C22: contexts of tool hooks are text blocks after all tool_results, in order, also beside a denial", async () => {
  const model = scripted([calls(["Echo", "a"], ["Write", "b"]), { text: "done" }]);
  const s = stage({
    model,
    tools: [echo, write],
    hooks: [
      named("p", "pre-tool-use", (e, ctx) => {
        ctx.addContext(`pre ${e.tool_name}`);
        return e.tool_name === "Write" ? { ...deny("no"), context: "and so" } : undefined;
      }),
      named("q", "post-tool-use", (e) => context(`post ${e.tool_name}`)),
    ],
  });
  const { messages } = await s.run();
  assert.deepEqual(shown(messages[2]), [
    'toolu_scripted_0001: "a"',
    'toolu_scripted_0002: "Denied by hook p: no"',
    said("p", "pre Echo"),
    said("q", "post Echo"),
    said("p", "pre Write"),
    said("p", "and so"),
  ]);
});

test("post-tool-use: deny leaves the result and adds feedback, all of it in order", async () => {
  const model = scripted([calls(["Echo", "a"]), { text: "done" }]);
  const s = stage({
    model,
    tools: [echo],
    hooks: [
      named("lint", "post-tool-use", () => deny("tabs")),
      named("size", "post-tool-use", () => ({ ...deny("long"), context: "see RULES" })),
    ],
  });
  const { messages } = await s.run();
  assert.deepEqual(shown(messages[2]), [
    'toolu_scripted_0001: "a"',
    "Feedback from hook lint: tabs",
    "Feedback from hook size: long",
    said("size", "see RULES"),
  ]);
});

test("post-tool-use: a dialect's own words and contexts may stand inside the tool_result", async () => {
  const model = scripted([calls(["Echo", "a"]), { text: "done" }]);
  const s = stage({
    model,
    tools: [echo],
    hooks: named("host", "post-tool-use", () => 0, {
      read: () => ({
        decision: "deny",
        reason: "R",
        text: "Blocked: R",
        contexts: [
          { text: "one", label: "Host context", place: "result" },
          { text: "two", label: "Host context", place: "result" },
        ],
      }),
    }),
  });
  const { messages } = await s.run();
  assert.deepEqual(results(messages), [{
    content: "a\n\nBlocked: R\n\n<system-reminder>\nHost context: one\ntwo\n</system-reminder>",
    is_error: false,
  }]);
});

test("post-tool-use: modify replaces the result: a text, a whole result, null for the original", async () => {
  const rows: [value: unknown, content: unknown, is_error: boolean, response: unknown][] = [
    ["other", "other", false, "other"],
    [{ content: "bad", is_error: true }, "bad", true, "bad"],
    [
      { content: [{ type: "text", text: "t" }], is_error: false, response: { n: 1 } },
      [{ type: "text", text: "t" }],
      false,
      {
        n: 1,
      },
    ],
    [null, "a", false, "a"],
  ];
  for (const [value, content, is_error, response] of rows) {
    const model = scripted([calls(["Echo", "a"]), { text: "done" }]);
    const s = stage({
      model,
      tools: [echo],
      hooks: { postToolUse: [() => modify("first"), () => modify(value as string)] },
    });
    const { messages } = await s.run();
    assert.deepEqual(results(messages), [{ content, is_error }]);
    assert.deepEqual(s.events.find((e) => e.type === "tool_end")!.response, response);
  }
});

test("post-tool-use: a result the model could not read is the hook's failure, and the tool's own stays", async () => {
  for (const value of [5, {}, { content: 5 }, { content: [1] }, { response: { n: 1 } }, true]) {
    const model = scripted([calls(["Echo", "a"]), { text: "done" }]);
    const s = stage({ model, tools: [echo], hooks: named("bad", "post-tool-use", () => modify(value as string)) });
    const { messages } = await s.run();
    assert.deepEqual(results(messages), [{ content: "a", is_error: false }]);
    assert.match(s.warnings()[0]!, /^Hook bad failed on post-tool-use: Cannot/);
  }
});

test("post-tool-use: a structured result is shown as its tool shows it", async () => {
  const count = tool<{ n?: number }>({
    name: "Count",
    description: "Counts.",
    input: { type: "object" },
    effect: "read",
    run: () => ({ content: "1 file", response: { files: 1 } }),
    render: ({ files }) => `${files} files`,
  });
  const model = scripted([calls(["Count"]), { text: "done" }]);
  const seen: unknown[] = [];
  const hooks = {
    postToolUse: (e: EventOf<"post-tool-use">) => {
      seen.push(e.result.response);
      return modify({ response: { files: 7 } } as never);
    },
  };
  const { messages } = await stage({ model, tools: [count], hooks }).run();
  assert.deepEqual(results(messages), [{ content: "7 files", is_error: false }]);
  assert.deepEqual(seen, [{ files: 1 }]);
});

test("S4.2, S4.5: stop carries what is about to be returned and how often it was sent back", async () => {
  const told: unknown[] = [];
  const model = scripted([calls(["Echo", "a"]), { text: "one" }, { text: "two" }, { text: "three" }]);
  let n = 0;
  const s = stage({
    model,
    tools: [echo],
    hooks: {
      stop: (e) => {
        const { last_assistant_message, stop_hook_active, continuations, stalled, remaining, usage } = e;
        told.push([last_assistant_message, stop_hook_active, continuations, stalled, remaining]);
        assert.equal(usage.output_tokens, 5 * (n + 2));
        assert.equal(e.messages.length, 4 + 2 * n);
        return n++ < 2 ? keepGoing("more") : undefined;
      },
    },
  });
  await s.run();
  assert.deepEqual(told, [
    ["one", false, 0, 0, 8],
    ["two", true, 1, 1, 7],
    ["three", true, 2, 2, 6],
  ]);
});

test("S4.3, S4.4, U10: all stop hooks are asked; their reasons become one user message, contexts before them", async () => {
  const model = scripted([{ text: "one" }, { text: "two" }]);
  let n = 0;
  const first = (answer: unknown) => () => n === 0 ? answer : undefined;
  const s = stage({
    model,
    hooks: [
      named("tests", "stop", first(deny("run the tests"))),
      named("quiet", "stop", () => undefined),
      named("ctx", "stop", first(context("2 files changed"))),
      named("docs", "stop", () => n++ === 0 ? { continue: true, reason: "write the docs" } : undefined),
    ],
  });
  const { messages } = await s.run();
  assert.deepEqual(messages.map((m) => m.role), ["user", "assistant", "user", "assistant"]);
  assert.deepEqual(shown(messages[2]), [
    said("ctx", "2 files changed"),
    "Stop hook feedback (tests):\nrun the tests",
    "Stop hook feedback (docs):\nwrite the docs",
  ]);
});

test("U3: native context on stop never continues; it waits for the next turn", async () => {
  const model = scripted([{ text: "one" }, { text: "two" }]);
  let n = 0;
  const s = stage({ model, hooks: named("c", "stop", () => n++ === 0 ? context("remember") : undefined) });
  assert.equal((await s.session.prompt("first")).iterations, 1);
  await s.session.prompt("second");
  assert.deepEqual(last(model.requests[1]), [said("c", "remember"), "second"]);
});

test("U10: a stop hook that gives no reason, or fails, lets the agent stop, with a warning", async () => {
  for (
    const run of [() => ({ continue: true }), () => deny(" "), () => {
      throw new Error("broken");
    }]
  ) {
    const s = stage({ model: scripted([{ text: "one" }]), hooks: named("h", "stop", run) });
    assert.equal((await s.run()).stop, "done");
    assert.match(s.warnings()[0]!, /^Hook h failed on stop: /);
  }
});

test("U3: halt on stop overrides denials", async () => {
  const seen: string[] = [];
  const s = stage({
    model: scripted([{ text: "one" }]),
    hooks: [watch(seen), named("no", "stop", () => keepGoing("more")), named("h", "stop", () => halt("enough"))],
  });
  const result = await s.run();
  assert.deepEqual([result.stop, result.text, result.error], ["halted", "one", undefined]);
  assert.deepEqual(seen.slice(-3), ["stop", "agent-stop", "session-end"]);
});

const HALTING: [event: string, model: () => ReturnType<typeof scripted>, requests: number][] = [
  ["agent-start", () => scripted([]), 0],
  ["turn-start", () => scripted([]), 0],
  ["iteration", () => scripted([]), 0],
  ["pre-tool-use", () => scripted([calls(["Echo", "a"], ["Write", "b"])]), 1],
  ["permission-request", () => scripted([calls(["Echo", "a"], ["Write", "b"])]), 1],
  ["tool-denied", () => scripted([calls(["Echo", "deny"], ["Write", "b"])]), 1],
  ["post-tool-use", () => scripted([calls(["Echo", "a"], ["Write", "b"])]), 1],
  ["error", () => scripted([calls(["Boom", "a"], ["Write", "b"])]), 1],
  ["stop", () => scripted([{ text: "one" }]), 1],
  ["turn-end", () => scripted([{ text: "one" }]), 1],
];

test("U3: halt ends the agent quietly wherever it is said: the reply's calls are answered, no model is called again", async () => {
  for (const [event, script, requests] of HALTING) {
    const seen: string[] = [];
    const model = script();
    const s = stage({
      model,
      tools: [echo, write, boom],
      permit: () =>
        event === "permission-request" ? { behavior: "ask", reason: "a rule" } : { behavior: "allow", reason: "" },
      hooks: [
        watch(seen),
        named("guard", "pre-tool-use", (e) => e.input.say === "deny" ? deny("no") : undefined),
        named("more", "turn-end", (_, ctx) => ctx.hookInput("more")),
        named("h", event, () => halt("enough")),
      ],
    });
    const result = await s.run();
    assert.deepEqual([result.stop, result.error, model.requests.length], ["halted", undefined, requests], event);
    assert.equal(invalidConversation(result.messages), undefined, event);
    assert.equal(seen.includes("turn-end"), event === "turn-end", event);
    assert.deepEqual(seen.slice(-2), ["agent-stop", "session-end"], event);
    if (["pre-tool-use", "post-tool-use", "tool-denied", "error"].includes(event)) {
      assert.equal(results(result.messages)[1]!.content, "wrote b", event);
      assert.equal(seen.filter((e) => e === "iteration").length, 1, event);
    }
  }
});

test("U3: ctx.abort ends the run with an error wherever it is said, with every call answered and the cleanup run", async () => {
  const events = [
    ...["session-start", "user-prompt-submit", "agent-start", "turn-start", "iteration", "pre-tool-use"],
    ...["post-tool-use", "stop", "turn-end"],
  ];
  for (const event of events) {
    const seen: string[] = [];
    const model = scripted([calls(["Echo", "a"], ["Write", "b"]), { text: "done" }], { then: { text: "more" } });
    const hooks = [watch(seen), named("h", event, (_, ctx) => ctx.abort("on fire"))];
    const result = await stage({ model, tools: [echo, write], hooks }).run();
    assert.equal(result.stop, "error", event);
    assert.equal(result.error!.message, "h: on fire", event);
    assert.equal(invalidConversation(result.messages), undefined, event);
    assert.deepEqual(seen.slice(-2), ["agent-stop", "session-end"], event);
    assert.equal(seen.filter((e) => e === "agent-stop").length, 1, event);
  }
});

test("error: context goes with the next message, after a failed tool and after a failed model call", async () => {
  const hooks = named("e", "error", (e) => ({ ...modify(true), context: `${e.error_type} happened` }));
  const model = scripted([calls(["Boom"]), { http: 400 }, calls(["Fail"]), { text: "done" }]);
  const { messages } = await stage({ model, tools: [{ ...boom, effect: "write" }, fail], hooks }).run();
  assert.deepEqual(shown(messages[2]).slice(1), [said("e", "RangeError happened")]);
  assert.deepEqual(shown(messages[4]).slice(1), [said("e", "ModelError happened")]);
});

test("U6, U9: turn-end: deny is ignored with a warning; context waits for the next turn", async () => {
  const model = scripted([{ text: "one" }, { text: "two" }]);
  let n = 0;
  const s = stage({
    model,
    hooks: [
      named("c", "turn-end", () => n++ === 0 ? context("next time") : undefined),
      named("no", "turn-end", () => deny("x")),
    ],
  });
  assert.equal((await s.session.prompt("first")).stop, "done");
  await s.session.prompt("second");
  assert.deepEqual(last(model.requests[1]), [said("c", "next time"), "second"]);
  assert.equal(s.warnings()[0], "Hook no denied turn-end, which cannot be denied: ignored");
});

test("S0.5, S4.21: agent-stop carries the result and how it ended, on every path", async () => {
  const told: unknown[] = [];
  const note = { agentStop: (e: EventOf<"agent-stop">) => void told.push([e.agent_id, e.stop, e.result]) };
  await stage({ model: scripted([{ text: "fine" }]), hooks: note }).run();
  await stage({ model: scripted([{ http: 400 }]), hooks: note }).run();
  await stage({ model: scripted([{ text: "one" }]), hooks: [note, { stop: () => halt() }] }).run();
  await stage({ model: scripted([]), limits: { iterations: 0 }, hooks: note }).run();
  assert.deepEqual(told, [
    ["session-1", "done", "fine"],
    ["session-1", "error", ""],
    ["session-1", "halted", "one"],
    ["session-1", "max_iterations", ""],
  ]);
});

test("S4.21: cleanup hooks run to their end after an interrupt, and what they answer changes nothing", async () => {
  const controller = new AbortController();
  let cleaned = false;
  const s = stage({
    model: scripted([{ stall: "start" }]),
    hooks: {
      iteration: () => queueMicrotask(() => controller.abort()),
      cleanup: async (_, ctx) => {
        assert.equal(ctx.signal.aborted, false);
        await s.clock.sleep(1000);
        cleaned = true;
        ctx.abort("no");
      },
    },
  });
  assert.equal((await s.run("go", controller.signal)).stop, "aborted");
  assert.equal(cleaned, true);
});

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
  assert.equal(JSON.stringify(s.life.messages).includes("lint"), false);
  assert.deepEqual(
    s.events.filter((e) => e.type === "hook_input").map(({ hook, event, text }) => [hook, event, text]),
    [
      ["h", "turn-start", "lint: 2 errors"],
    ],
  );
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
  assert.deepEqual(s.life.messages.map(shown), [
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
    assert.equal(JSON.stringify(s.life.messages).includes("HookInput"), false, event);
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
    assert.equal(JSON.stringify(s.life.messages).includes("for now"), false, event);
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
  const texts = s.life.messages.map((m) => shown(m).join(" "));
  assert.match(texts[2]!, /Context from hook a: with the result/);
  assert.match(texts[4]!, /Context from hook c: with the denial.*Stop hook feedback/s);
  assert.match(texts[6]!, /Context from hook c: with the next turn.*second/s);
});

test("U3: ask without a person refuses the call with the hook's question; allow needs nobody", async () => {
  const rows: [answer: unknown, content: string, is_error: boolean][] = [
    [ask("delete it?"), "delete it?", true],
    [ask(), "Hook h asked for confirmation for this tool", true],
    [allow(), "a", false],
  ];
  for (const [answer, content, is_error] of rows) {
    const model = scripted([calls(["Echo", "a"]), { text: "done" }]);
    const s = stage({ model, tools: [echo], hooks: named("h", "pre-tool-use", () => answer) });
    const result = await s.run();
    assert.deepEqual(results(result.messages), [{ content, is_error }]);
    assert.deepEqual(result.denials.map((d) => d.by), is_error ? ["h"] : []);
  }
});

test("U3: a person is asked where a hook wants that, told so by a notification, and heard", async () => {
  for (const behavior of ["allow", "deny"] as const) {
    const seen: string[] = [];
    const questions: unknown[] = [];
    const model = scripted([calls(["Echo", "a"]), { text: "done" }]);
    const s = stage({
      model,
      tools: [echo],
      hooks: [watch(seen), named("h", "pre-tool-use", () => ({ action: "ask", reason: "sure?" }))],
      askPerson: (call, reason) => {
        questions.push([call.tool_name, call.input, reason]);
        return Promise.resolve({ behavior });
      },
    });
    const result = await s.run();
    assert.deepEqual(questions, [["Echo", { say: "a" }, "sure?"]]);
    assert.equal(seen.includes("permission-request Echo"), false);
    assert.equal(seen.includes("notification"), true);
    const content = behavior === "allow" ? "a" : "The user refused this call";
    assert.deepEqual(results(result.messages), [{ content, is_error: behavior === "deny" }]);
  }
});

test("U3: allow never overrides a deny rule, nor a rule that asks; rules see the rewritten input", async () => {
  const ruled: unknown[] = [];
  for (const behavior of ["deny", "ask"] as const) {
    const model = scripted([calls(["Echo", "a"]), { text: "done" }]);
    const s = stage({
      model,
      tools: [echo],
      hooks: { preToolUse: [() => modify({ say: "b" }), () => allow()] },
      permit: (call, verdict) => {
        ruled.push([call.input, verdict]);
        return { behavior, reason: `a rule says ${behavior}`, rule: "Echo(*)" };
      },
    });
    const result = await s.run();
    assert.deepEqual(results(result.messages), [{ content: `a rule says ${behavior}`, is_error: true }]);
    assert.deepEqual(result.denials.map((d) => d.by), ["Echo(*)"]);
  }
  assert.deepEqual(ruled, [[{ say: "b" }, "allow"], [{ say: "b" }, "allow"]]);
});

test("U6: permission-request: allow lets the call run, with a new input if given; deny refuses; otherwise a person", async () => {
  const rows: [name: string, answer: unknown, content: string | RegExp][] = [
    ["allow", allow(), "b"],
    ["allow and change", { decision: "allow", value: { to: { say: "c" } } }, "c"],
    ["change to nonsense", { decision: "allow", value: { to: { say: 5 } } }, /rewrite of the input is not valid/],
    ["deny", deny("not you"), "Denied by hook p: not you"],
    ["nothing", undefined, "a rule asks"],
  ];
  for (const [name, answer, content] of rows) {
    const told: unknown[] = [];
    const model = scripted([calls(["Echo", "a"]), { text: "done" }]);
    const raw = typeof answer === "object" && answer !== null && "decision" in answer;
    const s = stage({
      model,
      tools: [echo],
      permit: () => ({ behavior: "ask", reason: "a rule asks" }),
      hooks: [
        named("m", "pre-tool-use", () => modify({ say: "b" })),
        named("p", "permission-request", (e) => {
          told.push([e.input, e.original_input, e.reason]);
          return answer;
        }, raw ? { read: () => answer as Opinion } : {}),
      ],
    });
    const result = await s.run();
    assert.deepEqual(told, [[{ say: "b" }, { say: "a" }, "a rule asks"]], name);
    const [got] = results(result.messages);
    if (content instanceof RegExp) assert.match(String(got!.content), content);
    else assert.equal(got!.content, content, name);
  }
});

/** A model that is overloaded, or refuses, unless it has one of these names. */
function busyUnless(names: readonly string[], how: "overloaded" | "refusal") {
  const then: ScriptEntry = (request) => {
    if (names.includes(request.model)) return { text: `I am ${request.model}` };
    if (how === "refusal") return { text: "no", stop_reason: "refusal" };
    throw new ModelError("busy", { code: "overloaded_error" });
  };
  return scripted([], { then });
}

test("U6, S3.8, C16: model-switch fires before another model stands in: deny keeps the old one, modify names a third", async () => {
  const rows: [answer: unknown, text: string, models: string[]][] = [
    [undefined, "I am spare", ["claude-test", "spare"]],
    [modify("third"), "I am third", ["claude-test", "third"]],
    [deny("too dear"), "", ["claude-test"]],
    [ask("sure?"), "", ["claude-test"]],
  ];
  for (const how of ["overloaded", "refusal"] as const) {
    for (const [answer, text, models] of rows) {
      const told: unknown[] = [];
      const model = busyUnless(["spare", "third"], how);
      const s = stage({
        model,
        fallback: "spare",
        hooks: named("m", "model-switch", (e) => {
          told.push([e.old_model, e.new_model, e.triggered_by]);
          return answer;
        }),
      });
      const result = await s.run();
      assert.deepEqual(told, [["claude-test", "spare", "fallback"]]);
      assert.deepEqual(model.requests.map((r) => r.model), models);
      assert.equal(result.stop, text !== "" ? "done" : how === "refusal" ? "refused" : "error");
      if (text !== "") assert.equal(result.text, text);
      if (how === "refusal" && text !== "") {
        assert.equal(result.usage.output_tokens, 10, "the refused reply was paid for");
      }
    }
  }
});

test("a hook that names another model each time never keeps a call going for ever", async () => {
  let n = 0;
  const model = busyUnless([], "overloaded");
  const s = stage({ model, fallback: "spare", hooks: { modelSwitch: () => modify(`model-${n++}`) } });
  assert.equal((await s.run()).stop, "error");
  assert.deepEqual(model.requests.map((r) => r.model), ["claude-test", "model-0"]);
});

test("a session's model can be changed between prompts, also after an interrupt; a hook may keep it", async () => {
  const model = busyUnless(["claude-test", "b"], "overloaded");
  const s = stage({ model, hooks: { modelSwitch: (e) => e.new_model === "c" ? deny("no") : undefined } });
  await s.session.prompt("one", { signal: AbortSignal.abort() });
  assert.equal(await s.session.setModel("b"), true);
  assert.equal(await s.session.setModel("c"), false);
  assert.equal((await s.session.prompt("two")).text, "I am b");
});

test("S4.16: values are shared by all hooks of a session, and only there", async () => {
  const seen: unknown[] = [];
  const count = (e: { event: string }, ctx: HookContext) => {
    const n = Number(ctx.values.get("n") ?? 0) + 1;
    ctx.values.set("n", n);
    if (e.event === "agent-stop") seen.push(n);
  };
  const s = stage({ model: scripted([{ text: "a" }, { text: "b" }]), hooks: count });
  await s.session.prompt("one");
  await s.session.prompt("two");
  await stage({ model: scripted([{ text: "a" }]), hooks: count }).run();
  assert.deepEqual(seen, [8, 15, 8]);
});

test("S4.17, S4.19: all lists in one object, and sets from several packages compose", async () => {
  const seen: string[] = [];
  const set = (who: string) => ({
    preGeneration: [() => void seen.push(`${who} PreGeneration`)],
    preIteration: [() => void seen.push(`${who} PreIteration`)],
    preToolUse: [() => void seen.push(`${who} PreToolUse`)],
    postToolUse: [() => void seen.push(`${who} PostToolUse`)],
    postToolUseFailure: [() => void seen.push(`${who} PostToolUseFailure`)],
    stop: [() => void seen.push(`${who} Stop`)],
    postGeneration: [() => void seen.push(`${who} PostGeneration`)],
  });
  const model = scripted([calls(["Echo", "a"], ["Fail"]), { text: "done" }]);
  await stage({
    model,
    tools: [{ ...echo, effect: "write" }, { ...fail, effect: "write" }],
    hooks: [set("a"), set("b")],
  }).run();
  const order = ["PreGeneration", "PreIteration", "PreToolUse", "PostToolUse", "PreToolUse", "PostToolUseFailure"];
  assert.deepEqual(
    seen,
    [...order, "PreIteration", "Stop", "PostGeneration"].flatMap((e) => [`a ${e}`, `b ${e}`]),
  );
});

test("S4.25: a host's own concerns are hooks like any other: permission and saving on the same context", async () => {
  const saved: unknown[] = [];
  const permission = named(
    "permission",
    "pre-tool-use",
    (e) => e.tool_name === "Write" ? deny("read only") : undefined,
  );
  const saving = named("saving", "turn-end", (e) => void saved.push(e.messages.length));
  const model = scripted([calls(["Write", "a"]), { text: "done" }]);
  const result = await stage({ model, tools: [write], hooks: [permission, saving] }).run();
  assert.deepEqual(results(result.messages), [{ content: "Denied by hook permission: read only", is_error: true }]);
  assert.deepEqual(saved, [4]);
});

test("an empty prompt is sent as one that says so", async () => {
  const model = scripted([{ text: "ok" }]);
  await stage({ model, hooks: { userPromptSubmit: () => modify("  ") } }).run("go");
  assert.deepEqual(last(model.requests[0]), ["(empty prompt)"]);
});
