import assert from "node:assert/strict";
import { test } from "node:test";
import type { Fired } from "../../lib/core/events.ts";
import type { HookContext } from "../../lib/core/hook.ts";
import { systemClock } from "../../lib/core/clock.ts";
import { context, deny } from "../../lib/core/verdict.ts";
import { agent } from "../../lib/index.ts";
import { HookRegistry } from "../../lib/hooks/registry.ts";
import { wrapToolCall } from "../../lib/hooks/wrap-tool-call.ts";
import { scripted } from "../../lib/testing/index.ts";
import { Agent } from "../../lib/tools/index.ts";
import { env, folded, PRE, pre, STOP } from "./_fired.ts";
import { calls, echo, fail, named, shown, stage } from "./_stage.ts";

test("U2: each call has its own context; values alone are shared", async () => {
  const contexts: HookContext[] = [];
  const seen: unknown[] = [];
  const values = new Map();
  await folded(
    [
      pre("a", (_, ctx) => {
        contexts.push(ctx);
        ctx.values.set("n", 1);
      }),
      pre("b", (_, ctx) => {
        contexts.push(ctx);
        seen.push(ctx.values.get("n"));
      }),
    ],
    PRE,
    env({ values }),
  );
  assert.notEqual(contexts[0], contexts[1]);
  assert.deepEqual(seen, [1]);
  assert.deepEqual([...values], [["n", 1]]);
});

test("U2: ctx has the clock, the chance, the place and the log of its run", async () => {
  const logged: string[] = [];
  const executed: unknown[] = [];
  const where = env({
    cwd: "/there",
    log: (hook, message) => logged.push(`${hook}: ${message}`),
    exec: (command, args, { cwd }) => {
      executed.push([command, args, cwd]);
      return Promise.resolve({ code: 0, stdout: "out", stderr: "" });
    },
  });
  const f = await folded(
    [
      pre("a", async (_, ctx) => {
        ctx.log("hello");
        const { now, uuid, random, $ } = ctx;
        const { stdout } = await $("git", ["status"]);
        return context(JSON.stringify([now().toISOString(), uuid(), random(), ctx.cwd, stdout]));
      }),
    ],
    PRE,
    where,
  );
  assert.deepEqual(JSON.parse(f.contexts[0]!.text), [
    "2026-01-01T00:00:00.000Z",
    "00000000-0000-4000-8000-000000000001",
    0.5,
    "/there",
    "out",
  ]);
  assert.deepEqual(logged, ["a: hello"]);
  assert.deepEqual(executed, [["git", ["status"], "/there"]]);
});

test("ctx.sleep() waits by the run's clock, within the hook's limit, until the hook is interrupted, and for times alone", async () => {
  const asleep = (ms: number, timeout = 7200) =>
    pre("a", async (_, ctx) => {
      await ctx.sleep(ms);
      return deny("woke");
    }, { timeout });
  const said = async (...hook: Parameters<typeof asleep>) => (await folded([asleep(...hook)], PRE)).reason;
  assert.equal(await said(3_600_000), "woke");
  assert.equal(await said(1000, 2), "woke");
  assert.equal(await said(3_600_000, 2), "it took longer than its limit of 2 s");
  for (const wrong of [-1, NaN]) {
    assert.equal(await said(wrong), `Cannot sleep for '${wrong}' as that is not a time: give milliseconds`);
  }
  const stop = new AbortController();
  const woken = Promise.withResolvers<void>();
  const interrupted = pre("a", async (_, ctx) => {
    setTimeout(() => stop.abort());
    await ctx.sleep(3_600_000);
    woken.resolve();
  });
  await folded([interrupted], PRE, env({ clock: systemClock, signal: stop.signal }));
  await woken.promise;
});

test("ctx.$ in a host without processes is a failure that says so", async () => {
  const f = await folded([pre("a", (_, ctx) => ctx.$("ls"))], PRE);
  assert.equal(f.reason, "Cannot run 'ls' as this host gives hooks no processes");
});

test("U11: ctx.hookInput is trimmed, and blank input is ignored", async () => {
  const f = await folded([
    named("a", "turn-end", (_, ctx) => {
      ctx.hookInput("  fix it \n");
      ctx.hookInput(" \n ");
    }),
  ], { ...STOP, event: "turn-end", trigger: "user", stop: "done" } as unknown as Fired<"turn-end">);
  assert.deepEqual(f.inputs, [{ hook: "a", text: "fix it" }]);
});

test("S4.13, S4.16, S4.17: lists under the older names run at the same moments, and share one map of values through all phases", async () => {
  const phase = (name: string) => (_: unknown, { values }: HookContext) =>
    void values.set("phases", [...(values.get("phases") as string[] | undefined) ?? [], name]);
  let phases: unknown;
  const hooks = {
    preGeneration: phase("preGeneration"),
    preIteration: phase("preIteration"),
    preToolUse: phase("preToolUse"),
    postToolUse: phase("postToolUse"),
    postToolUseFailure: phase("postToolUseFailure"),
    stop: phase("stop"),
    postGeneration: phase("postGeneration"),
    cleanup: (_: unknown, { values }: HookContext) => void (phases = values.get("phases")),
  };
  await stage({
    model: scripted([calls(["Echo", "a"]), calls(["Fail", "b"]), { text: "c" }]),
    tools: [echo, fail],
    hooks,
  }).run();
  assert.deepEqual(phases, [
    "preGeneration",
    ...["preIteration", "preToolUse", "postToolUse"],
    ...["preIteration", "preToolUse", "postToolUseFailure"],
    ...["preIteration", "stop", "postGeneration"],
  ]);
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

// Kills: a registry that makes a new map for each event.
test("S4.16: a registry shares one map of values through all events of a session, until it ends", async () => {
  const seen: unknown[] = [];
  const hooks = new HookRegistry().register({
    onEvent: (_, { values }) => {
      values.set("n", Number(values.get("n") ?? 0) + 1);
      seen.push(values.get("n"));
    },
  });
  for (const session_id of ["a", "b", "a"]) {
    await hooks.fire({ event: "user-prompt-submit", prompt: "go" }, { session_id });
    await wrapToolCall(hooks, session_id, "Bash", { command: "ls" }, () => "");
  }
  await hooks.fire({ event: "session-end", reason: "other", duration_ms: 0 }, { session_id: "a" });
  await hooks.fire({ event: "user-prompt-submit", prompt: "again" }, { session_id: "a" });
  assert.deepEqual(seen, [1, 2, 3, 1, 2, 3, 4, 5, 6, 7, 1]);
});

test("U2: an agent below has values of its own, which neither sees of the other", async () => {
  const seen: [agent: string, before: unknown][] = [];
  const start = { name: "Agent", input: { description: "d", prompt: "below" } };
  const result = await agent({
    model: scripted([], {
      then: ({ messages }) =>
        messages.length > 1 || shown(messages[0])[0] === "below" ? { text: "done" } : { tools: [start] },
    }),
    tools: [Agent],
    hooks: {
      iteration: (e, ctx) => {
        seen.push([e.parent_agent_id === undefined ? "root" : "below", ctx.values.get("mine")]);
        ctx.values.set("mine", e.agent_id);
      },
    },
  }).run("go");
  assert.deepEqual(seen, [["root", undefined], ["below", undefined], ["root", result.id]]);
});
