import assert from "node:assert/strict";
import { setImmediate as tick } from "node:timers/promises";
import { test } from "node:test";
import fc from "fast-check";
import { agent, type AgentOptions, promptGate, tool } from "../../lib/index.ts";
import type { Model, ModelRequest } from "../../lib/core/model.ts";
import { isToolResult, user } from "../../lib/core/messages.ts";
import { readReply } from "../../lib/core/reply.ts";
import { openTape } from "../../lib/replay/taped-session.ts";
import { agentTool } from "../../lib/tools/index.ts";
import { scripted, type ScriptedReply } from "../../lib/testing/index.ts";
import { tries } from "../_counts.ts";
import { inFolder, take } from "./_stage.ts";

/** Lets others go first for as many turns of the event loop as it is told, one number after the other. */
function schedule(turns: readonly number[]): () => Promise<void> {
  let next = 0;
  return async () => {
    for (let i = turns[next++ % Math.max(1, turns.length)] ?? 0; i > 0; i--) await tick();
  };
}

/** A lead that starts agents, some with the very same task; each looks once and answers with its own number. */
function lead(tasks: readonly string[], wait: () => Promise<void>, model: Model): AgentOptions {
  const Look = tool<{ n: number }>({
    name: "Look",
    description: "Looks.",
    input: { type: "object", properties: { n: { type: "number" } } },
    effect: "read",
    run: async ({ n }) => {
      await wait();
      return `seen ${n}`;
    },
  });
  return {
    model,
    system: `You lead ${tasks.length}.`,
    tools: [Look, agentTool({ agents: { worker: { description: "Works", system: "You work.", tools: ["Look"] } } })],
    hooks: [{
      name: "slow",
      async onEvent(event, ctx) {
        await wait();
        if (event.event === "post-tool-use") ctx.addContext(`${ctx.now().toISOString()} ${ctx.uuid()}`);
      },
    }],
  };
}

/** A call that starts a worker. */
function starts(prompt: string, more: object = {}): { name: string; input: object } {
  return { name: "Agent", input: { description: "Work", prompt, subagent_type: "worker", ...more } };
}

/** Answers the lead by how often it has had results, and workers with numbers in the order they come: no two alike. */
function live(leading: (done: number) => ScriptedReply): Model {
  let n = 0;
  const answer = ({ system, messages }: ModelRequest): ScriptedReply => {
    const done = messages.filter(({ content }) => content.some(isToolResult)).length;
    if (system !== "You work.") return leading(done);
    return done === 0 ? { tools: [{ name: "Look", input: { n: ++n } }] } : { text: `answer ${++n}` };
  };
  return scripted([], { then: answer });
}

/** Agents that are waited for, some with the very same task, and agents in the background, whose reports come some time. */
const LEADS: { readonly [what: string]: (tasks: readonly string[]) => (done: number) => ScriptedReply } = {
  "parallel lanes always replay the same under any scheduling, agents with the same task too": (tasks) => (done) =>
    done === 0 ? { tools: tasks.map((task) => starts(task)) } : { text: "together" },
  "reports of background agents always reach their lead at the recorded place, whichever is faster":
    (tasks) => (done) =>
      done === 0
        ? { tools: tasks.map(() => starts("count", { run_in_background: true })) }
        : done < 4
        ? { tools: [{ name: "Look", input: { n: -done } }] }
        : { text: "as far as I know" },
};

for (const [claim, leading] of Object.entries(LEADS)) {
  test(claim, async () => {
    const turns = fc.array(fc.nat(6), { maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom("count", "count", "weigh", "look"), { minLength: 1, maxLength: 5 }),
        turns,
        fc.array(turns, { minLength: 1, maxLength: 3 }),
        async (tasks, first, others) => {
          await inFolder(async (folder) => {
            const run = (order: readonly number[], model: Model, mode: "record" | "replay") =>
              take(agent(lead(tasks, schedule(order), model)), { folder, tape: { path: folder, mode } });
            const recorded = await run(first, live(leading(tasks)), "record");
            assert.equal(recorded.result.stop, "done");
            for (const other of others) {
              const again = await run(other, scripted([]), "replay");
              assert.deepEqual([again.report?.divergences, again.report?.unused, again.report?.ok], [[], [], true]);
              assert.deepEqual(again.result.messages, recorded.result.messages);
            }
          });
        },
      ),
      { numRuns: tries(5, 400, 15) },
    );
  });
}

test("U13: the calls of prompt hooks are on the tape, in the lane of the hooks, and are never made on replay", async () => {
  await inFolder(async (folder) => {
    const judge = scripted([{ text: '{"ok": false, "reason": "Not today"}' }, { text: '{"ok": true}' }]);
    const Look = tool({
      name: "Look",
      description: "Looks.",
      input: { type: "object" },
      effect: "read",
      run: () => "seen",
    });
    const options = (model: Model, asked: Model): AgentOptions => ({
      model,
      tools: [Look],
      hooks: [{
        preToolUse: [promptGate(asked, "May it? {{.ToolName}} {{.Input}}", { modelName: "small" })],
      }],
    });
    const replies = [{ tools: [{ name: "Look", input: { n: 1 } }] }, { tools: [{ name: "Look", input: { n: 2 } }] }, {
      text: "done",
    }];
    const recorded = await take(agent(options(scripted(replies), judge)), {
      folder,
      tape: { path: folder, mode: "record" },
    });
    assert.equal(judge.requests.length, 2);
    const never = scripted([]);
    const subject = agent(options(scripted([]), never));
    for (const wire of [false, true, false]) {
      const again = await take(subject, { folder, tape: { path: folder, wire } });
      assert.deepEqual(again.result.messages, recorded.result.messages);
      assert.deepEqual(again.report?.calls, { recorded: 5, served: 5, live: 0 });
      assert.equal(again.report?.ok, true);
    }
    assert.equal(never.requests.length, 0);
  });
});

test("a call is never served in another lane than its own: the report says in which one it was recorded", async () => {
  await inFolder(async (folder) => {
    const request = { model: "m", system: "", messages: [user("hi")], tools: [], max_tokens: 1 };
    const { signal } = new AbortController();
    const recording = await openTape({ path: folder, mode: "record" }, folder);
    await readReply(recording.lane("main").model(scripted([{ text: "hello" }]))(request, signal), () => {});
    await recording.close("done");
    const session = await openTape({ path: folder }, folder);
    const other = session.lane("main/toolu_1").model(scripted([]));
    await assert.rejects(readReply(other(request, signal), () => {}), /recorded of agent main, not of this one/);
    const { divergences, unused } = await session.close("done");
    assert.deepEqual(divergences.map(({ lane, call, cause }) => [lane, call, cause]), [[
      "main/toolu_1",
      "main#1",
      "order",
    ]]);
    assert.deepEqual(unused, ["main#1"]);
  });
});
