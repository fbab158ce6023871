import assert from "node:assert/strict";
import { test } from "node:test";
import { type CodeHooks, onToolFailure, onToolSuccess } from "../../lib/hooks/code-hooks.ts";
import type { EventOf } from "../../lib/core/events.ts";
import type { CallOutcome } from "../../lib/core/run-events.ts";
import type { Tool } from "../../lib/core/tool.ts";
import { tool } from "../../lib/tools/make-tool.ts";
import { context, deny, halt, modify } from "../../lib/core/verdict.ts";
import { scripted } from "../../lib/testing/index.ts";
import { act, boom, calls, echo, fail, last, played, results, stage, watch } from "./_stage.ts";

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

test("a tool that writes and is said to run beside others does so", async () => {
  const log: string[] = [];
  let sleep: (ms: number) => Promise<void> = async () => {};
  const { run } = timed("W", "write", log, (ms) => sleep(ms));
  const beside = tool<{ say?: string }>({
    name: "W",
    description: "W.",
    input: { type: "object" },
    effect: "write",
    parallel: true,
    run,
  });
  const s = stage({ model: scripted([calls(["W", "a 20"], ["W", "b 10"]), { text: "done" }]), tools: [beside] });
  sleep = (ms) => s.clock.sleep(ms);
  await s.run();
  assert.deepEqual(log, ["run a", "run b", "end b", "end a"]);
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
    const s = await played([reply, { text: "done" }], {
      tools: [echo, fail, boom],
      hooks: [watch(seen), { preToolUse: guard }],
    });
    assert.equal(s.result.stop, "done", name);
    const ends = s.events.filter((e) => e.type === "tool_end");
    assert.deepEqual(ends.map((e) => e.outcome), [outcome], name);
    assert.match(ends[0]!.content, content, name);
    const [answer, ...more] = results(s.result.messages);
    assert.deepEqual(more, [], name);
    assert.match(String(answer!.content), content, name);
    assert.equal(answer!.is_error, outcome !== "success", name);
    const noted = seen.map((w) => w.split(" ")[0]!).filter((w) => /tool-(use|denied)|^error/.test(w));
    assert.deepEqual(noted, expected, name);
    s.model.done();
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
        postToolUse: [
          note("success"),
          onToolFailure(note("onFailure")),
          onToolSuccess(note("onSuccess")),
        ],
        postToolUseFailure: [note("failure"), onToolFailure(note("filtered")), onToolSuccess(note("never"))],
      },
    ],
  }).run();
  assert.deepEqual(seen, [
    ...["object Echo", "success Echo", "onSuccess Echo"],
    ...["object Fail", "onFailure Fail", "failure Fail", "filtered Fail"],
  ]);
});

test("S4.24: hooks of a call see its tool, id, input as it stands and as the model gave it, and then its result and time", async () => {
  const seen: unknown[] = [];
  const own = (e: EventOf<"pre-tool-use" | "post-tool-use">) => {
    const { event_id: _id, timestamp: _at, session_id: _session, agent_id: _agent, turn_id: _turn, ...fields } = e;
    seen.push(fields);
  };
  const slow = act("Slow", "none", async ({ say = "" }) => (await s.clock.sleep(40), say));
  const s = stage({
    model: scripted([calls(["Slow", "a"]), { text: "done" }]),
    tools: [slow],
    hooks: { preToolUse: [(e) => (own(e), modify({ say: "b" })), own], postToolUse: own },
  });
  await s.run();
  const call = { tool_name: "Slow", tool_use_id: "toolu_scripted_0001", original_input: { say: "a" } };
  const result = { content: "b", is_error: false, response: "b" };
  const ended = { result, outcome: "success", failed: false, error: null, duration_ms: 40 };
  assert.deepEqual(seen, [
    { event: "pre-tool-use", ...call, input: { say: "a" } },
    { event: "pre-tool-use", ...call, input: { say: "b" } },
    { event: "post-tool-use", ...call, input: { say: "b" }, ...ended },
  ]);
});

test("S4.24: tool_end carries what hooks added to a call before and after it, also after a denial", async () => {
  const s = await played([calls(["Echo", "a"], ["Fail", "f"], ["Boom", "b"]), calls(["Echo", "c"]), { text: "done" }], {
    tools: [echo, fail, boom],
    hooks: {
      preToolUse: (e) =>
        e.tool_name === "Boom"
          ? { action: "deny", reason: "no", context: "before Boom" }
          : e.input.say === "c"
          ? undefined
          : context(`before ${e.tool_name}`),
      postToolUse: (e) => e.input.say === "c" ? undefined : context(`after ${e.tool_name}`),
    },
  });
  const ends = s.events.flatMap((e) =>
    e.type === "tool_end" ? [[e.id.at(-1), e.contexts?.map(({ text }) => text)]] : []
  );
  assert.deepEqual(Object.fromEntries(ends), {
    1: ["before Echo", "after Echo"],
    2: ["before Fail"],
    3: ["before Boom"],
    4: undefined,
  });
  const { contexts } = s.events.find((e) => e.type === "tool_end")!;
  assert.match(contexts![0]!.hook, /pre-tool-use/);
});

function refuse() {
  return deny("not here");
}

test("U8: a denied call is in the Result, and tool-denied carries who and why", async () => {
  const noted: unknown[] = [];
  const model = scripted([calls(["Echo", "a"]), { text: "done" }]);
  const result = await stage({
    model,
    tools: [echo],
    hooks: {
      preToolUse: refuse,
      toolDenied: (e) => void noted.push([e.tool_name, e.input, e.original_input, e.reason, e.denied_by]),
    },
  }).run();
  assert.deepEqual(result.denials, [
    { tool_name: "Echo", tool_use_id: "toolu_scripted_0001", reason: "not here", by: "refuse" },
  ]);
  assert.deepEqual(noted, [["Echo", { say: "a" }, { say: "a" }, "not here", "refuse"]]);
});

test("U8: a denied call stays denied, and is reported once, even if a hook of tool-denied ends the run", async () => {
  const s = await played([calls(["Echo", "a"], ["Echo", "b"])], {
    hooks: { preToolUse: refuse, toolDenied: (_, ctx) => ctx.abort("enough") },
  });
  assert.equal(s.result.stop, "error");
  assert.deepEqual(s.events.flatMap((e) => e.type === "tool_end" ? [e.outcome] : []), ["denied", "interrupted"]);
  assert.deepEqual(results(s.result.messages).map((r) => r.content), [
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
    [undefined, /not a text, not a list of blocks/, true],
    [5, /not a text/, true],
    [{ content: 5 }, /not a text/, true],
    [[1], /not a text/, true],
    [{}, /not a text/, true],
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
  assert.deepEqual(seen.slice(-4), ["notification", "turn-end", "agent-stop", "session-end"]);
  assert.equal(results(result.messages).length, 2);
});

test("post-tool-batch comes once for all calls of a reply, in their order, before the next iteration", async () => {
  const seen: unknown[] = [];
  const model = scripted([calls(["Echo", "a"], ["Fail", "b"], ["Ecko", "c"]), { text: "done" }]);
  const s = stage({
    model,
    tools: [echo, fail],
    hooks: {
      postToolBatch: ({ tool_calls }) => {
        seen.push(tool_calls.map(({ tool_name, input, is_error }) => [tool_name, input.say, is_error]));
        seen.push(tool_calls[0]!.response, model.requests.length);
        return context("look at all of them");
      },
    },
  });
  await s.run();
  assert.deepEqual(seen, [[["Echo", "a", false], ["Fail", "b", true], ["Ecko", "c", true]], "a", 1]);
  assert.match(last(model.requests[1]).at(-1)!, /look at all of them/);
});

test("U6: post-tool-batch: a denial or a halt ends the run, every call answered and no model called again", async () => {
  for (const verdict of [deny("not like this"), halt("not like this")]) {
    const model = scripted([calls(["Echo", "a"], ["Echo", "b"])]);
    const result = await stage({ model, tools: [echo], hooks: { postToolBatch: () => verdict } }).run();
    assert.equal(result.stop, "halted");
    assert.deepEqual(results(result.messages).map(({ content }) => content), ["a", "b"]);
    assert.equal(model.requests.length, 1);
  }
});

test("cwd-changed comes after a call that moved the agent, and only then", async () => {
  const seen: unknown[] = [];
  let place = "/work";
  const move = act("Move", "write", ({ say = "" }) => (place = say));
  const model = scripted([calls(["Move", "/work"], ["Move", "/tmp"]), calls(["Move", "/work"]), { text: "done" }]);
  const hooks: CodeHooks = { cwdChanged: ({ old_cwd, new_cwd }) => void seen.push([old_cwd, new_cwd]) };
  await stage({ model, tools: [move], hooks, state: { cwd: () => place } }).run();
  assert.deepEqual(seen, [["/work", "/tmp"], ["/tmp", "/work"]]);
});
