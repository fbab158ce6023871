import assert from "node:assert/strict";
import { test } from "node:test";
import type { CodeHooks } from "../../lib/hooks/code-hooks.ts";
import type { EventOf } from "../../lib/core/events.ts";
import { tool } from "../../lib/tools/make-tool.ts";
import { allow, ask, context, deny, modify, type Opinion } from "../../lib/core/verdict.ts";
import { scripted } from "../../lib/testing/index.ts";
import { act, calls, echo, named, played, results, said, shown, stage, watch, write } from "./_stage.ts";

test("S0.14, S2.12, S4.14: pre-tool-use: a denied tool is not run and the reason reaches the model as an error result", async () => {
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
    const s = await played([calls(["Do"]), { text: "done" }], {
      tools: [act("Do", "write", () => (ran = true, "ran"))],
      hooks,
    });
    assert.equal(ran, false);
    assert.deepEqual(results(s.model.requests[1]!.messages), [{ content, is_error: true }]);
    assert.equal(s.result.stop, "done");
  }
});

test("S0.2, S0.3, S0.15, S4.7, S4.8: pre-tool-use: the tool runs with the new input as a whole; history keeps the model's own", async () => {
  const seen: unknown[] = [];
  const s = await played([calls(["Echo", "a"]), { text: "done" }], {
    hooks: {
      preToolUse: [
        (e) => {
          seen.push([e.tool_name, e.input]);
          return modify({ say: `${e.input.say}b` });
        },
        (e) => ({ Transform: { say: `${e.input.say}c` } }),
      ],
      postToolUse: (e) => void seen.push([e.input, e.original_input]),
    },
  });
  assert.deepEqual(results(s.result.messages), [{ content: "abc", is_error: false }]);
  assert.deepEqual(seen, [["Echo", { say: "a" }], [{ say: "abc" }, { say: "a" }]]);
  assert.deepEqual(s.result.messages[1]!.content.map((b) => (b as { input?: unknown }).input), [{ say: "a" }]);
});

test("S0.15, U3: pre-tool-use: a new input replaces the old one, and is never merged into it", async () => {
  for (const answer of [modify({ b: { c: 3 } }), { Transform: { b: { c: 3 } } }]) {
    const inputs: unknown[] = [];
    const any = tool({
      name: "Any",
      description: "",
      input: { type: "object" },
      run: (input) => (inputs.push(input), "ok"),
    });
    const model = scripted([{ tools: [{ name: "Any", input: { a: 1, b: { d: 2 } } }] }, { text: "done" }]);
    const hooks = [
      named("first", "pre-tool-use", () => modify({ a: 2, e: 4 })),
      named("change", "pre-tool-use", () => answer),
      named("next", "pre-tool-use", ({ input }) => void inputs.push(input)),
    ];
    await stage({ model, tools: [any], hooks }).run();
    assert.deepEqual(inputs, [{ b: { c: 3 } }, { b: { c: 3 } }]);
  }
});

test("U6: pre-tool-use: a rewritten input is validated again; a bad rewrite never runs and is named", async () => {
  let ran = false;
  const s = await played([calls(["Do", "a"]), { text: "done" }], {
    tools: [act("Do", "write", () => (ran = true, "ran"))],
    hooks: named("clumsy", "pre-tool-use", () => modify({ say: 5 })),
  });
  assert.equal(ran, false);
  const [answer] = results(s.result.messages);
  assert.match(
    String(answer!.content),
    /^PreToolUse hook for Do returned updatedInput that failed schema validation: say: .*\(hook clumsy\)/,
  );
  assert.equal(s.events.find((e) => e.type === "tool_end")!.outcome, "invalid");
});

test("S4.9, C22: contexts of tool hooks are text blocks after all tool_results, in order, also beside a denial", async () => {
  const s = await played([calls(["Echo", "a"], ["Write", "b"]), { text: "done" }], {
    tools: [echo, write],
    hooks: [
      named("p", "pre-tool-use", (e, ctx) => {
        ctx.addContext(`pre ${e.tool_name}`);
        return e.tool_name === "Write" ? { ...deny("no"), context: "and so" } : undefined;
      }),
      named("q", "post-tool-use", (e) => context(`post ${e.tool_name}`)),
    ],
  });
  assert.deepEqual(shown(s.result.messages[2]), [
    'toolu_scripted_0001: "a"',
    'toolu_scripted_0002: "Denied by hook p: no"',
    said("p", "pre Echo"),
    said("q", "post Echo"),
    said("p", "pre Write"),
    said("p", "and so"),
  ]);
});

test("U6: post-tool-use: deny leaves the result and adds feedback, all of it in order", async () => {
  const s = await played([calls(["Echo", "a"]), { text: "done" }], {
    hooks: [
      named("lint", "post-tool-use", () => deny("tabs")),
      named("size", "post-tool-use", () => ({ ...deny("long"), context: "see RULES" })),
    ],
  });
  assert.deepEqual(shown(s.result.messages[2]), [
    'toolu_scripted_0001: "a"',
    "Feedback from hook lint: tabs",
    "Feedback from hook size: long",
    said("size", "see RULES"),
  ]);
});

test("post-tool-use: a dialect's own words and contexts may stand inside the tool_result", async () => {
  const s = await played([calls(["Echo", "a"]), { text: "done" }], {
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
  assert.deepEqual(results(s.result.messages), [{
    content: "a\n\nBlocked: R\n\n<system-reminder>\nHost context: one\ntwo\n</system-reminder>",
    is_error: false,
  }]);
});

test("U6: post-tool-use: modify replaces the result: a text, a whole result, null for the original", async () => {
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
    const s = await played([calls(["Echo", "a"]), { text: "done" }], {
      hooks: { postToolUse: [() => modify("first"), () => modify(value as string)] },
    });
    assert.deepEqual(results(s.result.messages), [{ content, is_error }]);
    assert.deepEqual(s.events.find((e) => e.type === "tool_end")!.response, response);
  }
});

test("post-tool-use: a result the model could not read is the hook's failure, and the tool's own stays", async () => {
  for (const value of [5, {}, { content: 5 }, { content: [1] }, { response: { n: 1 } }, true]) {
    const s = await played([calls(["Echo", "a"]), { text: "done" }], {
      hooks: named("bad", "post-tool-use", () => modify(value as string)),
    });
    assert.deepEqual(results(s.result.messages), [{ content: "a", is_error: false }]);
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

test("U3: ask without a person refuses the call with the hook's question; allow needs none", async () => {
  const rows: [answer: unknown, content: string, is_error: boolean][] = [
    [ask("delete it?"), "Hook h asks for confirmation of this call, and no person can be asked: delete it?", true],
    [ask(), "Hook h asks for confirmation of this call, and no person can be asked", true],
    [allow(), "a", false],
  ];
  for (const [answer, content, is_error] of rows) {
    const s = await played([calls(["Echo", "a"]), { text: "done" }], {
      hooks: named("h", "pre-tool-use", () => answer),
    });
    assert.deepEqual(results(s.result.messages), [{ content, is_error }]);
    assert.deepEqual(s.result.denials.map((d) => d.by), is_error ? ["h"] : []);
  }
});

test("U3: a person is asked if a hook wants that, a notification fires, and the answer counts", async () => {
  const rows = [
    [{ behavior: "allow" }, "a"],
    [{ behavior: "deny" }, "The user refused this call"],
    [{ behavior: "deny", reason: "use make" }, "The user refused this call and says: use make"],
  ] as const;
  for (const [reply, content] of rows) {
    const seen: string[] = [];
    const questions: unknown[] = [];
    const s = await played([calls(["Echo", "a"]), { text: "done" }], {
      hooks: [watch(seen), named("h", "pre-tool-use", () => ({ action: "ask", reason: "sure?" }))],
      askPerson: (call, reason) => {
        questions.push([call.tool_name, call.input, reason]);
        return Promise.resolve(reply);
      },
    });
    assert.deepEqual(questions, [["Echo", { say: "a" }, "sure?"]]);
    assert.equal(seen.includes("permission-request Echo"), false);
    assert.equal(seen.includes("notification"), true);
    assert.deepEqual(results(s.result.messages), [{ content, is_error: reply.behavior === "deny" }]);
  }
});

test("U3: allow never overrides a deny rule, nor a rule that asks; rules see the rewritten input", async () => {
  const ruled: unknown[] = [];
  for (const behavior of ["deny", "ask"] as const) {
    const s = await played([calls(["Echo", "a"]), { text: "done" }], {
      hooks: { preToolUse: [() => modify({ say: "b" }), () => allow()] },
      permit: (call, verdict) => {
        ruled.push([call.input, verdict]);
        return { behavior, reason: `a rule says ${behavior}`, rule: "Echo(*)" };
      },
    });
    assert.deepEqual(results(s.result.messages), [{ content: `a rule says ${behavior}`, is_error: true }]);
    assert.deepEqual(s.result.denials.map((d) => d.by), ["Echo(*)"]);
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
    const noted: unknown[] = [];
    const model = scripted([calls(["Echo", "a"]), { text: "done" }]);
    const raw = typeof answer === "object" && answer !== null && "decision" in answer;
    const s = stage({
      model,
      tools: [echo],
      permit: () => ({ behavior: "ask", reason: "a rule asks" }),
      hooks: [
        named("m", "pre-tool-use", () => modify({ say: "b" })),
        named("p", "permission-request", (e) => {
          noted.push([e.input, e.original_input, e.reason]);
          return answer;
        }, raw ? { read: () => answer as Opinion } : {}),
      ],
    });
    const result = await s.run();
    assert.deepEqual(noted, [[{ say: "b" }, { say: "a" }, "a rule asks"]], name);
    const [got] = results(result.messages);
    if (content instanceof RegExp) assert.match(String(got!.content), content);
    else assert.equal(got!.content, content, name);
  }
});
