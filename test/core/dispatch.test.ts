import assert from "node:assert/strict";
import { test } from "node:test";
import { codeHooks } from "../../lib/core/code-hooks.ts";
import { readDefinition } from "../../lib/core/dialects.ts";
import { fire } from "../../lib/core/dispatch.ts";
import type { EventName, Fired } from "../../lib/core/events.ts";
import type { Folded } from "../../lib/core/fold.ts";
import type { HookChange, HookContext, HookEnv, HookRecord, OnError } from "../../lib/core/hook.ts";
import { compileMatcher, missing } from "../../lib/core/match.ts";
import { expectEvent } from "../../lib/core/names.ts";
import {
  allow,
  ask,
  context,
  deny,
  halt,
  modify,
  type Opinion,
  readNative,
  UnusableAnswer,
} from "../../lib/core/verdict.ts";
import { fakeClock } from "./_clock.ts";
import { record, within } from "./_stage.ts";

function env(given: Partial<HookEnv> = {}): HookEnv {
  return {
    session_id: "s",
    agent_id: "a",
    turn_id: "t",
    sequence: { next: 0 },
    clock: fakeClock(),
    cwd: "/srv",
    values: new Map(),
    signal: new AbortController().signal,
    ...given,
  };
}

const PRE: Fired<"pre-tool-use"> = {
  event: "pre-tool-use",
  tool_name: "Bash",
  input: { n: 0 },
  original_input: { n: 0 },
  tool_use_id: "toolu_1",
};

const POST: Fired<"post-tool-use"> = {
  ...PRE,
  event: "post-tool-use",
  result: { content: "r", is_error: false, response: "r" },
  outcome: "success",
  failed: false,
  error: null,
  duration_ms: 1,
};

const STOP: Fired<"stop"> = {
  event: "stop",
  last_assistant_message: "done",
  messages: [],
  usage: { input_tokens: 1, output_tokens: 1, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 },
  stop_hook_active: false,
  continuations: 0,
  stalled: 0,
  remaining: 8,
  agent_type: "main",
};

type Answering = (event: any, ctx: HookContext) => unknown;

/** A hook for one event, by the name of that event. */
function on(name: string, event: string, run: Answering, given: Partial<HookRecord> = {}): HookRecord {
  return record({ name, on: [expectEvent(event)], run, ...given });
}

const pre = (name: string, run: Answering, given: Partial<HookRecord> = {}) => on(name, "pre-tool-use", run, given);
const stop = (name: string, run: Answering, given: Partial<HookRecord> = {}) => on(name, "stop", run, given);
const post = (name: string, run: Answering, given: Partial<HookRecord> = {}) => on(name, "post-tool-use", run, given);

/** Fires a copy: the engine takes over what it is given. */
function folded<N extends EventName>(records: readonly HookRecord[], fired: Fired<N>, where = env()): Promise<Folded> {
  return within(fire(records, { ...fired }, where));
}

const ran = (f: Folded) => f.runs.filter((r) => r.skipped === undefined).map((r) => r.hook);

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

test("U5: nothing said is to continue, with nothing beside it", async () => {
  const { runs, ...rest } = await folded([pre("a", () => undefined), pre("b", () => undefined)], PRE);
  assert.deepEqual(rest, {
    decision: "continue",
    denials: [],
    modified: false,
    contexts: [],
    inputs: [],
    systemMessages: [],
    warnings: [],
  });
  assert.equal(runs.length, 2);
});

test("U5, S4.7, S4.15: each hook sees what the one before left; the last value counts", async () => {
  const seen: unknown[] = [];
  const add = (name: string) =>
    pre(name, (event) => {
      seen.push([event.input, event.original_input]);
      return modify({ n: event.input.n + 1 });
    });
  const { value, modified } = await folded([add("a"), add("b"), add("c")], PRE);
  assert.deepEqual({ value, modified }, { value: { n: 3 }, modified: true });
  assert.deepEqual(seen, [0, 1, 2].map((n) => [{ n }, { n: 0 }]));
});

test("U5: a value changed back to nothing is still a change", async () => {
  const { value, modified } = await folded([post("a", () => modify("x")), post("b", () => modify(null))], POST);
  assert.deepEqual({ value, modified }, { value: null, modified: true });
});

test("U6: where a subject has parts, a hook changes those it names and keeps the others' changes", async () => {
  const fired: Fired<"turn-start"> = {
    event: "turn-start",
    trigger: "user",
    prompt: "hi",
    turn: { system: "base", messages: [] },
  };
  const seen: unknown[] = [];
  const { value } = await folded([
    on("a", "turn-start", () => modify({ system: "A" })),
    on("b", "turn-start", (event) => {
      seen.push(event.turn);
      return modify({ messages: [] });
    }),
    on("c", "turn-start", (event) => modify({ system: `${event.turn.system}C` })),
  ], fired);
  assert.deepEqual(value, { system: "AC", messages: [] });
  assert.deepEqual(seen, [{ system: "A", messages: [] }]);
});

test("U5, S4.8: the first denial ends the walk, in its own name, and voids modify, allow and ask", async () => {
  const f = await folded([
    pre("m", () => modify({ n: 9 })),
    pre("k", () => ask("sure?")),
    pre("y", () => allow("fine")),
    pre("no", () => deny("because")),
    pre("later", () => deny("too late")),
  ], PRE);
  assert.equal(f.decision, "deny");
  assert.equal(f.reason, "because");
  assert.equal(f.deniedBy, "no");
  assert.equal(f.modified, false);
  assert.equal("value" in f, false);
  assert.equal(f.asked, undefined);
  assert.deepEqual(f.denials, [{ hook: "no", reason: "because" }]);
  assert.deepEqual(f.runs.at(-1), { hook: "later", skipped: "denied by no" });
});

test("U5, S4.9: contexts, messages and halt survive a denial", async () => {
  const f = await folded([
    pre("c", () => ({ action: "continue", context: "one", systemMessage: "psst" })),
    pre("h", () => halt("enough")),
    pre("x", (_, ctx) => ctx.addContext("two")),
    pre("no", () => ({ action: "deny", reason: "because", context: "three" })),
  ], PRE);
  assert.deepEqual(f.contexts, [
    { text: "one", hook: "c" },
    { text: "two", hook: "x" },
    { text: "three", hook: "no" },
  ]);
  assert.deepEqual(f.systemMessages, [{ hook: "c", text: "psst" }]);
  assert.deepEqual(f.halt, { hook: "h", reason: "enough" });
});

test("U5: the first ask is remembered and the walk goes on; ask is stronger than allow", async () => {
  const f = await folded([
    pre("y", () => allow("fine")),
    pre("k1", () => ask("first?")),
    pre("k2", () => ask("second?")),
    pre("m", () => modify({ n: 4 })),
  ], PRE);
  assert.equal(f.decision, "ask");
  assert.deepEqual(f.asked, { hook: "k1", reason: "first?" });
  assert.equal(f.reason, "first?");
  assert.deepEqual(f.value, { n: 4 });
});

test("U5: allow is stronger than nothing, and its reason is the first one's", async () => {
  const f = await folded([pre("a", () => undefined), pre("y", () => allow("fine")), pre("z", () => allow("too"))], PRE);
  assert.equal(f.decision, "allow");
  assert.equal(f.reason, "fine");
});

test("U5, U10, S4.4: on stop every hook is asked and all reasons are kept in order", async () => {
  const f = await folded([
    stop("a", () => deny("one")),
    stop("b", () => undefined),
    stop("c", () => ({ continue: true, reason: "two" })),
  ], STOP);
  assert.equal(f.decision, "deny");
  assert.equal(f.reason, "one\ntwo");
  assert.deepEqual(f.denials, [{ hook: "a", reason: "one" }, { hook: "c", reason: "two" }]);
  assert.deepEqual(ran(f), ["a", "b", "c"]);
});

test("U5, U6: on post-tool-use a denial is feedback: every hook is asked and changes of the result stay", async () => {
  const f = await folded([
    post("redact", () => modify("[secret]")),
    post("lint", () => deny("not formatted")),
    post("again", () => deny("and too long")),
  ], POST);
  assert.deepEqual(f.denials.map((d) => d.reason), ["not formatted", "and too long"]);
  assert.equal(f.value, "[secret]");
});

test("U5: one answer may both refuse and replace a result; on a call the replacement is void", async () => {
  const both: Opinion = { decision: "deny", reason: "no", value: { to: "other" } };
  const f = await folded([post("a", () => 0, { read: () => both })], POST);
  assert.deepEqual([f.decision, f.value], ["deny", "other"]);
  const g = await folded([pre("a", () => 0, { read: () => ({ ...both, value: { to: {} } }) })], PRE);
  assert.deepEqual([g.decision, g.modified], ["deny", false]);
});

test("U3: a denial without a reason is named after its hook", async () => {
  const f = await folded([pre("guard", () => ({ action: "deny" }))], PRE);
  assert.equal(f.reason, "Denied by hook guard");
});

test("U6: a denial of what cannot be denied is ignored with a warning, and ends nothing", async () => {
  const f = await folded([
    on("a", "notification", () => deny("no")),
    on("b", "notification", () => deny("no")),
  ], { event: "notification", message: "m", notification_type: "t", title: null });
  assert.equal(f.decision, "continue");
  assert.deepEqual(f.warnings, [
    "Hook a denied notification, which cannot be denied: ignored",
    "Hook b denied notification, which cannot be denied: ignored",
  ]);
});

test("U3: halt is ignored on session-start, with a warning", async () => {
  const f = await folded([on("a", "session-start", () => halt("no"))], {
    event: "session-start",
    source: "startup",
    model: "m",
    profile: null,
    config: null,
  });
  assert.equal(f.halt, undefined);
  assert.deepEqual(f.warnings, ["Hook a cannot halt at session start: ignored"]);
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

test("S4.21: those who clean up are all asked: none can end it for the others", async () => {
  const asked: string[] = [];
  const cleanup = (name: string, run: Answering, given: Partial<HookRecord> = {}) =>
    on(name, "agent-stop", (e, ctx) => {
      asked.push(name);
      return run(e, ctx);
    }, given);
  const f = await folded([
    cleanup("a", (_, ctx) => ctx.abort("no more")),
    cleanup("b", () => Promise.reject(new Error("broken")), { onError: "abort" }),
    cleanup("c", () => undefined),
  ], { event: "agent-stop", stop: "done", result: "", agent_type: "main" });
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

test("U7: an observer that fails never denies", async () => {
  const broken = () => {
    throw new Error("broken");
  };
  for (const onError of [undefined, "deny"] as const) {
    const f = await folded([pre("w", broken, { mode: "observe", ...(onError && { onError }) })], PRE);
    assert.equal(f.decision, "continue");
    assert.deepEqual(f.warnings, ["Hook w failed on pre-tool-use: broken"]);
  }
});

test("U5: an async hook is not waited for; its verdict is void and its context comes later", async () => {
  const delivered: unknown[] = [];
  const work: Promise<void>[] = [];
  const logged: string[] = [];
  const where = env({
    deliver: (said) => delivered.push(said),
    background: (w) => work.push(w),
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

const FAILURES: [name: string, run: Answering][] = [
  ["a throw", () => {
    throw new Error("broken");
  }],
  ["a rejection", () => Promise.reject(new Error("broken"))],
  ["a late rejection", async () => {
    for (let i = 0; i < 9; i++) await undefined;
    throw new Error("broken");
  }],
  ["an unknown action", () => ({ action: "broken" })],
  ["something that is no verdict", () => "broken"],
];

test("S0.16, U7: every kind of failure is a failure and not a verdict", async () => {
  for (const [name, run] of FAILURES) {
    const f = await folded([pre("a", run, { onError: "continue" })], PRE);
    assert.equal(f.decision, "continue", name);
    assert.match(f.runs[0]!.failure!, /broken/, name);
    assert.equal(f.runs[0]!.opinion, undefined, name);
    assert.match(f.warnings[0]!, /^Hook a failed on pre-tool-use: .*broken/, name);
  }
});

test("U7: a hook may throw anything, at once or later, and the walk goes on", async () => {
  const nameless = Object.create(null);
  const shy = Object.defineProperty(new Error(), "message", {
    get() {
      throw new Error("not to be read");
    },
  });
  for (const thrown of [undefined, null, 0, "words", Symbol("s"), nameless, shy, new Error("")]) {
    for (
      const how of [() => {
        throw thrown;
      }, () => Promise.reject(thrown)] as Answering[]
    ) {
      const f = await folded([pre("a", how, { onError: "continue" }), pre("b", () => deny("no"))], PRE);
      assert.equal(typeof f.runs[0]!.failure, "string");
      assert.equal(f.deniedBy, "b");
    }
  }
});

test("a hook may answer with any thenable", async () => {
  const thenable = { then: (resolve: (value: unknown) => void) => resolve(deny("later")) };
  assert.equal((await folded([pre("a", () => thenable)], PRE)).reason, "later");
  const broken = {
    then: () => {
      throw new Error("broken then");
    },
  };
  assert.equal((await folded([pre("a", () => broken)], PRE)).reason, "broken then");
});

const policies: [kind: string, given: Partial<HookRecord>, table: { [policy in OnError]: EventName[] }][] = [
  ["module", { kind: "module" }, {
    deny: ["pre-tool-use", "model-switch", "user-prompt-submit"],
    abort: ["session-start", "turn-start", "iteration", "agent-start"],
    continue: ["post-tool-use", "stop", "permission-request", "error", "pre-compact", "turn-end", "agent-stop"],
  }],
  ...(["command", "http", "prompt"] as const).map((kind) =>
    [kind, { kind }, {
      deny: [],
      abort: [],
      continue: ["pre-tool-use", "model-switch", "user-prompt-submit", "session-start", "iteration", "stop"],
    }] as [string, Partial<HookRecord>, { [policy in OnError]: EventName[] }]
  ),
  ["definition", { kind: "module", lenient: true, read: (raw, e) => readDefinition(raw, e.event) }, {
    deny: [],
    abort: [],
    continue: ["pre-tool-use", "model-switch", "user-prompt-submit", "turn-start", "iteration", "stop"],
  }],
];

test("U7: what a failure does is decided by kind and event", async () => {
  for (const [kind, given, table] of policies) {
    for (const [policy, events] of Object.entries(table)) {
      for (const event of events) {
        const broken = on("h", event, () => {
          throw new Error("broken");
        }, given);
        const f = await folded([broken], { event } as Fired<EventName>);
        const became = f.abort ? "abort" : f.decision === "deny" ? "deny" : "continue";
        assert.equal(became, policy, `${kind} on ${event}`);
        assert.deepEqual(f.warnings, [`Hook h failed on ${event}: broken`]);
      }
    }
  }
});

test("U7, S4.14: where a failure denies, its text is the reason", async () => {
  const f = await folded([pre("h", () => Promise.reject(new Error("no config")))], PRE);
  assert.deepEqual(f.denials, [{ hook: "h", reason: "no config" }]);
});

test("U7, C3: onError decides over the table, for every kind", async () => {
  for (const onError of ["continue", "deny", "abort"] as const) {
    for (const kind of ["module", "command"] as const) {
      const broken = stop("h", () => Promise.reject(new Error("broken")), { kind, onError });
      const f = await folded([broken], STOP);
      assert.equal(f.abort ? "abort" : f.decision === "deny" ? "deny" : "continue", onError);
    }
  }
});

test("U7: a failure that would deny cannot deny what cannot be denied", async () => {
  const f = await folded(
    [on("h", "notification", () => {
      throw new Error("broken");
    }, { onError: "deny" })],
    { event: "notification", message: "m", notification_type: "t", title: null },
  );
  assert.equal(f.decision, "continue");
  assert.equal(f.warnings.length, 1);
});

test("U7: a hook that takes longer than its limit fails, is told to stop, and what it did until then is kept", async () => {
  let told = false;
  const where = env();
  const f = await folded(
    [
      pre("slow", (_, ctx) => {
        ctx.addContext("begun");
        ctx.signal.addEventListener("abort", () => told = true);
        return new Promise(() => {});
      }, { timeout: 5 }),
      pre("next", () => undefined),
    ],
    PRE,
    where,
  );
  assert.equal(f.decision, "deny");
  assert.equal(f.reason, "it took longer than its limit of 5 s");
  assert.deepEqual(f.contexts, [{ text: "begun", hook: "slow" }]);
  assert.equal(f.runs[0]!.ms, 5000);
  assert.equal(told, true);
});

test("U7: a hook that answers after its time is not heard, and its signal says so whenever it looks", async () => {
  const where = env();
  let ctx: HookContext | undefined;
  const f = await folded(
    [
      pre("late", async (_, c) => {
        ctx = c;
        await where.clock.sleep(10_000);
        c.abort("too late");
        return deny("too late");
      }, { timeout: 1, onError: "continue" }),
    ],
    PRE,
    where,
  );
  assert.equal(f.decision, "continue");
  await where.clock.sleep(20_000);
  assert.equal(ctx!.signal.aborted, true);
});

test("a hook within its limit leaves no timer behind", async () => {
  const where = env({ clock: fakeClock() });
  await folded([pre("a", () => where.clock.sleep(10), { timeout: 60 })], PRE, where);
  assert.equal((where.clock as ReturnType<typeof fakeClock>).sleeping, 0);
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
    on("sub", "SubagentStop", () => undefined),
    pre("yes", () => allow("fine")),
    pre("bad", () => ({ action: "x" }), { onError: "continue" }),
    pre("no", () => deny("x")),
    pre("late", () => undefined),
  ], PRE);
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
  ]);
});

test("U18: each hook that runs is told of twice, with the same event and its line of the ledger", async () => {
  const changes: HookChange[] = [];
  const f = await folded(
    [pre("a", () => undefined), pre("b", () => deny("x"))],
    PRE,
    env({
      onHook: (c) => changes.push(c),
    }),
  );
  assert.deepEqual(changes.map((c) => `${c.phase} ${c.hook}`), ["start a", "end a", "start b", "end b"]);
  assert.equal(new Set(changes.map((c) => c.event_id)).size, 1);
  assert.deepEqual(changes.flatMap((c) => c.phase === "end" ? [c.run] : []), f.runs);
});

test("U9: hooks of scope sub never see the root, and those of scope root never a sub-agent", async () => {
  const records = [stop("root", () => undefined), on("sub", "SubagentStop", () => undefined)];
  const below = { parent_agent_id: "root" };
  assert.deepEqual(ran(await folded(records, STOP)), ["root"]);
  assert.deepEqual(ran(await folded(records, STOP, env(below))), ["sub"]);
  const f = await folded(records, STOP, env(below));
  assert.equal(f.runs.find((r) => r.hook === "root")!.skipped, "not for sub-agents");
});

test("U8: a hook for failures never sees a success, and one on both names sees both", async () => {
  const records = [
    on("failure", "PostToolUseFailure", () => undefined),
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

test("U6: a value that does not fit is the hook's failure, found where the event is fired", async () => {
  const accept = (value: unknown) => {
    if (value !== "good") throw new UnusableAnswer("bad value");
    return "GOOD";
  };
  const offer = (value: string) => fire([post("a", () => modify(value))], { ...POST }, env(), { accept });
  assert.equal((await offer("good")).value, "GOOD");
  const bad = await offer("bad");
  assert.equal(bad.modified, false);
  assert.deepEqual(bad.warnings, ["Hook a failed on post-tool-use: bad value"]);
});

test("U2: each call has its own context; values alone are shared", async () => {
  const contexts: HookContext[] = [];
  const values = new Map();
  await folded(
    [
      pre("a", (_, ctx) => {
        contexts.push(ctx);
        ctx.values.set("n", 1);
      }),
      pre("b", (_, ctx) => {
        contexts.push(ctx);
        assert.equal(ctx.values.get("n"), 1);
      }),
    ],
    PRE,
    env({ values }),
  );
  assert.notEqual(contexts[0], contexts[1]);
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

test("ctx.$ in a host without processes is a failure that says so", async () => {
  const f = await folded([pre("a", (_, ctx) => ctx.$("ls"))], PRE);
  assert.equal(f.reason, "Cannot run 'ls' as this host gives hooks no processes");
});

test("U11: ctx.hookInput is trimmed, and blank input is none", async () => {
  const f = await folded([
    on("a", "turn-end", (_, ctx) => {
      ctx.hookInput("  fix it \n");
      ctx.hookInput(" \n ");
    }),
  ], { ...STOP, event: "turn-end", trigger: "user", stop: "done" } as unknown as Fired<"turn-end">);
  assert.deepEqual(f.inputs, [{ hook: "a", text: "fix it" }]);
});

const TOOLS = ["Bash", "Edit", "NotebookEdit", "Write", "Read", "Agent", "mcp__srv__echo", "mcp__my-srv__do_it"];
const ALL = TOOLS;

/** The table of matchers observed in the host, form by form. */
const MATCHERS: [pattern: string | undefined, hits: string[]][] = [
  [undefined, ALL],
  ["", ALL],
  ["*", ALL],
  [".", ALL],
  [".*", ALL],
  ["Bash", ["Bash"]],
  ["bash", []],
  ["BASH", []],
  ["Bas", []],
  ["Edit", ["Edit"]],
  ["Edit|Write", ["Edit", "Write"]],
  ["Edit,Write", ["Edit", "Write"]],
  ["Edit, Write", ["Edit", "Write"]],
  ["Edit | Write", ["Edit", "Write"]],
  ["Write|", ["Write"]],
  [" Bash ", ["Bash"]],
  ["Bash Write", []],
  ["|", []],
  ["Edit.*", ["Edit", "NotebookEdit"]],
  [".*Edit", ["Edit", "NotebookEdit"]],
  ["Edit$", ["Edit", "NotebookEdit"]],
  ["^Edit$", ["Edit"]],
  ["\\bEdit\\b", ["Edit"]],
  ["Notebook", []],
  ["Notebook.*", ["NotebookEdit"]],
  ["B*", ALL],
  ["Ba*", ["Bash"]],
  ["B[a]sh", ["Bash"]],
  ["^Ba", ["Bash"]],
  ["^(?!Bash)", ALL.filter((t) => t !== "Bash")],
  ["!Bash", []],
  ["/Bash/", []],
  ["Bash(echo *)", []],
  ["Task", ["Agent"]],
  ["Agent", ["Agent"]],
  ["MultiEdit", []],
  ["LS", []],
  ["mcp__srv__echo", ["mcp__srv__echo"]],
  ["mcp__my-srv__do_it", ["mcp__my-srv__do_it"]],
  ["mcp__srv", []],
  ["mcp__srv__", []],
  ["mcp__my-srv", []],
  ["srv", []],
  ["echo", []],
  ["mcp__srv__.*", ["mcp__srv__echo"]],
  ["mcp__.*", ["mcp__srv__echo", "mcp__my-srv__do_it"]],
  ["mcp__*", ["mcp__srv__echo", "mcp__my-srv__do_it"]],
  ["mcp__srv__*", ["mcp__srv__echo"]],
  [".*__do_it", ["mcp__my-srv__do_it"]],
  ["toString", []],
];

test("S2.11, U12: matchers hit exactly what they hit in the host", async () => {
  for (const [pattern, hits] of MATCHERS) {
    const test = compileMatcher(pattern);
    assert.deepEqual(TOOLS.filter(test), hits, `matcher ${pattern}`);
    const misses = missing(pattern, test);
    const hook = pre("h", () => undefined, misses ? { misses } : {});
    const asked: string[] = [];
    for (const tool_name of TOOLS) {
      if (ran(await folded([hook], { ...PRE, tool_name })).length > 0) asked.push(tool_name);
    }
    assert.deepEqual(asked, hits, `hook with matcher ${pattern}`);
  }
});

test("U12: a matcher that is no expression is an error where it is written, never a hook that never fires", () => {
  for (const pattern of ["[", "(unclosed", "a{2,1}", "*Edit"]) {
    assert.throws(() => compileMatcher(pattern), (error: Error) => {
      assert.equal(error.name, "TypeError");
      assert.ok(error.message.startsWith(`Cannot use matcher '${pattern}' as it is not a regular expression: `));
      return true;
    });
  }
});

test("U12: a matcher is compared with the event's own field, and ignored where the event has none", async () => {
  const only = (event: string, pattern: string) =>
    on("h", event, () => undefined, { misses: missing(pattern, compileMatcher(pattern))! });
  const hits = async (event: string, pattern: string, fired: object, where = {}) =>
    ran(await folded([only(event, pattern)], { event, ...fired } as Fired<EventName>, env(where))).length === 1;
  assert.equal(await hits("session-start", "resume", { source: "startup" }), false);
  assert.equal(await hits("session-start", "resume", { source: "resume" }), true);
  assert.equal(await hits("session-end", "clear", { reason: "other" }), false);
  assert.equal(await hits("model-switch", ".*opus.*", { new_model: "claude-opus-5" }), true);
  assert.equal(await hits("error", "Bash", { tool: "Bash" }), true);
  assert.equal(await hits("error", "Bash", { tool: null }), false);
  assert.equal(await hits("notification", "idle", { notification_type: "idle" }), true);
  assert.equal(await hits("pre-compact", "auto", { trigger: "manual" }), false);
  assert.equal(await hits("user-prompt-submit", "Bash", { prompt: "hi" }), true);
  assert.equal(await hits("stop", "Bash", { ...STOP }), true);
  assert.equal(await hits("SubagentStop", "Explore", { ...STOP, event: "stop" }, { parent_agent_id: "p" }), false);
});

test("U1, S0.7: hooks given in code compile to records of one form, with stable names", () => {
  const guard = () => undefined;
  const hooks = codeHooks([
    { stop: [() => undefined, guard] },
    guard,
    () => undefined,
    { onEvent: () => undefined },
    { name: "audit", onEvent: () => undefined },
  ]);
  assert.deepEqual(hooks.map((h) => [h.name, h.on.length === 1 ? h.on[0]!.event : "every", h.priority, h.timeout]), [
    ["guard", "every", 100, 60],
    ["code#2", "every", 100, 60],
    ["code#3", "every", 100, 60],
    ["audit", "every", 100, 60],
    ["code:stop#0", "stop", 100, 60],
    ["guard", "stop", 100, 60],
  ]);
});

test("wrong hooks in code are refused where they are given", () => {
  const wrong: [unknown, RegExp][] = [
    [{ preTolUse: [] }, /Cannot hook event 'preTolUse' as there is no such event: did you mean 'pre-tool-use'\?/],
    [{ stop: [5] }, /Cannot use hooks.stop\[0\] as it is not a function: current value is 5/],
    [{ stop: "x" }, /Cannot use hooks.stop\[0\] as it is not a function/],
    [5, /Cannot use 5 as hooks: expected a function/],
    [null, /Cannot use null as hooks/],
  ];
  for (const [given, message] of wrong) {
    assert.throws(() => codeHooks([given as never]), { name: "TypeError", message });
  }
});

test("readNative() is what records made in code read their answers with", () => {
  const [hook] = codeHooks([() => undefined]);
  const event = { event: "pre-tool-use" } as never;
  assert.deepEqual(hook!.read(deny("x"), event), readNative(deny("x"), "pre-tool-use"));
});
