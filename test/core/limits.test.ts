import assert from "node:assert/strict";
import { test } from "node:test";
import type { EventOf, Stop } from "../../lib/core/events.ts";
import {
  countContinuation,
  DEFAULT_LIMITS,
  forbidsCall,
  newSpent,
  remaining,
  spend,
  type Spent,
} from "../../lib/core/limits.ts";
import { limitsOf } from "../../lib/agent/given-limits.ts";
import { totalTokens } from "../../lib/core/messages.ts";
import { deny, keepGoing } from "../../lib/core/verdict.ts";
import { scripted } from "../../lib/testing/index.ts";
import { calls, echo, fail, stage, watch } from "./_stage.ts";

const TEXT = { then: { text: "done" } };
const NONE = { iterations: 0, continuations: 0, stalled: 0 };

function never() {
  return keepGoing("never");
}

test("U10: limits are on by default", () => {
  assert.deepEqual(limitsOf(), { iterations: 100, stalls: 8, calls: 500, depth: 3 });
  assert.deepEqual(limitsOf({ iterations: 5, stalls: undefined as never }), { ...DEFAULT_LIMITS, iterations: 5 });
});

test("limitsOf() refuses an unknown or invalid limit, and says which and why", () => {
  const wrong: [object, RegExp][] = [
    [{ iteration: 5 }, /^Cannot set limit 'iteration' as there is no such limit: expected one of iterations, /],
    [
      { iterations: -1 },
      /^Cannot set limit 'iterations' as it must be a whole number of 0 or more: current value is -1$/,
    ],
    [{ iterations: 1.5 }, /whole number/],
    [{ iterations: NaN }, /whole number/],
    [{ stalls: "8" }, /current value is "8"/],
    [{ dollars: -0.5 }, /^Cannot set limit 'dollars' as it must be a number of 0 or more/],
    [{ seconds: null }, /seconds/],
  ];
  for (const [given, message] of wrong) assert.throws(() => limitsOf(given), { name: "TypeError", message });
  assert.equal(limitsOf({ iterations: Infinity, dollars: 0.5, seconds: 0.1 }).dollars, 0.5);
});

test("U10: stalls count continuations in a row, and an executed tool is their only reset; the other counts only grow", () => {
  const limits = limitsOf({ stalls: 2, continuations: 4 });
  const count = { ...NONE };
  const go = () => countContinuation(limits, count);
  assert.equal(remaining(limits, count), 2);
  assert.deepEqual([go(), go(), go()], [undefined, undefined, "stop_hook_stalled"]);
  assert.equal(remaining(limits, count), 0);
  assert.deepEqual(count, { iterations: 0, continuations: 2, stalled: 2 });
  count.stalled = 0;
  assert.deepEqual([go(), go(), go()], [undefined, undefined, "max_continuations"]);
  assert.equal(remaining(limitsOf({ stalls: 0 }), NONE), null);
  assert.equal(remaining(limitsOf({ stalls: 1 }), NONE), 1);
  assert.equal(remaining(limitsOf({ stalls: 0, continuations: 4 }), { ...NONE, continuations: 3 }), 1);
});

test("U10: a call is forbidden by iterations, calls, tokens or dollars, and by a cost that is unknown", () => {
  const spent = (tokens: number, dollars: number | undefined): Spent => ({ ...newSpent(), tokens, dollars });
  const forbids = (given: Parameters<typeof limitsOf>[0], s: Spent, iterations = 0) =>
    forbidsCall(limitsOf(given), s, { ...NONE, iterations });
  assert.equal(forbids({}, spent(1e9, undefined), 99), undefined);
  assert.equal(forbids({}, spent(0, 0), 100), "max_iterations");
  assert.equal(forbids({}, { ...spent(0, 0), calls: 499 }), undefined);
  assert.equal(forbids({}, { ...spent(0, 0), calls: 500 }), "max_iterations");
  assert.equal(forbidsCall(limitsOf({ iterations: 0 }), spent(0, 0)), undefined);
  assert.equal(forbids({ tokens: 10 }, spent(9, 0)), undefined);
  assert.equal(forbids({ tokens: 10 }, spent(10, 0)), "budget");
  assert.equal(forbids({ dollars: 1 }, spent(0, 0.99)), undefined);
  assert.equal(forbids({ dollars: 1 }, spent(0, 1)), "budget");
  assert.equal(forbids({ dollars: 1 }, spent(0, undefined)), "budget");
  assert.equal(forbids({ iterations: Infinity }, spent(0, 0), 1e6), undefined);
});

test("an unknown cost is never taken for zero, however much is added to it", () => {
  const spent: Spent = newSpent();
  const usage = { input_tokens: 1, output_tokens: 2, cache_creation_input_tokens: 3, cache_read_input_tokens: 4 };
  spend(spent, usage, 0.5);
  spend(spent, usage, undefined);
  spend(spent, usage, 0.5);
  const { replies, tokens, dollars, usage: all } = spent;
  assert.deepEqual([replies, tokens, dollars, totalTokens(all)], [3, 30, undefined, 30]);
});

test("U10: eight idle denials are honoured, the ninth is overridden, and the warning names the hook and the fix", async () => {
  const checks: unknown[] = [];
  const model = scripted([], TEXT);
  const s = stage({
    model,
    hooks: {
      stop: [never, (e) => void checks.push([e.stop_hook_active, e.continuations, e.stalled, e.remaining])],
    },
  });
  const result = await s.run();
  assert.deepEqual([result.stop, model.requests.length], ["stop_hook_stalled", 9]);
  assert.deepEqual(checks, Array.from({ length: 9 }, (_, i) => [i > 0, i, i, 8 - i]));
  assert.deepEqual(s.warnings(), [
    "The run ended after 8 continuations without a tool between them (kept going by never): " +
    "let the hook look at 'stop_hook_active' or 'remaining', or raise limits.stalls",
  ]);
});

test("U10: an executed tool sets the stalls back, be it a success or a failure; a denied or invalid call does not", async () => {
  const rows: [tool: string, stop: Stop, requests: number][] = [
    ["Echo", "max_iterations", 20],
    ["Fail", "max_iterations", 20],
    ["Denied", "stop_hook_stalled", 6],
    ["Nope", "stop_hook_stalled", 6],
  ];
  for (const [name, stop, requests] of rows) {
    let n = 0;
    const model = scripted([], { then: () => n++ % 2 === 0 ? calls([name, "a"]) : { text: "done" } });
    const s = stage({
      model,
      tools: [echo, fail, { ...echo, name: "Denied" }],
      limits: { stalls: 2, iterations: 20 },
      hooks: {
        stop: never,
        preToolUse: (e: EventOf<"pre-tool-use">) => e.tool_name === "Denied" ? deny("no") : undefined,
      },
    });
    const result = await s.run();
    assert.deepEqual([result.stop, model.requests.length], [stop, requests], name);
  }
});

test("U10: continuations are counted over the whole run and never reset", async () => {
  let n = 0;
  const model = scripted([], { then: () => n++ % 2 === 0 ? calls(["Echo", "a"]) : { text: "done" } });
  const s = stage({ model, tools: [echo], limits: { continuations: 3 }, hooks: { stop: never } });
  const result = await s.run();
  assert.deepEqual([result.stop, model.requests.length], ["max_continuations", 8]);
  assert.match(s.warnings()[0]!, /limit of 3 continuations \(kept going by never\): raise limits.continuations/);
});

test("U10: a HookInput turn is a continuation like any other: it stalls, and it counts", async () => {
  const seen: string[] = [];
  const model = scripted([], TEXT);
  const forever = { turnEnd: (_: unknown, ctx: { hookInput(text: string): void }) => ctx.hookInput("again") };
  const s = stage({ model, hooks: [watch(seen), forever], limits: { stalls: 3 } });
  const result = await s.run();
  assert.deepEqual([result.stop, result.turns, model.requests.length], ["stop_hook_stalled", 4, 4]);
  const t = stage({ model: scripted([], TEXT), hooks: forever, limits: { continuations: 2, stalls: 0 } });
  assert.deepEqual([(await t.run()).stop, t.warnings().length], ["max_continuations", 1]);
});

test("S4.6, C8: with stalls 0 and no limit of calls a hook that lets go after n continues exactly n times", async () => {
  for (const n of [0, 1, 25]) {
    let left = n;
    const remaining: unknown[] = [];
    const model = scripted([], TEXT);
    const s = stage({
      model,
      limits: { stalls: 0, iterations: Infinity },
      hooks: {
        stop: (e) => {
          remaining.push(e.remaining);
          return left-- > 0 ? keepGoing("more") : undefined;
        },
      },
    });
    assert.equal((await s.run()).stop, "done");
    assert.equal(model.requests.length, n + 1);
    assert.deepEqual(remaining, Array(n + 1).fill(null));
  }
});

test("S4.6: a hook that honours stop_hook_active is asked at most twice a turn", async () => {
  let asked = 0;
  const model = scripted([], TEXT);
  await stage({
    model,
    hooks: {
      stop: (e) => {
        asked++;
        return e.stop_hook_active ? undefined : keepGoing("once");
      },
    },
  }).run();
  assert.equal(asked, 2);
});

test("U10: tokens and dollars end a run as its budget, before the call that would exceed them", async () => {
  const usage = { input_tokens: 10, output_tokens: 5 };
  const busy = () => scripted([], { then: { ...calls(["Echo", "a"]), usage } });
  const byTokens = busy();
  const a = await stage({ model: byTokens, tools: [echo], limits: { tokens: 40 } }).run();
  assert.deepEqual([a.stop, byTokens.requests.length], ["budget", 3]);
  const byDollars = busy();
  const b = await stage({ model: byDollars, tools: [echo], limits: { dollars: 1 }, price: () => 0.5 }).run();
  assert.deepEqual([b.stop, b.cost, byDollars.requests.length], ["budget", 1, 2]);
  const unpriced = busy();
  const s = stage({ model: unpriced, tools: [echo], limits: { dollars: 1 }, price: () => undefined });
  const c = await s.run();
  assert.deepEqual([c.stop, c.cost, unpriced.requests.length], ["budget", undefined, 1]);
  const why =
    "the price of model 'claude-test' is unknown, so limits.dollars cannot be kept: set it in the option prices";
  assert.deepEqual(s.warnings(), [`The run ended as ${why}`]);
});

test("U10: seconds end a run as its deadline", async () => {
  const s = stage({ model: scripted([{ stall: "start" }]), limits: { seconds: 0.5 } });
  assert.equal((await s.run()).stop, "deadline");
  assert.equal(s.clock.tick(), 500);
});

test("U10: a limit of any kind names the hooks that kept the run going", async () => {
  const usage = { input_tokens: 10, output_tokens: 5 };
  const rows: [Stop, Parameters<typeof stage>[0]][] = [
    ["max_iterations", { model: scripted([], TEXT), limits: { iterations: 3 } }],
    ["max_continuations", { model: scripted([], TEXT), limits: { continuations: 2 } }],
    ["stop_hook_stalled", { model: scripted([], TEXT) }],
    ["budget", { model: scripted([], { then: { text: "done", usage } }), limits: { tokens: 40 } }],
    ["deadline", { model: scripted([{ text: "done" }, { stall: "start" }]), limits: { seconds: 0.5 } }],
  ];
  for (const [stop, setting] of rows) {
    const s = stage({ ...setting, hooks: { stop: never } });
    assert.equal((await s.run()).stop, stop);
    assert.match(s.warnings()[0]!, /\(kept going by never\): (?:raise|let)/, stop);
  }
});

test("every count that can end a run has its own stop, a warning, turn-end and no stop check after it", async () => {
  const rows: [Stop, Parameters<typeof stage>[0]][] = [
    ["max_iterations", {
      model: scripted([], { then: calls(["Echo", "a"]) }),
      tools: [echo],
      limits: { iterations: 1 },
    }],
    ["max_continuations", { model: scripted([], TEXT), hooks: { stop: never }, limits: { continuations: 0 } }],
    ["stop_hook_stalled", { model: scripted([], TEXT), hooks: { stop: never }, limits: { stalls: 1 } }],
    ["budget", { model: scripted([], TEXT), limits: { tokens: 0 } }],
  ];
  for (const [stop, setting] of rows) {
    const seen: string[] = [];
    const hooks = [watch(seen), ...(setting.hooks ? [setting.hooks as never] : [])];
    const s = stage({ ...setting, hooks });
    const result = await s.run();
    assert.equal(result.stop, stop);
    assert.equal(result.error, undefined);
    assert.equal(s.warnings().length, 1, stop);
    assert.deepEqual(seen.slice(-3), ["turn-end", "agent-stop", "session-end"], stop);
  }
});
