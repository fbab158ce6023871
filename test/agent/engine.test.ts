import assert from "node:assert/strict";
import { test } from "node:test";
import { agent, deny, type Engine, type HookContext, tool } from "../../lib/index.ts";
import { codeHooks } from "../../lib/hooks/code-hooks.ts";
import { isToolResult, type TextBlock } from "../../lib/core/messages.ts";
import type { RunEvent } from "../../lib/core/run-events.ts";
import type { ToolContext } from "../../lib/tools/tool-context.ts";
import { scripted } from "../../lib/testing/index.ts";
import { Agent } from "../../lib/tools/index.ts";
import { type Journal, type MemoryEngine, memoryEngine } from "../extensions/durable/_engines.ts";

const say = (name: string, run: (say: string, ctx: ToolContext) => unknown, effect: "read" | "write" = "read") =>
  tool<{ say: string }>({
    name,
    description: name,
    effect,
    input: { type: "object", properties: { say: { type: "string" } } },
    run: async (input, ctx) => String(await run(input.say, ctx)),
  });

const call = (name: string, words: string, id: string) => ({ name, input: { say: words }, id });

test("U2: what hooks share is as they left it when a run continues: set, changed and deleted", async () => {
  const journal: Journal = new Map();
  const found: unknown[] = [];
  const run = (engine: Engine) =>
    agent({
      model: scripted([{ tools: [call("Echo", "a", "t1")] }, { tools: [call("Echo", "b", "t2")] }, { text: "done" }]),
      tools: [say("Echo", (words) => words)],
      hooks: {
        preToolUse: ({ input }, { values }) => {
          values.set("last", input.say);
          if (input.say === "a") values.set("open", true);
          else values.delete("open");
        },
        stop: (_, { values }) => void found.push(Object.fromEntries(values)),
      },
      step: engine,
    }).run("go", { id: "s" });
  const whole = memoryEngine(journal);
  await run(whole);
  for (const name of whole.finished.filter((n) => n.endsWith(":stop"))) journal.delete(name);
  await run(memoryEngine(journal));
  assert.deepEqual(found, [{ last: "b" }, { last: "b" }]);
});

test("names of steps are unique and stable, even if a model repeats ids and a session has several runs; words are said again", async () => {
  const journal: Journal = new Map();
  const run = async () => {
    const engine = memoryEngine(journal);
    const said: string[] = [];
    const same = { tools: [call("Echo", "a", "same"), call("Echo", "b", "other")] };
    const model = scripted([same, same, { text: "one" }, same, { text: "two" }]);
    const on = (event: RunEvent) => void (event.type === "text" && said.push(event.text));
    const session = await agent({ model, tools: [say("Echo", (words) => words)], step: engine }).open({ id: "s", on });
    await session.prompt("first");
    await session.prompt("second");
    await session.close();
    return { ...engine, said };
  };
  const first = await run();
  assert.deepEqual(first.broken, []);
  assert.deepEqual(first.ran, [
    ...["begin:s:0", "llm:s:0.1:1", "tool:s:0.1:Echo:same", "tool:s:0.1:Echo:other", "llm:s:0.1:2"],
    ...["tool:s:0.1:Echo:same#2", "tool:s:0.1:Echo:other#2", "llm:s:0.1:3"],
    ...["begin:s:1", "llm:s:1.1:1", "tool:s:1.1:Echo:same", "tool:s:1.1:Echo:other", "llm:s:1.1:2"],
  ]);
  const second = await run();
  assert.deepEqual([second.ran, second.said], [[], ["one", "two"]]);
});

test("no step is ever in a step: a tool that starts agents is run again with their reports, which run once", async () => {
  const journal: Journal = new Map();
  const did: string[] = [];
  const lead = tool({
    name: "Lead",
    description: "",
    effect: "read",
    input: { type: "object", properties: {} },
    run: async (_, ctx) => {
      did.push("lead");
      const both = await Promise.all(["x", "y"].map((prompt) => ctx.spawn!({ type: "helper", prompt, tools: [] })));
      const last = await ctx.spawn!({ type: "helper", prompt: "z", tools: [] });
      const failed = await ctx.spawn!({ type: "helper", prompt: "", resume: "nobody" }).catch((e: Error) => e.message);
      return [...both, last].map((s) => `${s.agent_id} ${s.text}`).join(" ") + failed;
    },
  });
  const model = () =>
    scripted([], {
      then: ({ messages }) => {
        const first = messages[0]!.content[0] as TextBlock;
        if (first.text !== "go") return { text: `did ${first.text}` };
        return messages.length === 1 ? { tools: [{ name: "Lead", input: {}, id: "t" }] } : { text: "done" };
      },
    });
  const run = async () => {
    const engine = memoryEngine(journal);
    const result = await agent({ model: model(), tools: [lead], step: engine }).run("go", { id: "s" });
    assert.deepEqual(engine.broken, []);
    return { result, engine };
  };
  const { result, engine } = await run();
  assert.equal(result.text, "done");
  assert.equal(did.length, 4);
  const children = engine.ran.filter((name) => name.startsWith("llm:a"));
  assert.equal(new Set(children).size, 3);
  assert.match(
    JSON.stringify(result.messages),
    /a\w{16} did x a\w{16} did y a\w{16} did zCannot resume agent 'nobody'/,
  );
  const again = await run();
  assert.deepEqual(again.engine.ran, []);
  assert.equal(did.length, 4);
  assert.deepEqual(again.result, result);
});

test("reports of agents in the background are taken at the same point when the run is repeated", async () => {
  const journal: Journal = new Map();
  const run = async () => {
    const engine = memoryEngine(journal);
    const input = { description: "d", prompt: "work", run_in_background: true };
    const model = scripted([], {
      then: ({ messages }) => {
        const first = messages[0]!.content[0] as TextBlock;
        if (first.text === "work") return { text: "worked" };
        if (messages.length === 1) return { tools: [{ name: "Agent", input, id: "t" }] };
        return { text: `heard ${JSON.stringify(messages).includes("worked")}` };
      },
    });
    const result = await agent({ model, tools: [Agent], step: engine }).run("go", { id: "s" });
    assert.deepEqual(engine.broken, []);
    return { result, ran: engine.ran };
  };
  const first = await run();
  assert.equal(first.result.text, "heard true");
  assert.ok(first.ran.some((name) => name.startsWith("inbox:s:0.1:")));
  const second = await run();
  assert.deepEqual(second.ran, []);
  assert.deepEqual(second.result, first.result);
});

test("what a hook says from the background is taken by a step, and repeated at the same point", async () => {
  const journal: Journal = new Map();
  const run = async () => {
    const engine = memoryEngine(journal);
    const model = scripted([{ tools: [call("Slow", "a", "t1")] }, { tools: [call("Slow", "a", "t2")] }, {
      text: "ok",
    }]);
    const tools = [say("Slow", async (words) => (await new Promise((r) => setTimeout(r, 5)), words))];
    const [noted] = codeHooks([{ preToolUse: [(_: unknown, ctx: HookContext) => ctx.addContext("by the way")] }]);
    const result = await agent({ model, tools, hooks: [{ ...noted!, mode: "async" }], step: engine }).run("go", {
      id: "s",
    });
    return { result, engine };
  };
  const first = await run();
  assert.match(JSON.stringify(first.result.messages), /by the way/);
  const second = await run();
  assert.deepEqual(second.engine.ran, []);
  assert.deepEqual(second.result.messages, first.result.messages);
});

test("what a hook says from the background reaches the model at once if a stop hook sends it back", async () => {
  const model = scripted([{ text: "one" }, { text: "two" }]);
  const [noted] = codeHooks([{ iteration: (_: unknown, ctx: HookContext) => ctx.addContext("by the way") }]);
  const stop = {
    stop: ({ stop_hook_active }: { stop_hook_active: boolean }) => stop_hook_active ? undefined : deny("more"),
  };
  await agent({ model, hooks: [{ ...noted!, mode: "async" }, stop], step: memoryEngine() }).run("go", { id: "s" });
  assert.match(JSON.stringify(model.requests[1]!.messages.at(-1)), /by the way.*more/);
});

test("an effect that ran again has the name of its step as its key both times, and says so in its result; one that ran once, and a call that only reads, do not", async () => {
  const journal: Journal = new Map();
  const calling = (name: string, id: string) => ({ tools: [call(name, "a", id)] });
  const replies = [calling("Look", "t1"), calling("Save", "t2"), calling("Save", "t3"), { text: "ok" }];
  const keys: string[] = [];
  const save = (_: string, { idempotencyKey }: ToolContext) => (keys.push(idempotencyKey), "saved");
  const tools = [say("Save", save, "write"), say("Look", () => "seen", "read")];
  const run = (step: MemoryEngine) => {
    const model = scripted([], { then: ({ messages }) => replies[Math.floor(messages.length / 2)]! });
    return agent({ model, tools, step }).run("go", { id: "s" });
  };
  // Once in the call that reads, once in the second that writes.
  for (const at of [2, 6]) {
    const dying = memoryEngine(journal, { at, where: "in flight" });
    await Promise.race([run(dying), dying.dead]);
  }
  const { messages } = await run(memoryEngine(journal));
  const results = messages.flatMap(({ content }) => content.filter(isToolResult)).map(({ content }) => String(content));
  assert.deepEqual(results.map((content) => /ran again: .* may have happened twice/.test(content)), [
    false,
    false,
    true,
  ]);
  assert.deepEqual(keys, ["t2", "t3", "t3"].map((id) => `tool:s:0.1:Save:${id}`));
});

test("an engine that fails ends the run with its error, and nothing is done after that", async () => {
  const did: string[] = [];
  const engine: Engine = {
    step: async (name, work) => {
      if (name.startsWith("tool")) throw new Error("disk full");
      did.push(name);
      return await work();
    },
  };
  const model = scripted([{ tools: [call("Echo", "a", "t1")] }, { text: "never" }]);
  const result = await agent({ model, tools: [say("Echo", (words) => words)], step: engine }).run("go", { id: "s" });
  assert.equal(result.stop, "error");
  assert.equal(result.error!.message, "disk full");
  assert.deepEqual(result.messages.at(-1)!.content, [{
    type: "tool_result",
    tool_use_id: "t1",
    content: "The call was interrupted before it ran",
    is_error: true,
  }]);
  assert.deepEqual(did, ["begin:s:0", "llm:s:0.1:1"]);
  const none = await agent({ model, step: { step: () => Promise.reject(new Error("no disk")) } }).run("go");
  assert.equal(none.error!.message, "no disk");
});

test("a step may be a function or an engine, and nothing else", async () => {
  const names: string[] = [];
  const step = <T>(name: string, work: () => Promise<T>) => (names.push(name), work());
  await agent({ model: scripted([{ text: "hi" }]), step }).run("go", { id: "s" });
  assert.deepEqual(names, ["begin:s:0", "llm:s:0.1:1"]);
  assert.throws(() => agent({ step: {} as Engine }), /Cannot use a value as an engine as it has no 'step' function/);
});

test("a run that was interrupted is gone on with before a session takes another prompt", async () => {
  const journal: Journal = new Map();
  const dying = memoryEngine(journal, { at: 1, where: "before" });
  await Promise.race([agent({ model: scripted([]), step: dying }).run("first", { id: "s" }), dying.dead]);
  const later = () => agent({ model: scripted([{ text: "done" }]), step: memoryEngine(journal) });
  await assert.rejects(later().run("second", { id: "s" }), /Cannot prompt session 's' as its last run was interrupted/);
  assert.equal((await later().run("", { id: "s" })).text, "done");
});
