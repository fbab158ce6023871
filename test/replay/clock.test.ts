import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { agent, type AgentOptions, type HookContext, tool } from "../../lib/index.ts";
import { codeHooks } from "../../lib/hooks/code-hooks.ts";
import { LaneClock } from "../../lib/log/tape-clock.ts";
import { scripted, type ScriptedReply } from "../../lib/testing/index.ts";
import { agentTool } from "../../lib/tools/index.ts";
import { inFolder, Look, look, take } from "./_stage.ts";
import { taped } from "./_taped.ts";

const at = (lane: string, more = {}) => new LaneClock({ lane, epoch: 1000, seed: "s", live: false, ...more });

test("a lane's clock stands still in a step and gives the time of the tape in each", () => {
  const clock = at("main", { recorded: [{ clock: "main", step: 0, now: 5 }, { clock: "main", step: 2, now: 70 }] });
  assert.deepEqual([clock.now(), clock.now()], [1005, 1005]);
  clock.nextStep();
  assert.equal(clock.now(), 1005, "a step without a time has the one before");
  clock.nextStep();
  assert.deepEqual([clock.now(), clock.tick()], [1070, 70]);
});

test("what is drawn depends on seed, lane, step and who draws, and on nothing else", () => {
  const [a, b] = [at("main"), at("main")];
  const drawn = [a.uuid("x"), a.uuid("y"), a.random("x")];
  b.random("z");
  const [y, x, n] = [b.uuid("y"), b.uuid("x"), b.random("x")];
  assert.deepEqual(drawn, [x, y, n]);
  assert.match(drawn[0] as string, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  assert.ok((drawn[2] as number) >= 0 && (drawn[2] as number) < 1);
  const others = [at("other").uuid("x"), new LaneClock({ lane: "main", epoch: 0, seed: "t", live: false }).uuid("x")];
  a.nextStep();
  assert.equal(new Set([x, a.uuid("x"), ...others]).size, 4);
});

test("on replay an alarm rings when the tape has come that far, in this lane or one below, and a wait is over at once", async () => {
  const clock = at("main");
  const below = at("main/t", { above: clock });
  const rung: string[] = [];
  const stop = new AbortController();
  const alarms = [
    clock.sleep(50_000).then(() => rung.push("main")),
    below.sleep(20_000).then(() => rung.push("below")),
    clock.sleep(90_000, stop.signal).then(() => rung.push("stopped")),
  ];
  below.advance(30_000);
  await alarms[1];
  below.advance(60_000);
  await alarms[0];
  stop.abort();
  await alarms[2];
  assert.deepEqual(rung, ["below", "main", "stopped"]);
  await clock.pass(1_000_000);
  assert.equal(clock.tick(), 1_060_000);
});

test("on replay an alarm also rings when its time has really passed, so a hanging run ends", async () => {
  await at("main").sleep(5);
});

test("while it is recorded, time moves on with each reply and each call that runs alone, and only then", async () => {
  await inFolder(async (folder) => {
    const slow = (name: string, effect: "read" | "write") =>
      tool({
        name,
        description: "Waits.",
        input: { type: "object" },
        effect,
        run: async () => {
          await sleep(30);
          return "waited";
        },
      });
    const seen: [string, number][] = [];
    const subject = (model: ReturnType<typeof scripted>) =>
      agent({
        model,
        tools: [slow("Look", "read"), slow("Note", "write")],
        hooks: [{
          name: "see",
          onEvent: (event, ctx) => {
            if ("tool_name" in event) seen.push([`${event.event} ${event.tool_name}`, ctx.now().getTime()]);
          },
        }],
      });
    const calls = [{ tools: [{ name: "Look" }, { name: "Note" }] }, { text: "done" }];
    await take(subject(scripted(calls)), { folder, tape: { path: folder, mode: "record" } });
    const times = new Map(seen);
    assert.equal(times.get("post-tool-use Look"), times.get("pre-tool-use Look"));
    assert.equal(times.get("pre-tool-use Note"), times.get("pre-tool-use Look"));
    assert.ok(times.get("post-tool-use Note")! > times.get("pre-tool-use Note")!);
    const recorded = seen.splice(0);
    await take(subject(scripted([])), { folder, tape: { path: folder } });
    assert.deepEqual(seen, recorded);
  });
});

test("a replay spends no time on ctx.sleep(), and a hook that sleeps past its limit is late at once", async () => {
  const waits = (ms: number, timeout = 7200): AgentOptions => {
    const [hook] = codeHooks([{ stop: (_event, ctx) => ctx.sleep(ms) }]);
    return { tools: [], hooks: { ...hook!, timeout } };
  };
  const { tape, files, remove } = await taped({ options: waits(1), replies: [{ text: "done" }] });
  const replayed = async (options: AgentOptions) => {
    const warnings: string[] = [];
    const { stop } = await agent({ ...options, model: scripted([]) }).run("Do it", {
      cwd: files,
      tape: { tape, onReport: () => {} },
      on: (event) => event.type === "warning" && warnings.push(event.message),
    });
    return { stop, warnings };
  };
  try {
    assert.deepEqual(await replayed(waits(3_600_000)), { stop: "done", warnings: [] });
    const late = await replayed(waits(3_600_000, 1800));
    assert.equal(late.stop, "done");
    assert.match(late.warnings.join(), /it took longer than its limit of 1800 s/);
  } finally {
    remove();
  }
});

test("a deadline that passes with a reply ends a replay the same with and without a listener", async () => {
  const options = { tools: [], limits: { seconds: 1 } };
  const { tape, files, remove } = await taped({ options, replies: [{ text: "too late" }] });
  const late = {
    ...tape,
    calls: tape.calls.map((call) => ({ ...call, attempts: call.attempts.map((a) => ({ ...a, took: 5000 })) })),
  };
  const replayed = async (on: { on?: () => void }) => {
    const { stop, messages } = await agent({ ...options, model: scripted([]) })
      .run("Do it", { cwd: files, tape: { tape: late, onReport: () => {} }, ...on });
    return { stop, messages };
  };
  try {
    const watched = await replayed({ on: () => {} });
    assert.deepEqual([watched.stop, watched.messages.length], ["deadline", 1]);
    assert.deepEqual(await replayed({}), watched);
  } finally {
    remove();
  }
});

test("a prompt begins a step: a pause before it does not count for the run or its agents, and hooks get the time of the prompt", async () => {
  await inFolder(async (folder) => {
    const late: number[] = [];
    const start = { tools: [{ name: "Agent", input: { description: "w", prompt: "go" } }] };
    const replies = [{ text: "a" }, start, { text: "worked" }, { text: "b" }];
    const session = async (mode: "record" | "replay", pause: number) => {
      const hooks = { userPromptSubmit: (_: unknown, ctx: HookContext) => void late.push(Date.now() - +ctx.now()) };
      const model = scripted(mode === "record" ? replies : []);
      const open = await agent({ model, limits: { seconds: 2 }, hooks, tools: [agentTool()] })
        .open({ cwd: folder, tape: { path: folder, mode }, on: () => {} });
      const first = await open.prompt("one");
      await sleep(pause);
      const second = await open.prompt("two");
      await open.close();
      return [first.stop, second.stop, second.messages];
    };
    const was = await session("record", 2500);
    assert.deepEqual(was.slice(0, 2), ["done", "done"]);
    assert.ok(late[1]! < 2000, `${late[1]} ms late`);
    assert.deepEqual(await session("replay", 0), was);
  });
});

test("a later update continues in the time of its tape: the gap does not count", async () => {
  await inFolder(async (folder) => {
    const told = (say: string, replies: ScriptedReply[]) =>
      agent({
        model: scripted(replies),
        tools: [Look],
        limits: { seconds: 2 },
        hooks: { postToolUse: (_, ctx) => void ctx.addContext(`${say} at ${ctx.now().toISOString()}`) },
      });
    const replies = [look("one"), look("two"), { text: "done" }];
    await take(told("seen", replies), { folder, tape: { path: folder, mode: "record" } });
    await sleep(2500);
    const was = await take(told("looked", replies.slice(1)), { folder, tape: { path: folder, mode: "update" } });
    const is = await take(told("looked", []), { folder, tape: { path: folder } });
    assert.equal(is.report!.ok, true);
    assert.deepEqual([was.result.stop, is.result], ["done", was.result]);
    const times = JSON.stringify(is.result.messages).match(/\d{4}-\d\d-\d\dT[\d:.]+Z/g)!.map((text) =>
      Date.parse(text)
    );
    assert.ok(times.length === 2 && times[1]! - times[0]! < 500, String(times));
  });
});

test("an agent that only a renewed run starts has the time of that run from its first event on", async () => {
  await inFolder(async (folder) => {
    const lead = (say: string, replies: ScriptedReply[]) =>
      agent({
        model: scripted(replies),
        tools: [Look, agentTool({ agents: { worker: { description: "Works", system: "You work." } } })],
        hooks: {
          postToolUse: (_, ctx) => void ctx.addContext(say),
          iteration: ({ agent_type }, ctx) => void (agent_type && ctx.addContext(`it is ${ctx.now().toISOString()}`)),
        },
      });
    const start = { tools: [{ name: "Agent", input: { description: "w", prompt: "go", subagent_type: "worker" } }] };
    await take(lead("seen", [look("one"), { text: "done" }]), { folder, tape: { path: folder, mode: "record" } });
    const replies = [start, { text: "worked" }, { text: "done" }];
    const was = await take(lead("looked", replies), { folder, tape: { path: folder, mode: "update" } });
    const is = await take(lead("looked", []), { folder, tape: { path: folder } });
    assert.deepEqual(is.report!.divergences, []);
    assert.deepEqual(is.result, was.result);
  });
});
