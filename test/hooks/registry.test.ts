import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "../../lib/core/clock.ts";
import { codeHooks } from "../../lib/hooks/code-hooks.ts";
import type { AnyEvent, EventOf } from "../../lib/core/events.ts";
import type { HookContext } from "../../lib/core/hook.ts";
import { HookRegistry } from "../../lib/hooks/registry.ts";
import { context, deny, halt, modify } from "../../lib/core/verdict.ts";
import { scripted } from "../../lib/testing/index.ts";
import { calls, echo, record, stage } from "../core/_stage.ts";

const BASH = { event: "pre-tool-use", tool_name: "Bash", input: { command: "ls" } } as const;

test("S0.10: a new registry is empty: nothing fires, and everything continues", async () => {
  const { decision, runs, modified } = await new HookRegistry().fire(BASH);
  assert.deepEqual({ decision, runs, modified }, { decision: "continue", runs: [], modified: false });
});

test("S0.7, S0.10, S0.11: objects with onEvent run in the order they were registered, and give one action for the list", async () => {
  const order: string[] = [];
  const hook = (name: string, action: unknown) => ({
    name,
    onEvent: async () => {
      await Promise.resolve();
      order.push(name);
      return action;
    },
  });
  const hooks = new HookRegistry();
  hooks.register(hook("a", "Continue"));
  hooks.register(hook("b", { Transform: { command: "pwd" } }));
  assert.deepEqual((await hooks.fire(BASH)).value, { command: "pwd" });
  hooks.register(hook("c", { Block: "no" }), hook("d", "Continue"));
  order.length = 0;
  const folded = await hooks.fire(BASH);
  assert.deepEqual([folded.decision, folded.reason, folded.modified], ["deny", "no", false]);
  assert.deepEqual(order, ["a", "b", "c"]);
});

test("S0.10, S3.37: what was registered is unregistered by the very object, from the next event on, in a handler too", async () => {
  const asked: string[] = [];
  const list = { preToolUse: [() => void asked.push("list"), () => void asked.push("list")] };
  const once = {
    onEvent: () => {
      asked.push("once");
      asked.push(String(hooks.unregister(once) && hooks.unregister(list)));
    },
  };
  const hooks = new HookRegistry().register(once, list, () => void asked.push("last"));
  const names = hooks.records.map(({ name }) => name);
  await hooks.fire(BASH);
  assert.deepEqual(asked.splice(0), ["once", "true", "list", "list", "last"], "the event in hand goes to its end");
  await hooks.fire(BASH);
  assert.deepEqual(asked.splice(0), ["last"]);
  assert.deepEqual([once, { ...list }, list.preToolUse[0]!].map((hook) => hooks.unregister(hook)), [
    false,
    false,
    false,
  ]);
  hooks.register(list);
  await hooks.fire(BASH);
  assert.deepEqual(asked, ["last", "list", "list"]);
  assert.equal(new Set([...names, ...hooks.records.map(({ name }) => name)]).size, 6, "no name comes back");
  hooks.register(list).unregister(list);
  await hooks.fire(BASH);
  assert.deepEqual(asked.slice(3), ["last"], "also what was registered twice");
});

test("S0.10: a hook that an agent's registry gives up is not asked at the next event of the run", async () => {
  const seen: string[] = [];
  const hook = { onEvent: ({ event }: { event: string }) => void (seen.push(event), hooks.unregister(hook)) };
  const hooks = new HookRegistry().register(hook);
  await stage({ model: scripted([{ text: "done" }]), hooks: [hooks, { stop: () => void seen.push("the other") }] })
    .run();
  assert.equal(seen.length, 2);
  assert.equal(seen[1], "the other");
});

test("S0.16: an error is not a Block: it is reported as a failure, and the policy decides", async () => {
  const hooks = new HookRegistry().register({ onEvent: () => Promise.reject(new Error("no disk")) });
  const folded = await hooks.fire(BASH);
  assert.equal(folded.runs[0]!.failure, "no disk");
  assert.equal(folded.runs[0]!.opinion, undefined);
  assert.equal((await hooks.fire({ event: "post-tool-use", tool_name: "Bash" })).decision, "continue");
});

// Kills: the method is called without its object.
test("S0.7: a hook may be an object of a class, whose method keeps its object", async () => {
  class Guard {
    #refused = 0;
    onEvent({ event }: AnyEvent) {
      return event === "pre-tool-use" ? { Block: `no ${++this.#refused}` } : undefined;
    }
  }
  const guard = new Guard();
  assert.equal((await new HookRegistry().register(guard).fire(BASH)).reason, "no 1");
  const model = scripted([calls(["Echo"]), { text: "done" }]);
  const { denials } = await stage({ model, tools: [echo], hooks: [guard] }).run();
  assert.equal(denials[0]!.reason, "no 2");
});

test("S0.7: one hook may serve several agents at the same time", async () => {
  let here = 0;
  let allHere: () => void;
  const meeting = new Promise<void>((resolve) => allHere = resolve);
  const hook = {
    onEvent: async (event: { event: string }) => {
      if (event.event !== "iteration") return;
      if (++here === 3) allHere();
      await meeting;
    },
  };
  const registry = new HookRegistry().register(hook);
  const results = await Promise.all(
    [1, 2, 3].map((n) => stage({ model: scripted([{ text: `${n}` }]), hooks: registry }).run()),
  );
  assert.deepEqual(results.map((r) => r.text), ["1", "2", "3"]);
});

test("S0.7: a hook shared by agents that run at once answers each for itself, and shares no values between them", async () => {
  let waiting = 0;
  let meet = () => {};
  const together = new Promise<void>((resolve) => meet = resolve);
  const hook = {
    onEvent: async (event: AnyEvent, { values }: HookContext) => {
      if (event.event === "user-prompt-submit") values.set("prompt", event.prompt);
      if (event.event !== "pre-tool-use") return;
      if (++waiting === 3) meet();
      await together;
      return { Block: String(values.get("prompt")) };
    },
  };
  const registry = new HookRegistry().register(hook);
  const denied = await Promise.all(["a", "b", "c"].map(async (prompt) => {
    const model = scripted([calls(["Echo", prompt]), { text: "done" }]);
    return (await stage({ model, tools: [echo], hooks: registry }).run(prompt)).denials.map(({ reason }) => reason);
  }));
  assert.deepEqual(denied, [["a"], ["b"], ["c"]]);
});

test("S0.10, S0.12: an agent takes a registry, and what is registered or loaded later counts from the next event", async () => {
  const registry = new HookRegistry();
  const seen: string[] = [];
  const model = scripted([calls(["Echo", "a"]), calls(["Echo", "b"]), { text: "done" }]);
  const late = codeHooks([{ name: "loaded", onEvent: ({ event }) => void seen.push(`loaded ${event}`) }]);
  const s = stage({
    model,
    tools: [echo],
    hooks: [registry, {
      postToolUse: async ({ input }) => {
        if (input.say === "b") return;
        registry.register({ preToolUse: ({ input }) => deny(`no ${input.say}`) });
        await registry.registerSource(() => Promise.resolve(late)).load();
      },
    }],
  });
  registry.register({ name: "before", onEvent: ({ event }) => void (event === "turn-start" && seen.push("before")) });
  const { denials } = await s.run();
  assert.deepEqual(denials.map(({ reason }) => reason), ["no b"]);
  assert.deepEqual(seen.slice(0, 4), [
    "before",
    "loaded post-tool-batch",
    "loaded iteration",
    "loaded tool-denied",
  ]);
});

test("S3.36: getStats() counts what agents fire, and what is fired by hand", async () => {
  const registry = new HookRegistry().register({
    name: "guard",
    onEvent: ({ event }) => event === "pre-tool-use" ? deny("no") : undefined,
  });
  const [alone] = [registry.getStats().guard!.runs];
  await stage({ model: scripted([calls(["Echo", "a"]), { text: "done" }]), tools: [echo], hooks: registry }).run();
  const { runs, denied } = registry.getStats().guard!;
  assert.deepEqual([alone, denied, runs > 5], [0, 1, true]);
  await registry.fire(BASH);
  assert.deepEqual([registry.getStats().guard!.denied, registry.getStats().guard!.runs], [2, runs + 1]);
});

test("S3.36: a registry whose sources were never loaded says so: an agent warns, and a host cannot fire", async () => {
  const registry = new HookRegistry().registerSource(() => Promise.resolve([]));
  const missing = /sources of a HookRegistry were never loaded \(1\): call await registry.load\(\)/;
  const s = stage({ model: scripted([{ text: "done" }]), hooks: registry });
  await s.run();
  assert.match(s.warnings()[0]!, missing);
  await assert.rejects(registry.fire(BASH), missing);
  await registry.load();
  const loaded = stage({ model: scripted([{ text: "done" }]), hooks: registry });
  await loaded.run();
  assert.deepEqual(loaded.warnings(), []);
  assert.equal((await registry.fire(BASH)).decision, "continue");
});

test("U2: a registry keeps the values of each session apart, until it ends", async () => {
  const registry = new HookRegistry().register({
    preToolUse: ({ tool_name }, { values }) => {
      if (tool_name === "Read") values.set("read", true);
      return tool_name === "Edit" && !values.has("read") ? deny("Read it first") : undefined;
    },
  });
  const may = async (session: string, tool: string) =>
    (await registry.emit(session, "PreToolUse", { tool, args: {} }))[0]!.action;
  assert.deepEqual([await may("a", "Read"), await may("a", "Edit"), await may("b", "Edit")], [
    "continue",
    "continue",
    "deny",
  ]);
  await registry.emit("a", "SessionEnd", { reason: "other", duration_ms: 1 });
  assert.equal(await may("a", "Edit"), "deny");
});

test("S3.36, S3.38: load() brings in what was registered as a source; hooks set in code survive it and stay first", async () => {
  const order: string[] = [];
  const say = (name: string) =>
    record({ name, on: codeHooks([() => undefined])[0]!.on, run: () => void order.push(name) });
  let loads = 0;
  const hooks = new HookRegistry().registerSource(() => {
    loads++;
    return Promise.resolve([say("file")]);
  }).register(say("code"));
  await hooks.load();
  await hooks.load();
  await hooks.fire(BASH);
  assert.deepEqual(order, ["code", "file"]);
  assert.equal(loads, 1);
});

test("S3.36: emit() gives each hook's own answer, by the host's names of event and fields", async () => {
  const seen: unknown[] = [];
  const hooks = new HookRegistry().register(
    { name: "m", onEvent: () => modify({ command: "pwd" }) },
    { name: "c", onEvent: () => context("x") },
    {
      name: "n",
      onEvent: (e) => {
        const { session_id, tool_name, input, original_input } = e as EventOf<"pre-tool-use">;
        seen.push({ session_id, tool_name, input, original_input });
        return deny("no");
      },
    },
    { name: "late", onEvent: () => undefined },
  );
  const results = await hooks.emit({ id: "s1" }, "PreToolUse", { tool: "Bash", args: { command: "ls" } });
  assert.deepEqual(results, [
    { hook: "m", action: "modify", value: { command: "pwd" } },
    { hook: "c", action: "continue" },
    { hook: "n", action: "deny", reason: "no" },
  ]);
  const halting = new HookRegistry().register({ name: "h", onEvent: () => halt("later") });
  const halted = await halting.emit({ id: "s1" }, "PreToolUse", { tool: "Bash", args: {} });
  assert.deepEqual(halted, [{ hook: "h", action: "halt", reason: "later" }]);
  assert.deepEqual(seen, [{
    session_id: "s1",
    tool_name: "Bash",
    input: { command: "pwd" },
    original_input: { command: "ls" },
  }]);
  const failed = await new HookRegistry().register({ name: "f", onEvent: () => 5 }).emit("s", "stop", {});
  assert.equal(failed[0]!.action, "failed");
  await assert.rejects(hooks.emit("s", "PreTool", {}), /Cannot hook event 'PreTool' as there is no such event/);
});

test("S3.36: getStats() counts runs, denials, changes, failures and time by hook; every failure is counted", async () => {
  let n = 0;
  const answers = [() => deny("no"), () => modify({}), () => 5, () => undefined];
  const hooks = new HookRegistry().register({ name: "h", onEvent: () => answers[n++]!() }, {
    name: "quiet",
    onEvent: () => undefined,
  });
  let ticks = 0;
  const clock = { ...systemClock, tick: () => ticks += 5 };
  for (let i = 0; i < 4; i++) await hooks.fire(BASH, { clock });
  const { h, quiet } = hooks.getStats();
  assert.partialDeepStrictEqual(h, { runs: 4, denied: 1, modified: 1, failed: 1, total_ms: 20, enabled: true });
  assert.partialDeepStrictEqual(quiet, { runs: 2, denied: 0, modified: 0, failed: 0, total_ms: 10, enabled: true });
});

test("U7: the failure of an async hook is counted too", async () => {
  const background: Promise<unknown>[] = [];
  const [base] = codeHooks([() => Promise.reject(new Error("x"))]);
  const hooks = new HookRegistry().register({ ...base!, name: "a", mode: "async" });
  await hooks.fire(BASH, { background: (work) => background.push(work) });
  await Promise.all(background);
  assert.equal(hooks.getStats().a!.failed, 1);
});

test("S3.36: a disabled hook is passed over until it is enabled; an unknown one is an error that lists the hooks", async () => {
  const hooks = new HookRegistry().register({ name: "h", onEvent: () => deny("no") });
  hooks.disable("h");
  const off = await hooks.fire(BASH);
  assert.deepEqual([off.decision, off.runs], ["continue", [{ hook: "h", skipped: "disabled" }]]);
  assert.equal(hooks.getStats().h!.enabled, false);
  hooks.enable("h");
  assert.equal((await hooks.fire(BASH)).decision, "deny");
  assert.throws(() => hooks.enable("x"), {
    name: "TypeError",
    message: "Unknown hook 'x': the hooks are h",
  });
});

test("what a host fires stays the host's own: nothing of it is frozen or changed, and loops do no harm", async () => {
  const hooks = new HookRegistry().register({ onEvent: () => undefined });
  const input: Record<string, unknown> = { command: "ls", nested: { a: [1] } };
  input.self = input;
  await hooks.fire({ ...BASH, input });
  assert.equal(Object.isFrozen(input), false);
  assert.equal(Object.isFrozen(input.nested), false);
});
