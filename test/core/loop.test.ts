import assert from "node:assert/strict";
import { test } from "node:test";
import { onToolFailure, onToolSuccess } from "../../lib/core/code-hooks.ts";
import type { EventOf } from "../../lib/core/events.ts";
import { invalidConversation } from "../../lib/core/messages.ts";
import { ModelError } from "../../lib/core/model.ts";
import type { CallOutcome } from "../../lib/core/run-events.ts";
import { type Tool, tool } from "../../lib/core/tool.ts";
import { deny, keepGoing, modify } from "../../lib/core/verdict.ts";
import { scripted } from "../../lib/testing/index.ts";
import { act, boom, calls, echo, fail, results, shown, stage, watch, within, write } from "./_stage.ts";

const OPENING = ["session-start", "user-prompt-submit", "agent-start", "turn-start"];
const CLOSING = ["stop", "turn-end", "agent-stop", "session-end"];

test("U9, S0.13, S4.1, S4.23: a prompt without tools fires each event once, stop before turn-end", async () => {
  const seen: string[] = [];
  const { run } = stage({ model: scripted([{ text: "hi" }]), hooks: watch(seen) });
  const result = await run();
  assert.equal(result.stop, "done");
  assert.equal(result.text, "hi");
  assert.deepEqual(seen, [...OPENING, "iteration", ...CLOSING]);
});

test("U9, S0.13, S4.11: each model call is an iteration; each tool call has its gate before and its hooks after", async () => {
  const seen: string[] = [];
  const model = scripted([calls(["Echo", "a"]), calls(["Write", "b"]), { text: "done" }]);
  const { run } = stage({ model, tools: [echo, write], hooks: watch(seen) });
  assert.equal((await run()).iterations, 3);
  assert.deepEqual(seen, [
    ...OPENING,
    ...["iteration", "pre-tool-use Echo", "post-tool-use Echo"],
    ...["iteration", "pre-tool-use Write", "post-tool-use Write"],
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
    ...["iteration", "stop", "iteration", "pre-tool-use Echo", "post-tool-use Echo", "iteration"],
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

/** A tool that writes down when it starts and ends, and takes `ms` of the clock for each letter it is given. */
function timed(
  name: string,
  effect: "none" | "read" | "write",
  log: string[],
  sleep: (ms: number) => Promise<void>,
): Tool {
  return act(name, effect, async ({ say = "" }) => {
    const [label = "", ms = "0"] = say.split(" ");
    log.push(`run ${label}`);
    await sleep(Number(ms));
    log.push(`end ${label}`);
    return `result ${label}`;
  });
}

test("U9: neighbours that change nothing run together, a write alone, gates just before their call or batch", async () => {
  const log: string[] = [];
  const label = (e: EventOf<"pre-tool-use" | "post-tool-use">) => String(e.input.say).split(" ")[0];
  let sleep: (ms: number) => Promise<void> = async () => {};
  const tools = (["none", "read", "write"] as const).map((effect) =>
    timed(effect[0]!.toUpperCase(), effect, log, (ms) => sleep(ms))
  );
  const model = scripted([
    calls(["R", "a 30"], ["N", "b 10"], ["Nope"], ["R", "c 20"], ["W", "d 5"], ["W", "e 1"], ["R", "f 2"], [
      "R",
      "g 1",
    ]),
    { text: "done" },
  ]);
  const s = stage({
    model,
    tools,
    hooks: {
      preToolUse: (e) => void log.push(`pre ${label(e)}`),
      postToolUse: (e) => void log.push(`post ${label(e)}`),
    },
  });
  sleep = (ms) => s.clock.sleep(ms);
  const result = await s.run();
  assert.deepEqual(log, [
    ...["pre a", "pre b", "pre c", "run a", "run b", "run c"],
    ...["end b", "post b", "end c", "post c", "end a", "post a"],
    ...["pre d", "run d", "end d", "post d"],
    ...["pre e", "run e", "end e", "post e"],
    ...["pre f", "pre g", "run f", "run g", "end g", "post g", "end f", "post f"],
  ]);
  assert.deepEqual(results(result.messages).map((r) => r.content), [
    ...["result a", "result b", "Cannot call Nope as there is no such tool: the tools are N, R, W", "result c"],
    ...["result d", "result e", "result f", "result g"],
  ]);
});

test("U4, U9: the hooks of calls that run together are asked one call after the other, as the calls end", async () => {
  const log: string[] = [];
  const s = stage({
    model: scripted([calls(["R", "a 1"], ["R", "b 2"]), { text: "done" }]),
    tools: [timed("R", "read", [], (ms) => s.clock.sleep(ms))],
    hooks: {
      postToolUse: async (e) => {
        log.push(`begin ${e.input.say}`);
        await s.clock.sleep(50);
        log.push(`end ${e.input.say}`);
      },
    },
  });
  await s.run();
  assert.deepEqual(log, ["begin a 1", "end a 1", "begin b 2", "end b 2"]);
});

test("U9: a denied call leaves its neighbours' batch as it is", async () => {
  const ran: string[] = [];
  const tools = [act("R", "read", ({ say = "" }) => {
    ran.push(say);
    return say;
  })];
  const model = scripted([calls(["R", "a"], ["R", "b"], ["R", "c"]), { text: "done" }]);
  const hooks = { preToolUse: (e: EventOf<"pre-tool-use">) => e.input.say === "b" ? deny("not b") : undefined };
  const result = await stage({ model, tools, hooks }).run();
  assert.deepEqual(ran, ["a", "c"]);
  assert.deepEqual(results(result.messages), [
    { content: "a", is_error: false },
    { content: "Denied by hook code:pre-tool-use#0: not b", is_error: true },
    { content: "c", is_error: false },
  ]);
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

const OUTCOMES: [
  name: string,
  reply: Parameters<typeof scripted>[0][number],
  outcome: CallOutcome,
  content: RegExp,
  hooks: string[],
][] = [
  ["a result", calls(["Echo", "a"]), "success", /^a$/, ["pre-tool-use", "post-tool-use"]],
  ["an error result", calls(["Fail", "f"]), "failure", /^f$/, ["pre-tool-use", "post-tool-use"]],
  ["a throw", calls(["Boom", "b"]), "failure", /^b$/, ["pre-tool-use", "error", "post-tool-use"]],
  ["a denial", calls(["Echo", "deny"]), "denied", /^Denied by hook guard: no$/, ["pre-tool-use", "tool-denied"]],
  [
    "an unknown tool",
    calls(["Ecko"]),
    "invalid",
    /^Cannot call Ecko as there is no such tool: the tools are Echo, /,
    [],
  ],
  ["input that is no JSON", { tools: [{ name: "Echo", raw: '{"say": "a' }] }, "invalid", /input is not valid JSON/, []],
  [
    "input that is no object",
    { tools: [{ name: "Echo", raw: "[1]" }] },
    "invalid",
    /not a JSON object; send an object/,
    [],
  ],
  [
    "input against the schema",
    { tools: [{ name: "Echo", input: { say: 5 } }] },
    "invalid",
    /its input is not valid: say/,
    [],
  ],
  [
    "input that was cut",
    { tools: [{ name: "Echo", input: { say: "a" } }], stop_reason: "max_tokens" },
    "invalid",
    /cut off by the output limit after 11 characters/,
    [],
  ],
];

function guard(e: EventOf<"pre-tool-use">) {
  return e.input.say === "deny" ? deny("no") : undefined;
}

test("U8, U17: a call ends as exactly one of success, failure, denied and invalid, and hooks see what they should", async () => {
  for (const [name, reply, outcome, content, expected] of OUTCOMES) {
    const seen: string[] = [];
    const model = scripted([reply, { text: "done" }]);
    const s = stage({ model, tools: [echo, fail, boom], hooks: [{ preToolUse: guard }, watch(seen)] });
    const result = await s.run();
    assert.equal(result.stop, "done", name);
    const ends = s.events.filter((e) => e.type === "tool_end");
    assert.deepEqual(ends.map((e) => e.outcome), [outcome], name);
    assert.match(ends[0]!.content, content, name);
    const [answer, ...more] = results(result.messages);
    assert.deepEqual(more, [], name);
    assert.match(String(answer!.content), content, name);
    assert.equal(answer!.is_error, outcome !== "success", name);
    const told = seen.map((w) => w.split(" ")[0]!).filter((w) => /tool|^error/.test(w));
    assert.deepEqual(told, expected, name);
    model.done();
  }
});

test("U8, S0.3, S4.13, S4.24: post-tool-use says how the call ended", async () => {
  const seen: Partial<EventOf<"post-tool-use">>[] = [];
  const model = scripted([calls(["Echo", "a"], ["Fail", "f"], ["Boom", "b"]), { text: "done" }]);
  await stage({
    model,
    tools: [echo, fail, boom],
    hooks: (e) => {
      if (e.event !== "post-tool-use") return;
      const { tool_name, input, result, outcome, failed, error, tool_use_id } = e;
      seen.push({ tool_name, input, result, outcome, failed, error, tool_use_id });
    },
  }).run();
  const result = (content: string, is_error: boolean) => ({ content, is_error, response: content });
  assert.deepEqual(seen.sort((a, b) => a.tool_use_id! < b.tool_use_id! ? -1 : 1), [
    {
      tool_name: "Echo",
      input: { say: "a" },
      result: result("a", false),
      outcome: "success",
      failed: false,
      error: null,
      tool_use_id: "toolu_scripted_0001",
    },
    {
      tool_name: "Fail",
      input: { say: "f" },
      result: result("f", true),
      outcome: "failure",
      failed: true,
      error: "f",
      tool_use_id: "toolu_scripted_0002",
    },
    {
      tool_name: "Boom",
      input: { say: "b" },
      result: result("b", true),
      outcome: "failure",
      failed: true,
      error: "b",
      tool_use_id: "toolu_scripted_0003",
    },
  ]);
});

test("U8, S4.13, C4: typed lists are split by outcome; objects see both; onToolFailure and onToolSuccess filter anywhere", async () => {
  const seen: string[] = [];
  const note = (who: string) => (e: EventOf<"post-tool-use">) => void seen.push(`${who} ${e.tool_name}`);
  await stage({
    model: scripted([calls(["Echo", "a"]), calls(["Fail", "f"]), { text: "done" }]),
    tools: [echo, fail],
    hooks: [
      { onEvent: (e) => e.event === "post-tool-use" ? note("object")(e) : undefined },
      {
        postToolUse: [note("success"), onToolFailure(note("never")), onToolSuccess(note("both"))],
        postToolUseFailure: [note("failure"), onToolFailure(note("filtered"))],
      },
    ],
  }).run();
  assert.deepEqual(seen, [
    ...["object Echo", "success Echo", "both Echo"],
    ...["object Fail", "failure Fail", "filtered Fail"],
  ]);
});

function refuse() {
  return deny("not here");
}

test("U8: a denied call is in the Result, and tool-denied carries who and why", async () => {
  const told: unknown[] = [];
  const model = scripted([calls(["Echo", "a"]), { text: "done" }]);
  const result = await stage({
    model,
    tools: [echo],
    hooks: {
      preToolUse: refuse,
      toolDenied: (e) => void told.push([e.tool_name, e.input, e.original_input, e.reason, e.denied_by]),
    },
  }).run();
  assert.deepEqual(result.denials, [
    { tool_name: "Echo", tool_use_id: "toolu_scripted_0001", reason: "not here", by: "refuse" },
  ]);
  assert.deepEqual(told, [["Echo", { say: "a" }, { say: "a" }, "not here", "refuse"]]);
});

test("U8: a denied call stays denied, and is told once, though a hook of tool-denied ends the run", async () => {
  const s = stage({
    model: scripted([calls(["Echo", "a"], ["Echo", "b"])]),
    tools: [echo],
    hooks: { preToolUse: refuse, toolDenied: (_, ctx) => ctx.abort("enough") },
  });
  const result = await s.run();
  assert.equal(result.stop, "error");
  assert.deepEqual(s.events.flatMap((e) => e.type === "tool_end" ? [e.outcome] : []), ["denied", "interrupted"]);
  assert.deepEqual(results(result.messages).map((r) => r.content), [
    "Denied by hook refuse: not here",
    "The call was interrupted before it ran",
  ]);
});

test("a tool's result is text, blocks or { content }; anything else is its failure", async () => {
  const blocks = [{ type: "text", text: "b" }];
  const returned: [unknown, unknown, boolean][] = [
    ["text", "text", false],
    [blocks, blocks, false],
    [{ content: blocks, response: { a: 1 } }, blocks, false],
    [{ content: "c", isError: true }, "c", true],
    [undefined, /no text, no list of blocks/, true],
    [5, /no text/, true],
    [{ content: 5 }, /no text/, true],
    [[1], /no text/, true],
    [{}, /no text/, true],
  ];
  for (const [value, expected, isError] of returned) {
    const given = act("Give", "read", () => value as string);
    const result = await stage({ model: scripted([calls(["Give"]), { text: "done" }]), tools: [given] }).run();
    const [answer] = results(result.messages);
    assert.equal(answer!.is_error, isError);
    if (expected instanceof RegExp) assert.match(String(answer!.content), expected);
    else assert.deepEqual(answer!.content, expected);
  }
});

test("a tool's input is its own: it may change it, and hooks still see what it was given", async () => {
  const after: unknown[] = [];
  const greedy = tool<{ list: number[] }>({
    name: "Greedy",
    description: "Changes its input.",
    input: { type: "object", properties: { list: { type: "array" } } },
    effect: "read",
    run: (input) => {
      input.list.push(4);
      return String(input.list);
    },
  });
  for (
    const hooks of [{ postToolUse: (e: EventOf<"post-tool-use">) => void after.push(e.input) }, {
      preToolUse: () => undefined,
      postToolUse: (e: EventOf<"post-tool-use">) => void after.push(e.input),
    }]
  ) {
    const model = scripted([{ tools: [{ name: "Greedy", input: { list: [1] } }] }, { text: "done" }]);
    const { messages } = await stage({ model, tools: [greedy], hooks }).run();
    assert.deepEqual(results(messages), [{ content: "1,4", is_error: false }]);
  }
  assert.deepEqual(after, [{ list: [1] }, { list: [1] }]);
});

test("a tool may wait for a person: its reply's calls are answered, the turn ends, and nothing is asked to stop", async () => {
  const seen: string[] = [];
  const wait = act("Wait", "read", () => ({ content: "asked", wait: true }));
  const model = scripted([calls(["Wait"], ["Echo", "a"])]);
  const result = await stage({ model, tools: [wait, echo], hooks: watch(seen) }).run();
  assert.equal(result.stop, "waiting");
  assert.equal(seen.includes("stop"), false);
  assert.deepEqual(seen.slice(-3), ["turn-end", "agent-stop", "session-end"]);
  assert.equal(results(result.messages).length, 2);
});

test("S4.18, C24: at the limit of model calls the last reply's tools still run and are answered; no stop, but turn-end", async () => {
  const seen: string[] = [];
  const model = scripted([], { then: calls(["Echo", "a"]) });
  const s = stage({ model, tools: [echo], hooks: watch(seen), limits: { iterations: 2 } });
  const result = await s.run();
  assert.equal(result.stop, "max_iterations");
  assert.equal(result.iterations, 2);
  assert.deepEqual(results(result.messages).map((r) => r.content), ["a", "a"]);
  assert.deepEqual(seen.slice(-5), [
    ...["pre-tool-use Echo", "post-tool-use Echo"],
    ...["turn-end", "agent-stop", "session-end"],
  ]);
  assert.equal(invalidConversation(result.messages), undefined);
});

test("U10: a HookInput at a limit is told and starts nothing", async () => {
  const model = scripted([], { then: calls(["Echo", "a"]) });
  const hooks = { turnEnd: (_: unknown, ctx: { hookInput(text: string): void }) => ctx.hookInput("more") };
  const s = stage({ model, tools: [echo], hooks, limits: { iterations: 1 } });
  const result = await s.run();
  assert.deepEqual([result.stop, result.turns], ["max_iterations", 1]);
  assert.equal(s.events.filter((e) => e.type === "hook_input").length, 1);
});

test("pause_turn sends the conversation back as it is, and the reply goes on where it paused", async () => {
  const model = scripted([{ text: "half ", stop_reason: "pause_turn" }, { text: "done" }]);
  const result = await stage({ model }).run();
  assert.deepEqual(model.requests[1]!.messages.map((m) => m.role), ["user", "assistant"]);
  assert.deepEqual(result.messages.map((m) => [m.role, ...shown(m)]), [["user", "go"], ["assistant", "half ", "done"]]);
  assert.equal(result.text, "half done");
  assert.equal(result.iterations, 2);
});

test("a model that pauses for ever ends at the limit of model calls", async () => {
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

test("a model error is tried three times and no more; the Result has it and the transcript", async () => {
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

test("U9: on a model error there is no stop and no turn-end, but the error event and agent-stop", async () => {
  const seen: string[] = [];
  const model = scripted([{ http: 400 }]);
  const result = await stage({ model, hooks: watch(seen) }).run();
  assert.equal(result.stop, "error");
  assert.deepEqual(seen, [...OPENING, "iteration", "error", "agent-stop", "session-end"]);
});

test("U6, S3.4: an error hook may have a model call tried once more, and hears of the second failure too", async () => {
  const told: boolean[] = [];
  const model = scripted([{ http: 400 }, { http: 400 }, { text: "never" }]);
  const s = stage({
    model,
    hooks: {
      error: (e) => {
        told.push(e.retry);
        return modify(true);
      },
    },
  });
  const result = await s.run();
  assert.deepEqual(told, [true, false]);
  assert.equal(result.stop, "error");
  assert.equal(model.requests.length, 2);
  const good = scripted([{ http: 400 }, { text: "second" }]);
  assert.equal((await stage({ model: good, hooks: { error: () => modify(true) } }).run()).text, "second");
});

test("U6, S3.4: an error hook may have a tool tried once more, unless it writes: effects never happen twice", async () => {
  for (const effect of ["none", "read", "write"] as const) {
    let ran = 0;
    const told: unknown[] = [];
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
          told.push([e.error_type, e.error_message, e.tool, e.severity, e.retry]);
          return modify(true);
        },
      },
    }).run();
    assert.equal(ran, effect === "write" ? 1 : 2);
    assert.deepEqual(told, [["RangeError", "first", "Flaky", "error", effect !== "write"]]);
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

test("U9, U10: a tool that does not stop when told is given up on after a grace, and its call is answered", async () => {
  const controller = new AbortController();
  let told = false;
  const hang = act("Hang", "read", (_, { signal }) => {
    signal.addEventListener("abort", () => told = true);
    queueMicrotask(() => controller.abort());
    return new Promise<string>(() => {});
  });
  const s = stage({ model: scripted([calls(["Hang"], ["Echo", "a"], ["Write", "b"])]), tools: [hang, echo, write] });
  const result = await within(s.run("go", controller.signal));
  assert.equal(result.stop, "aborted");
  assert.equal(told, true);
  assert.equal(s.clock.tick(), 2000);
  assert.deepEqual(results(result.messages).map((r) => r.content), [
    "The call was interrupted before it ended",
    "a",
    "The call was interrupted before it ran",
  ]);
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

test("a run within limits.seconds leaves no timer behind", async () => {
  const s = stage({ model: scripted([{ text: "hi" }]), limits: { seconds: 3 } });
  assert.equal((await s.run()).stop, "done");
  assert.equal(s.clock.sleeping, 0);
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

test("the store is waited for, and a message it cannot keep ends the run with every call answered", async () => {
  const saved: number[] = [];
  const model = scripted([calls(["Echo", "a"]), { text: "never" }]);
  const s = stage({
    model,
    tools: [echo],
    life: {
      save: (message, index) => {
        saved.push(index);
        return message.role === "assistant" ? Promise.reject(new Error("disk full")) : Promise.resolve();
      },
    },
  });
  const result = await s.run();
  assert.equal(result.stop, "error");
  assert.equal(result.error!.message, "disk full");
  assert.deepEqual(saved, [0, 1, 2]);
  assert.equal(invalidConversation(result.messages), undefined);
});

test("streaming: what happens is told while it happens, in order, with the agent's id", async () => {
  const model = scripted([{ thinking: "hm", text: "let me look", tools: [{ name: "Echo", input: { say: "a" } }] }, {
    text: "ok",
  }]);
  const s = stage({ model, tools: [echo] });
  await s.run();
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
