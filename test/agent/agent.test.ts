import assert from "node:assert/strict";
import { test } from "node:test";
import type { EventOf } from "../../lib/core/events.ts";
import type { Model } from "../../lib/core/model.ts";
import { agent, type AgentOptions, deny, modify, type RunEvent, type RunOptions } from "../../lib/index.ts";
import { scripted } from "../../lib/testing/index.ts";
import { act, calls, echo, shown, within } from "../core/_stage.ts";

const ok = () => scripted([], { then: { text: "ok" } });

test("the least agent is a model", async () => {
  const { id, text, stop, messages, turns, iterations, usage, cost, denials, error } = await agent({ model: ok() }).run(
    "hi",
  );
  assert.match(id, /^[0-9a-f-]{36}$/);
  assert.deepEqual({ text, stop, turns, iterations, denials, error }, {
    text: "ok",
    stop: "done",
    turns: 1,
    iterations: 1,
    denials: [],
    error: undefined,
  });
  assert.deepEqual(messages.map(shown), [["hi"], ["ok"]]);
  assert.deepEqual([usage.input_tokens, usage.output_tokens, cost], [10, 5, 0]);
});

test("the model gets the system prompt, the tools and nothing of ours", async () => {
  const model = ok();
  await agent({ model, system: "You help.", tools: [echo] }).run("hi");
  const { system, tools, max_tokens } = model.requests[0]!;
  assert.equal(system, "You help.");
  assert.deepEqual(tools.map((t) => Object.keys(t)), [["name", "description", "input_schema"]]);
  assert.ok(max_tokens > 0);
});

test("an agent is a definition: its runs share nothing", async () => {
  const model = ok();
  const seen: [session: string, before: number, after: number][] = [];
  const helper = agent({
    model,
    hooks: {
      stop: (e: EventOf<"stop">, ctx) => void seen.push([e.session_id, ctx.values.size, ctx.values.set("x", 1).size]),
    },
  });
  const [a, b] = await Promise.all([helper.run("one"), helper.run("two")]);
  assert.notEqual(a.id, b.id);
  assert.deepEqual(
    new Map(seen.map(([session, ...sizes]) => [session, sizes])),
    new Map([[a.id, [0, 1]], [b.id, [0, 1]]]),
  );
  assert.deepEqual(model.requests.map((r) => r.messages.length), [1, 1]);
});

test("hooks are a function, an object, typed lists, or a list of any", async () => {
  const rows: AgentOptions["hooks"][] = [
    (e) => e.event === "pre-tool-use" ? deny("no") : undefined,
    { onEvent: (e) => e.event === "pre-tool-use" ? deny("no") : undefined },
    { preToolUse: () => deny("no") },
    { preToolUse: [() => undefined, () => ({ Block: "no" })] },
    [() => undefined, { preToolUse: [] }, { preToolUse: () => deny("no") }],
  ];
  for (const hooks of rows) {
    const model = scripted([calls(["Echo", "a"]), { text: "done" }]);
    const result = await agent({ model, tools: [echo], hooks: hooks! }).run("go");
    assert.deepEqual(result.denials.map((d) => d.reason), ["no"]);
  }
});

test("a wrong option throws where the agent is made, and names the option and the mend", () => {
  const around: { self?: object } = {};
  around.self = around;
  const rows: [object, RegExp][] = [
    [{ hook: [] }, /^Cannot make an agent as option 'hook' is unknown: did you mean 'hooks'\?$/],
    [{ sytem: "x" }, /did you mean 'system'\?/],
    [{ toString: 1 }, /option 'toString' is unknown/],
    [{ system: 5 }, /^Cannot make an agent as 'system' must be a text or a list: current value is 5$/],
    [{ tools: {} }, /^Cannot make an agent as 'tools' must be a list: current value is \{\}$/],
    [{ tools: around }, /^Cannot make an agent as 'tools' must be a list: current value is \[object Object\]$/],
    [{ name: ["x".repeat(999)] }, /^Cannot make an agent as 'name' must be a text: current value is \["x{77}…$/],
    [{ on: true }, /'on' must be a function/],
    [{ signal: {} }, /'signal' must be an AbortSignal/],
    [{ limits: 5 }, /'limits' must be an object/],
    [{ limits: { iteration: 5 } }, /Cannot set limit 'iteration'/],
    [{ tools: [5] }, /Cannot use a value as a tool/],
    [{ tools: [echo, echo] }, /^Cannot make an agent as two of its tools are named 'Echo': rename one$/],
    [{ hooks: { stopp: [] } }, /Cannot hook event 'stopp' as there is no such event: did you mean 'stop'\?/],
    [{ hooks: 5 }, /Cannot use 5 as hooks/],
    [{ memory: 3 }, /^Cannot make an agent as .memory. must be true, false or a list of texts: current value is 3$/],
    [
      { hooks: "./hooks" },
      /^Cannot resolve hooks '\.\/hooks' as the agent does not know where it is: add from: import\.meta\.url$/,
    ],
    [{ cwd: "sub" }, /^Cannot resolve cwd 'sub' as the agent does not know where it is: add from: import\.meta\.url$/],
  ];
  for (const [options, message] of rows) {
    assert.throws(() => agent(options as AgentOptions), { name: "TypeError", message });
  }
  assert.equal(agent({ system: undefined as never }).name, "agent");
});

test("a wrong option of a run is refused before anything happens", async () => {
  const model = ok();
  const helper = agent({ model, name: "helper" });
  const rows: [object, RegExp][] = [
    [{ maxIterations: 5 }, /^Cannot run agent 'helper' as option 'maxIterations' is unknown/],
    [{ limits: { iterations: -1 } }, /Cannot set limit 'iterations'/],
    [{ signal: 5 }, /'signal' must be an AbortSignal/],
    [{ cwd: "sub" }, /Cannot resolve cwd 'sub'/],
    [{ model: 5 }, /Cannot use 5 as a model/],
    [{ model: "" }, /Cannot use "" as a model/],
  ];
  for (const [own, message] of rows) {
    await assert.rejects(helper.run("go", own as RunOptions), { name: "TypeError", message });
    await assert.rejects(helper.stream("go", own as RunOptions).next(), { name: "TypeError", message });
  }
  assert.equal(model.requests.length, 0);
});

test("relative paths are resolved against from, a URL or a path", async () => {
  for (const from of [import.meta.url, new URL(import.meta.url).pathname]) {
    const seen: string[] = [];
    const where = act("Where", "read", (_, { cwd }) => (seen.push(cwd), "here"));
    const made = agent({ from, cwd: "..", model: scripted([calls(["Where"]), { text: "ok" }]), tools: [where] });
    assert.equal(made.name, "agent.test");
    await made.run("go");
    assert.deepEqual(seen, [new URL("..", import.meta.url).pathname.replace(/\/$/, "")]);
  }
});

test("a run may have its own model, limits, place and listener, over the agent's", async () => {
  const heard: string[] = [];
  const places: string[] = [];
  const mine = scripted([], { then: calls(["Where"]) });
  const helper = agent({
    model: ok(),
    tools: [act("Where", "read", (_, { cwd }) => (places.push(cwd), cwd))],
    cwd: "/srv",
    limits: { iterations: 9 },
    on: (e) => void heard.push(`agent ${e.type}`),
  });
  const result = await helper.run("go", {
    model: mine,
    cwd: "/tmp",
    limits: { iterations: 2 },
    on: (e) => void heard.push(`run ${e.type}`),
  });
  assert.equal(result.stop, "max_iterations");
  assert.equal(mine.requests.length, 2);
  assert.deepEqual(places, ["/tmp", "/tmp"]);
  assert.deepEqual(heard.slice(0, 2), ["agent start", "run start"]);
});

test("stream() gives every event in order and returns the Result", async () => {
  const heard: RunEvent[] = [];
  const stream = agent({ model: ok() }).stream("hi", { on: (e) => void heard.push(e) });
  const got: RunEvent[] = [];
  for (;;) {
    const { done, value } = await stream.next();
    if (done) {
      assert.equal(value.text, "ok");
      break;
    }
    got.push(value);
  }
  assert.deepEqual(got, heard);
  assert.deepEqual([got[0]!.type, got.at(-1)!.type], ["start", "end"]);
});

test("a reader who leaves a stream ends its run, and nothing is left of it", async () => {
  let noted = false;
  const hang = act("Hang", "read", (_, { signal }) =>
    new Promise((_, reject) => {
      signal.addEventListener("abort", () => {
        noted = true;
        reject(new Error("stopped"));
      });
    }));
  const ended: string[] = [];
  const helper = agent({
    model: scripted([calls(["Hang"])]),
    tools: [hang],
    hooks: { agentStop: (e) => void ended.push(e.stop), sessionEnd: () => void ended.push("session-end") },
  });
  for await (const event of helper.stream("go")) {
    if (event.type === "tool_start") break;
  }
  assert.equal(noted, true);
  assert.deepEqual(ended, ["aborted", "session-end"]);
});

test("the agent's signal ends every run of it, the run's own that run, and a session's every prompt", async () => {
  const stuck = () => scripted([], { then: { stall: "start" } });
  const all = new AbortController();
  const helper = agent({ model: stuck(), signal: all.signal });
  const runs = [helper.run("one"), helper.run("two")];
  const session = await helper.open();
  runs.push(session.prompt("three"));
  setTimeout(() => all.abort(), 5);
  assert.deepEqual((await within(Promise.all(runs))).map((r) => r.stop), ["aborted", "aborted", "aborted"]);
  await session.close();
  const one = new AbortController();
  const own = agent({ model: stuck() }).run("one", { signal: one.signal });
  setTimeout(() => one.abort(), 5);
  assert.equal((await within(own)).stop, "aborted");
});

test("whatever happens after the start, and whatever is thrown, there is always a Result that says so", async () => {
  const nothing = (() => undefined) as unknown as Model;
  assert.equal((await agent({ model: nothing }).run("go")).stop, "error");
  const aborted = await agent({ model: ok(), hooks: { iteration: (_, ctx) => ctx.abort("no") } }).run("go");
  assert.match(aborted.error!.message, /: no$/);
  const unshown = Object.create(null);
  const noted = "it threw something that cannot be shown";
  for (
    const [thrown, message] of [[unshown, noted], ["words", "words"], [new Error("no such model"), "no such model"], [
      undefined,
      "undefined",
    ], [null, "null"]]
  ) {
    const broken: Model = () => {
      throw thrown;
    };
    const { stop, error } = await agent({ model: broken }).run("hi");
    assert.deepEqual([stop, error?.message], ["error", message]);
    const deaf = await agent({
      model: ok(),
      on: (event) => {
        if (event.type === "message") throw thrown;
      },
    }).run("hi");
    assert.deepEqual([deaf.stop, deaf.error?.message], ["error", message]);
    // A hook may ask for another try, whatever was thrown.
    let tries = 0;
    const second: Model = (request, signal) => tries++ === 0 ? broken(request, signal) : ok()(request, signal);
    const retried = await agent({ model: second, hooks: { error: () => modify(true) } }).run("hi");
    assert.equal(retried.text, "ok");
  }
});
