import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { type Agent, agent, type AgentOptions, tool } from "../../lib/index.ts";
import type { HookRecord } from "../../lib/core/hook.ts";
import type { Model, ModelRequest } from "../../lib/core/model.ts";
import { isToolResult } from "../../lib/core/messages.ts";
import { agentTool } from "../../lib/tools/index.ts";
import { scripted, type ScriptedReply } from "../../lib/testing/index.ts";
import { Fail, inFolder, Look, offline, recordWire, take, type Told } from "./_stage.ts";

/** Records an agent, and replays it where other things are slow. */
async function again(make: (model: Model, slow: number) => AgentOptions, live: Model, more = {}): Promise<Told[]> {
  return await inFolder(async (folder) => {
    const run = (subject: Agent, mode: "record" | "replay" | "update") =>
      take(subject, { folder, tape: { path: folder, mode, ...(mode === "record" && more) } });
    const was = await run(agent(make(live, 0)), "record");
    const told = [was];
    for (const slow of [0, 1, 2]) {
      const is = await run(agent(make(scripted([]), slow)), "replay");
      assert.deepEqual([is.report!.divergences, is.report!.unused, is.result.stop], [[], [], was.result.stop]);
      assert.deepEqual(is.result.messages, was.result.messages);
      assert.deepEqual(is.files, was.files);
      told.push(is);
    }
    const renewed = await run(agent(make(scripted([]), 1)), "update");
    assert.deepEqual(renewed.report!.calls.live, 0, "a tape that still fits is not asked for anew");
    return told;
  });
}

const SAYS = { type: "object", properties: { say: { type: "string" } } };
const done = ({ messages }: ModelRequest) => messages.filter(({ content }) => content.some(isToolResult)).length;

/** Answers the lead by how often it had results, and the others by their task. */
function answers(lead: (done: number) => ScriptedReply, worker: (task: string, done: number) => ScriptedReply): Model {
  return scripted([], {
    then: (request) => {
      const task = JSON.stringify(request.messages[0]);
      return request.system === "You lead." ? lead(done(request)) : worker(task, done(request));
    },
  });
}

test("hooks get parallel results in the reply's order, and their answers stay in that order, whichever call was faster", async () => {
  const calls = ["one", "two", "three"].map((say) => ({ name: "Fail", input: { say } }));
  const make = (model: Model, slow: number): AgentOptions => ({
    model,
    tools: [{
      ...Fail,
      run: async ({ say }: { say: string }) => {
        await sleep(5 * ((say.length + slow) % 3));
        throw new RangeError(say);
      },
    }],
    hooks: [{
      error: (event, ctx) => void ctx.addContext(`it said ${event.error_message}`),
      postToolUseFailure: (event, ctx) => {
        const before = (ctx.values.get("seen") ?? "") as string;
        ctx.values.set("seen", `${before} ${event.error}`);
        ctx.addContext(`seen${before}, now ${event.error}`);
        ctx.hookInput(`think of ${event.error}`);
      },
    }],
  });
  const [was, ...replays] = await again(make, scripted([{ tools: calls }, { text: "so be it" }]));
  assert.match(
    JSON.stringify(was!.result.messages),
    /seen one two, now three.*it said one.*it said two.*it said three/,
  );
  for (const is of replays) assert.deepEqual(is.events, was!.events);
});

test("an agent in the background that ends with its lead never drifts, wherever it was when it was ended", async () => {
  const TAKES: { [say: string]: number } = { up: 8, far: 60 };
  const make = (model: Model, slow: number): AgentOptions => ({
    model,
    system: "You lead.",
    limits: { iterations: 5 },
    tools: [
      { ...Look, run: async ({ say }: { say: string }) => (await sleep(TAKES[say] ?? 3 * slow), `seen ${say}`) },
      agentTool({ agents: { worker: { description: "Works", system: "You work.", tools: ["Look"] } } }),
    ],
  });
  const start = {
    name: "Agent",
    input: { description: "w", prompt: "go", subagent_type: "worker", run_in_background: true },
  };
  const looks = (say: string): ScriptedReply => ({ tools: [{ name: "Look", input: { say } }] });
  const cases: ((done: number) => ScriptedReply)[] = [
    () => ({ ...looks("around"), delay: 12 }),
    (done) => done < 2 ? looks("around") : { text: "slow", delay: 1000 },
    () => looks("far"),
  ];
  for (const worker of cases) {
    const lead = (done: number): ScriptedReply => done === 0 ? { tools: [start] } : looks("up");
    const [was] = await again(make, answers(lead, (_, done) => worker(done)));
    assert.equal(was!.result.stop, "max_iterations");
  }
});

test("an agent in the background that ends with its lead has first done all that it did, however long that takes", async () => {
  const Put = tool<{ say: string }>({
    name: "Put",
    description: "Puts it down.",
    input: SAYS,
    run: async ({ say }, { cwd, signal }) => {
      await sleep(250, undefined, { signal });
      writeFileSync(join(cwd, `${say}.txt`), say);
      await sleep(400, undefined, { signal });
      return "put";
    },
  });
  const make = (model: Model): AgentOptions => ({
    model,
    system: "You lead.",
    limits: { iterations: 2 },
    tools: [
      { ...Look, run: async () => (await sleep(model === live ? 450 : 0), "seen") },
      Put,
      agentTool({ agents: { worker: { description: "Works", system: "You work.", tools: ["Put"] } } }),
    ],
  });
  const input = { description: "w", prompt: "go", subagent_type: "worker", run_in_background: true };
  const lead = (done: number): ScriptedReply =>
    done === 0 ? { tools: [{ name: "Agent", input }] } : { tools: [{ name: "Look", input: { say: "up" } }] };
  const live = answers(lead, () => ({ tools: [{ name: "Put", input: { say: "it" } }] }));
  const [was] = await again(make, live);
  assert.deepEqual([was!.result.stop, was!.files.get("it.txt")], ["max_iterations", "it"]);
});

test("a resume that was refused because the agent still worked is refused on replay too, however fast the agent ends there", async () => {
  const make = (model: Model, slow: number): AgentOptions => ({
    model,
    system: "You lead.",
    tools: [agentTool({ agents: { worker: { description: "Works", system: "You work." } } })],
    hooks: { preToolUse: async () => void await sleep(50 * slow) },
  });
  const calls = (input: object): ScriptedReply => ({
    tools: [{ name: "Agent", input: { description: "w", prompt: "go", ...input } }],
  });
  const live = scripted([], {
    then: (request) => {
      if (request.system === "You work.") return { text: "slow", delay: 200 };
      if (done(request) === 0) return calls({ subagent_type: "worker", run_in_background: true });
      const [, resume_agent_id] = /Agent (a[0-9a-f]{16}) works/.exec(JSON.stringify(request.messages))!;
      return done(request) === 1 ? calls({ resume_agent_id }) : { text: "I wait." };
    },
  });
  const [was] = await again(make, live);
  assert.match(JSON.stringify(was!.result.messages), /Cannot resume agent 'a\w+' as it still works.*and says:/);
});

test("an agent that is ended in a model call draws in its last hooks what it drew", async () => {
  await inFolder(async (folder) => {
    const options: AgentOptions = {
      system: "You lead.",
      limits: { iterations: 2 },
      tools: [
        { ...Look, run: async ({ say }: { say: string }) => (await sleep(60), `seen ${say}`) },
        agentTool({ agents: { worker: { description: "Works", system: "You work.", tools: ["Look"] } } }),
      ],
      hooks: { agentStop: (event, ctx) => void ctx.log(`${event.agent_id} ${ctx.uuid()} ${ctx.now().getTime()}`) },
    };
    const input = { description: "w", prompt: "go", subagent_type: "worker", run_in_background: true };
    const then = ({ system, messages }: ModelRequest): ScriptedReply =>
      system === "You work."
        ? { text: "slow", delay: 5000 }
        : { tools: [messages.length === 1 ? { name: "Agent", input } : { name: "Look", input: { say: "up" } }] };
    const drawn = ({ events }: Told) =>
      (events as { type: string; message: string }[]).flatMap(({ type, message }) => type === "log" ? [message] : []);
    const was = await recordWire(options, [], { folder, script: { then } });
    assert.equal(drawn(was).length, 2);
    for (const wire of [false, true]) {
      const is = await take(offline(options), { folder, tape: { path: folder, wire } });
      assert.deepEqual(drawn(is), drawn(was));
    }
  });
});

test("agents that one call starts at once have lanes, clocks, chances and numbers of events of their own", async () => {
  const make = (model: Model, slow: number): AgentOptions => ({
    model,
    system: "You lead.",
    tools: [
      { ...Look, run: async ({ say }: { say: string }) => (await sleep(say === "b" ? 0 : 5 * slow), `seen ${say}`) },
      tool({
        name: "Both",
        description: "Starts two.",
        input: SAYS,
        run: async (_, { spawn }) => {
          const two = ["a", "b"].map((prompt) =>
            spawn!({ type: "twin", prompt, system: "You work.", tools: ["Look"] })
          );
          return (await Promise.all(two)).map(({ text, agent_id }) => `${agent_id} ${text}`).join("|");
        },
      }),
    ],
    hooks: { postToolUse: ({ event_id }, ctx) => void ctx.addContext(`${event_id} ${ctx.uuid()} ${ctx.random()}`) },
  });
  const worker = (task: string, done: number): ScriptedReply => {
    const say = task.includes('"a"') ? "a" : "b";
    return done === 0 ? { tools: [{ name: "Look", input: { say } }], delay: say === "a" ? 10 : 0 } : { text: "same" };
  };
  const lead = (done: number): ScriptedReply => done === 0 ? { tools: [{ name: "Both" }] } : { text: "both" };
  await again(make, answers(lead, worker));
});

test("parallel agents that share a budget run out of it at the recorded place, whichever is faster", async () => {
  const make = (model: Model, slow: number): AgentOptions => ({
    model,
    system: "You lead.",
    limits: { tokens: 130 },
    tools: [
      { ...Look, run: async ({ say }: { say: string }) => (await sleep(say === "a" ? 4 * slow : 8), `seen ${say}`) },
      agentTool({ agents: { worker: { description: "Works", system: "You work.", tools: ["Look"] } } }),
    ],
  });
  const task = (prompt: string) => ({ name: "Agent", input: { description: "w", prompt, subagent_type: "worker" } });
  const lead = (done: number): ScriptedReply => done === 0 ? { tools: [task("do a"), task("do b")] } : { text: "both" };
  const worker = (asked: string): ScriptedReply => ({
    tools: [{ name: "Look", input: { say: asked.includes("do a") ? "a" : "b" } }],
  });
  const [was] = await again(make, answers(lead, worker));
  assert.equal(was!.result.stop, "budget");
});

test("parallel agents leave a shared file as recorded, though their changes come in another order", async () => {
  const Put = (slow: number) =>
    tool<{ say: string }>({
      name: "Put",
      description: "Puts it down.",
      input: SAYS,
      run: async ({ say }, { cwd }) => {
        await sleep(say === "long" ? 40 : 5);
        if (say !== "long") writeFileSync(join(cwd, "shared.txt"), say);
        return `put ${slow}`;
      },
    });
  const make = (model: Model, slow: number): AgentOptions => ({
    model,
    system: "You lead.",
    tools: [
      Put(0),
      agentTool({ agents: { worker: { description: "Works", system: "You work.", tools: ["Put"] } } }),
    ],
    hooks: {
      preToolUse: async (event) =>
        void (event.tool_name === "Put" && event.input.say === "long" && await sleep(20 * slow)),
    },
  });
  const start = (prompt: string) => ({ name: "Agent", input: { description: "w", prompt, subagent_type: "worker" } });
  const lead = (done: number): ScriptedReply =>
    done === 0 ? { tools: [start("stays long"), start("is quick")] } : { text: "both" };
  const worker = (task: string, done: number): ScriptedReply => {
    const says = task.includes("long") ? ["long"] : ["first", "second", "third"];
    const [say] = says.slice(done);
    return say === undefined ? { text: "done" } : { tools: [{ name: "Put", input: { say } }], delay: done * 15 };
  };
  const [was] = await again(make, answers(lead, worker), { tools: true });
  assert.equal(was!.files.get("shared.txt"), "third");
});

test("the answer of an asynchronous hook reaches the model at the recorded place, with the time and random numbers of its event", async () => {
  const make = (model: Model, slow: number): AgentOptions => {
    const isLive = model === live;
    const late: HookRecord = {
      name: "late",
      on: (["user-prompt-submit", "pre-tool-use", "post-tool-use"] as const).map((event) => ({ event, scope: "all" })),
      kind: "module",
      dialect: "native",
      priority: 100,
      mode: "async",
      enabled: true,
      source: "code",
      run: async (event, ctx) => {
        if (!isLive) await sleep(4 * slow);
        else await sleep(event.event === "user-prompt-submit" ? 15 : event.event === "pre-tool-use" ? 5 : 0);
        if (event.event === "post-tool-use" && event.input.say === "two") return;
        ctx.addContext(`late ${event.event} at ${ctx.now().toISOString()}, ${ctx.uuid()} ${ctx.random()}`);
      },
      read: () => ({}),
    };
    return { model, tools: [Look], hooks: late };
  };
  const looks = (say: string): ScriptedReply => ({ tools: [{ name: "Look", input: { say } }], delay: 10 });
  const live = scripted([looks("one"), looks("two"), looks("three"), { text: "done", delay: 10 }]);
  const [was] = await again(make, live);
  const said = JSON.stringify(was!.result.messages).match(/late [a-z-]+/g);
  assert.ok(said && said.length >= 4, String(said));
});
