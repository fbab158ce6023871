import assert from "node:assert/strict";
import { test } from "node:test";
import type { EventOf } from "../../lib/core/events.ts";
import { invalidConversation } from "../../lib/core/messages.ts";
import { allow, context, deny, halt, keepGoing, modify } from "../../lib/core/verdict.ts";
import { scripted } from "../../lib/testing/index.ts";
import { act, boom, calls, echo, fail, last, named, results, said, shown, stage, watch, write } from "./_stage.ts";

test("S4.2: stop carries the reply, the messages of this turn and no others, the usage of the run, and whose it is", async () => {
  const usage = (n: number) => ({
    input_tokens: n,
    output_tokens: 2 * n,
    cache_creation_input_tokens: 3 * n,
    cache_read_input_tokens: 4 * n,
  });
  const noted: unknown[] = [];
  const model = scripted([
    { text: "before", usage: usage(100) },
    { ...calls(["Echo", "a"]), usage: usage(1) },
    { text: "half", usage: usage(10) },
    { text: "whole", usage: usage(5) },
  ]);
  const s = stage({
    model,
    tools: [echo],
    hooks: {
      stop: ({ last_assistant_message, messages, usage, stop_hook_active, agent_id, agent_type }) => {
        noted.push({
          last_assistant_message,
          messages: messages.map(shown),
          usage,
          stop_hook_active,
          agent_id,
          agent_type,
        });
        return last_assistant_message === "half" ? keepGoing("more") : undefined;
      },
    },
  });
  await s.session.prompt("first");
  await s.session.prompt("second");
  await s.session.close();
  const who = { agent_id: "session-1", agent_type: "tester" };
  const turn = [["second"], ["tool_use"], ['toolu_scripted_0001: "a"'], ["half"]];
  assert.deepEqual(noted, [
    {
      last_assistant_message: "before",
      messages: [["first"], ["before"]],
      usage: usage(100),
      stop_hook_active: false,
      ...who,
    },
    { last_assistant_message: "half", messages: turn, usage: usage(11), stop_hook_active: false, ...who },
    {
      last_assistant_message: "whole",
      messages: [...turn, ["Stop hook feedback (code:stop#0):\nmore"], ["whole"]],
      usage: usage(16),
      stop_hook_active: true,
      ...who,
    },
  ]);
});

test("S4.5: stop says how often it was sent back", async () => {
  const noted: unknown[] = [];
  const model = scripted([calls(["Echo", "a"]), { text: "one" }, { text: "two" }, { text: "three" }]);
  let n = 0;
  const s = stage({
    model,
    tools: [echo],
    hooks: {
      stop: (e) => {
        const { last_assistant_message, stop_hook_active, continuations, stalled, remaining, usage, messages } = e;
        const counts = [continuations, stalled, remaining, usage.output_tokens, messages.length];
        noted.push([last_assistant_message, stop_hook_active, ...counts]);
        return n++ < 2 ? keepGoing("more") : undefined;
      },
    },
  });
  await s.run();
  assert.deepEqual(noted, [
    ["one", false, 0, 0, 8, 10, 4],
    ["two", true, 1, 1, 7, 15, 6],
    ["three", true, 2, 2, 6, 20, 8],
  ]);
});

test("S4.5: stop_hook_active is false again at the first check of a turn that a hook began", async () => {
  const noted: boolean[] = [];
  const s = stage({
    model: scripted([{ text: "one" }, { text: "two" }, { text: "three" }]),
    hooks: {
      stop: ({ stop_hook_active }) => noted.push(stop_hook_active) === 1 ? keepGoing("more") : undefined,
      turnEnd: ({ trigger }, ctx) => trigger === "user" ? ctx.hookInput("and now") : undefined,
    },
  });
  await s.run();
  assert.deepEqual(noted, [false, true, false]);
});

test("S4.4: one stop hook that continues is enough, whatever others answer before and after it", async () => {
  const more = named("more", "stop", (e) => e.stop_hook_active ? undefined : keepGoing("more"));
  const others = [
    named("quiet", "stop", () => undefined),
    named("fine", "stop", () => allow("fine")),
    named("done", "stop", () => ({ continue: false })),
  ];
  for (const hooks of [[more], [more, ...others], [...others, more]]) {
    assert.equal((await stage({ model: scripted([{ text: "one" }, { text: "two" }]), hooks }).run()).text, "two");
  }
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
        named("h", event, (e) => e.tool_name === "Write" ? undefined : halt("enough")),
      ],
    });
    const result = await s.run();
    assert.deepEqual([result.stop, result.error, model.requests.length], ["halted", undefined, requests], event);
    assert.equal(invalidConversation(result.messages), undefined, event);
    assert.equal(seen.includes("turn-end"), event === "turn-end", event);
    assert.deepEqual(seen.slice(-2), ["agent-stop", "session-end"], event);
    if (["pre-tool-use", "post-tool-use", "tool-denied", "error"].includes(event)) {
      assert.equal(results(result.messages)[1]!.content, "wrote b", event);
      const first = results(result.messages)[0]!.content;
      assert.equal(first === "Denied by hook h: enough", event === "pre-tool-use", `${event}: ${first}`);
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

test("U6: error: context goes with the next message, after a failed tool and after a failed model call", async () => {
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

test("U6: context that no model reads causes one warning per hook, and is never kept", async () => {
  const nowhere = ["permission-request", "tool-denied", "agent-stop", "session-end", "notification"] as const;
  const model = scripted([calls(["Do"]), { text: "done" }]);
  const s = stage({
    model,
    tools: [act("Do", "write", () => "ran")],
    permit: () => ({ behavior: "ask", reason: "a rule" }),
    askPerson: () => Promise.resolve({ behavior: "deny", reason: "no" }),
    hooks: [...nowhere, "stop" as const].map((event) => named(`c-${event}`, event, () => context("unread"))),
  });
  await s.run();
  const words = nowhere.map((event) => `Hook c-${event} gave context at ${event}, which no model reads: ignored`);
  assert.deepEqual([...new Set(s.warnings())].sort(), words.sort());
  assert.doesNotMatch(JSON.stringify(model.requests), /unread/);
});

test("S0.5, S4.21: agent-stop carries the result and how it ended, on every path", async () => {
  const noted: unknown[] = [];
  const note = {
    agentStop: ({ agent_id, stop, result }: EventOf<"agent-stop">) =>
      void noted.push([agent_id, stop, result.stop, result.text]),
  };
  await stage({ model: scripted([{ text: "fine" }]), hooks: note }).run();
  await stage({ model: scripted([{ http: 400 }]), hooks: note }).run();
  await stage({ model: scripted([{ text: "one" }]), hooks: [note, { stop: () => halt() }] }).run();
  await stage({ model: scripted([]), limits: { iterations: 0 }, hooks: note }).run();
  assert.deepEqual(noted, [
    ["session-1", "done", "done", "fine"],
    ["session-1", "error", "error", ""],
    ["session-1", "halted", "halted", "one"],
    ["session-1", "max_iterations", "max_iterations", ""],
  ]);
});

test("S4.21: cleanup hooks run to their end after an interrupt, and what they answer changes nothing", async () => {
  const controller = new AbortController();
  const aborted: boolean[] = [];
  const s = stage({
    model: scripted([{ stall: "start" }]),
    hooks: {
      iteration: () => queueMicrotask(() => controller.abort()),
      cleanup: async (_, ctx) => {
        aborted.push(ctx.signal.aborted);
        await s.clock.sleep(1000);
        aborted.push(ctx.signal.aborted);
        ctx.abort("no");
      },
    },
  });
  assert.equal((await s.run("go", controller.signal)).stop, "aborted");
  assert.deepEqual(aborted, [false, false]);
});

test("S4.4: reasons in a dialect's own words stand alone, and a line break parts them and the last context", async () => {
  const model = scripted([{ text: "one" }, { text: "two" }]);
  const words = (name: string, text: string) =>
    named(name, "stop", ({ stop_hook_active }) => stop_hook_active, {
      read: (active) => active ? {} : { decision: "deny", reason: "not shown", text },
    });
  const first = named("ctx", "stop", (_, ctx) => ctx.addContext("a"));
  const second = named("ctx2", "stop", (_, ctx) => ctx.addContext("b"));
  const s = stage({ model, hooks: [first, second, words("host", "run the tests"), words("other", "write the docs")] });
  const { messages } = await s.run();
  assert.deepEqual(shown(messages[2]), [
    said("ctx", "a"),
    `${said("ctx2", "b")}\n`,
    "run the tests\n",
    "write the docs",
  ]);
});

test("turn-end carries the messages of its turn and no others", async () => {
  const noted: unknown[] = [];
  const s = stage({
    model: scripted([{ text: "one" }, { text: "two" }]),
    hooks: { turnEnd: ({ messages }) => void noted.push(messages.map(shown)) },
  });
  await s.session.prompt("first");
  await s.session.prompt("second");
  await s.session.close();
  assert.deepEqual(noted, [[["first"], ["one"]], [["second"], ["two"]]]);
});

test("U10: a turn that always lacks something ends at the limit of continuations, and of those without a tool between them", async () => {
  for (
    const [limits, stop, asked] of [
      [{ continuations: 3 }, "max_continuations", 4],
      [{ stalls: 2 }, "stop_hook_stalled", 3],
    ] as const
  ) {
    const model = scripted([], { then: { text: "That is all" } });
    const s = stage({ model, limits, finish: () => Promise.resolve({ lacks: "More" }) });
    assert.equal((await s.run()).stop, stop);
    assert.equal(model.requests.length, asked);
  }
});

test("a turn that lacks something after a call that would have ended it goes on with the call's result", async () => {
  const model = scripted([calls(["Last", "a"]), { text: "done" }]);
  let asked = 0;
  const s = stage({
    model,
    tools: [{ ...act("Last", "none", ({ say = "" }) => say), ends: true }],
    finish: () => Promise.resolve(asked++ === 0 ? { lacks: "More" } : { output: 1 }),
  });
  const { stop, messages } = await s.run();
  assert.equal(stop, "done");
  assert.deepEqual(last(model.requests[1]), ['toolu_scripted_0001: "a"', "More"]);
  assert.equal(invalidConversation(messages), undefined);
});
