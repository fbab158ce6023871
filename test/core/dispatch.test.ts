import assert from "node:assert/strict";
import { test } from "node:test";
import { NO_USAGE } from "../../lib/core/messages.ts";
import type { HookRecord, HookRun } from "../../lib/core/hook.ts";
import { compileMatcher, missing } from "../../lib/hooks/hook-matcher.ts";
import { expectEvent } from "../../lib/input/nearest.ts";
import { allow, deny, halt, type HookText, modify } from "../../lib/core/verdict.ts";
import { type Answering, env, folded, POST, post, PRE, pre, ran, STOP, stop } from "./_fired.ts";
import { named, played, record, watch, within } from "./_stage.ts";

test("U4, S0.11, S3.14: hooks are asked by priority, lower first, ties in the order of the list", async () => {
  const asked: string[] = [];
  const say = (name: string, priority?: number) =>
    pre(name, () => void asked.push(name), priority === undefined ? {} : { priority });
  const { runs } = await folded(
    [say("d"), say("b", 50), say("e", 100), say("a", 10), say("c", 50), say("f", 101)],
    PRE,
  );
  assert.deepEqual(asked, ["a", "b", "c", "d", "e", "f"]);
  assert.deepEqual(runs.map((r) => r.hook), asked);
});

test("U4, S4.15, S4.22: hooks never run at the same time, however slow", async () => {
  let running = 0;
  const where = env();
  const slow = (name: string, ms: number) =>
    pre(name, async () => {
      assert.equal(++running, 1);
      await where.clock.sleep(ms);
      running--;
    });
  const { runs } = await folded([slow("a", 500), slow("b", 5), slow("c", 50)], PRE, where);
  assert.deepEqual(runs.map((r) => [r.hook, r.ms]), [["a", 500], ["b", 5], ["c", 50]]);
});

test("U4: the list is what it was when the event was fired", async () => {
  const records: HookRecord[] = [];
  const late = pre("late", () => deny("late"));
  records.push(pre("first", () => void records.push(late)));
  const { decision, runs } = await folded(records, PRE);
  assert.equal(decision, "continue");
  assert.deepEqual(runs.map((r) => r.hook), ["first"]);
});

test("U3, U5: ctx.abort ends the walk, whatever the hook answered; the first one's reason counts", async () => {
  const f = await folded([
    pre("a", (_, ctx) => {
      ctx.abort("out of order");
      ctx.abort("again");
      return allow();
    }),
    pre("b", () => deny("no")),
  ], PRE);
  assert.deepEqual(f.abort, { hook: "a", reason: "out of order" });
  assert.deepEqual(ran(f), ["a"]);
  assert.deepEqual(f.runs[1], { hook: "b", skipped: "the run was ended" });
});

test("S4.21: all cleanup hooks are asked: none can end it for the others", async () => {
  const asked: string[] = [];
  const cleanup = (name: string, run: Answering, given: Partial<HookRecord> = {}) =>
    named(name, "agent-stop", (e, ctx) => {
      asked.push(name);
      return run(e, ctx);
    }, given);
  const f = await folded([
    cleanup("a", (_, ctx) => ctx.abort("no more")),
    cleanup("b", () => Promise.reject(new Error("broken")), { onError: "abort" }),
    cleanup("c", () => undefined),
  ], {
    event: "agent-stop",
    stop: "done",
    result: { text: "", stop: "done", usage: NO_USAGE, cost: null, denials: [] },
    agent_type: "main",
  });
  assert.deepEqual(asked, ["a", "b", "c"]);
  assert.equal(f.abort!.hook, "a");
});

test("U5: observers run after all gates, also after a denial, and get the decision", async () => {
  const order: unknown[] = [];
  const watcher = (name: string, priority: number) =>
    pre(name, (_, ctx) => void order.push([name, ctx.decision]), { mode: "observe", priority });
  const f = await folded([
    watcher("w2", 2),
    watcher("w1", 1),
    pre("no", (_, ctx) => {
      order.push(["no", ctx.decision]);
      return deny("x");
    }),
  ], PRE);
  assert.deepEqual(order, [["no", undefined], ["w1", "deny"], ["w2", "deny"]]);
  assert.deepEqual(f.warnings, []);
});

test("U5: an observer's verdict is ignored with a warning; what it says beside it is kept", async () => {
  const f = await folded([
    pre("w", () => ({ action: "deny", reason: "no", context: "but look" }), { mode: "observe" }),
    pre("v", () => modify({}), { mode: "observe" }),
    pre("u", () => halt(), { mode: "observe" }),
  ], PRE);
  assert.equal(f.decision, "continue");
  assert.equal(f.modified, false);
  assert.equal(f.halt, undefined);
  assert.deepEqual(f.contexts, [{ text: "but look", hook: "w" }]);
  assert.deepEqual(f.warnings, ["w", "v", "u"].map((w) => `Hook ${w} only observes: its verdict was ignored`));
});

test("U5: an async hook is not waited for; its verdict is void and its context comes later", async () => {
  const delivered: unknown[] = [];
  const work: Promise<unknown>[] = [];
  const logged: string[] = [];
  const where = env({
    background: (w: Promise<readonly HookText[]>) => work.push(w.then((said) => delivered.push(...said))),
    log: (hook, message) => logged.push(`${hook}: ${message}`),
  });
  const f = await folded(
    [
      pre("slow", async (_, ctx) => {
        await where.clock.sleep(1000);
        ctx.addContext("late");
        return { action: "deny", reason: "no", context: "later" };
      }, { mode: "async" }),
      pre("bad", () => Promise.reject(new Error("broken")), { mode: "async" }),
    ],
    PRE,
    where,
  );
  assert.equal(f.decision, "continue");
  assert.deepEqual(f.runs, [
    { hook: "slow", skipped: "runs in the background" },
    { hook: "bad", skipped: "runs in the background" },
  ]);
  assert.deepEqual(delivered, []);
  await within(Promise.all(work));
  assert.deepEqual(delivered, [{ text: "late", hook: "slow" }, { text: "later", hook: "slow" }]);
  assert.deepEqual(logged, ["bad: failed in the background: broken"]);
});

test("an async hook runs also for a host that does not keep its background work", async () => {
  let ran = false;
  await folded([pre("a", () => void (ran = true), { mode: "async" })], PRE);
  assert.equal(ran, true);
});

test("an interrupt ends the hook that runs, and no further hook is asked: gates, observers or async", async () => {
  const asked: string[] = [];
  const controller = new AbortController();
  const f = await folded(
    [
      pre("a", () => {
        controller.abort();
        return new Promise(() => {});
      }),
      pre("b", () => void asked.push("b")),
      pre("o", () => void asked.push("o"), { mode: "observe" }),
      pre("x", () => void asked.push("x"), { mode: "async" }),
    ],
    PRE,
    env({ signal: controller.signal }),
  );
  assert.deepEqual(asked, []);
  assert.equal(f.decision, "continue");
  assert.equal(f.runs[0]!.failure, "it was interrupted");
  assert.deepEqual(f.runs.slice(1).map((r) => r.skipped), Array(3).fill("the run was ended"));
});

test("U18: the ledger names every hook that was considered, and why it was passed over or what it said", async () => {
  const f = await folded([
    pre("off", () => undefined, { enabled: false }),
    pre("other", () => undefined, { misses: missing("Edit", compileMatcher("Edit"))! }),
    named("sub", "SubagentStop", () => undefined),
    pre("yes", () => allow("fine")),
    pre("bad", () => ({ action: "x" }), { onError: "continue" }),
    pre("no", () => deny("x")),
    pre("late", () => undefined),
    pre("apart", () => undefined, { mode: "async" }),
  ], PRE);
  assert.equal(f.deniedBy, "no");
  assert.deepEqual(f.runs.map(({ hook, skipped, opinion, failure }) => [hook, skipped ?? failure ?? opinion]), [
    ["off", "disabled"],
    ["other", "matcher 'Edit' does not match 'Bash'"],
    ["yes", { decision: "allow", reason: "fine" }],
    [
      "bad",
      'Cannot use the answer to PreToolUse as action "x" is unknown: expected continue, allow, deny, modify, ask or halt',
    ],
    ["no", { decision: "deny", reason: "x" }],
    ["late", "denied by no"],
    ["apart", "runs in the background"],
  ]);
});

test("U18: each event of a run leaves its record, also if every hook lets it pass", async () => {
  const seen: string[] = [];
  const s = await played([{ text: "hi" }], { hooks: watch(seen) });
  const records = s.events.flatMap((e) => e.type === "fired" ? [[e.event, e.folded.runs.length]] : []);
  assert.deepEqual(records, seen.map((event) => [event, 1]));
});

test("U18: each hook that runs is reported twice, with its event and its line of the ledger", async () => {
  const reported: [hook: string, event: string, run?: HookRun | undefined][] = [];
  const f = await folded(
    [pre("a", () => undefined), pre("b", () => deny("x"))],
    PRE,
    env({ onHook: (...report) => void reported.push(report) }),
  );
  assert.deepEqual(reported.map(([hook, event, run]) => `${run ? "end" : "start"} ${hook} ${event}`), [
    "start a pre-tool-use",
    "end a pre-tool-use",
    "start b pre-tool-use",
    "end b pre-tool-use",
  ]);
  assert.deepEqual(reported.flatMap(([, , run]) => run ?? []), f.runs);
});

test("U9: hooks of scope sub never see the root, and those of scope root never a sub-agent", async () => {
  const records = [stop("root", () => undefined), named("sub", "SubagentStop", () => undefined)];
  const below = { parent_agent_id: "root" };
  assert.deepEqual(ran(await folded(records, STOP)), ["root"]);
  assert.deepEqual(ran(await folded(records, STOP, env(below))), ["sub"]);
  const f = await folded(records, STOP, env(below));
  assert.equal(f.runs.find((r) => r.hook === "root")!.skipped, "not for sub-agents");
});

test("U8: a hook for failures never sees a success, and one on both names sees both", async () => {
  const records = [
    named("failure", "PostToolUseFailure", () => undefined),
    post("both", () => undefined),
    record({
      name: "named",
      on: [{ ...expectEvent("post-tool-use"), outcome: "success" }, expectEvent("PostToolUseFailure")],
      run: () => undefined,
    }),
  ];
  const f = await folded(records, POST);
  assert.deepEqual(ran(f), ["both", "named"]);
  assert.equal(f.runs[0]!.skipped, "not for outcome success");
  assert.deepEqual(ran(await folded(records, { ...POST, outcome: "failure", failed: true, error: "e" })), [
    "failure",
    "both",
    "named",
  ]);
});

test("whether a hook is for agents or sub-agents is said for each of its events", async () => {
  const on = [{ event: "pre-tool-use", scope: "sub" }, { event: "stop", scope: "root" }] as const;
  const both = [record({ name: "both", on, run: () => undefined })];
  const why = async (fired: typeof PRE | typeof STOP, parent_agent_id?: string) =>
    (await folded(both, fired, env(parent_agent_id === undefined ? {} : { parent_agent_id }))).runs[0]!.skipped;
  assert.deepEqual([await why(PRE), await why(PRE, "p")], ["only for sub-agents", undefined]);
  assert.deepEqual([await why(STOP), await why(STOP, "p")], [undefined, "not for sub-agents"]);
});
