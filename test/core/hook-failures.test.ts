import assert from "node:assert/strict";
import { test } from "node:test";
import { type EventName, EVENTS, type Fired } from "../../lib/core/events.ts";
import type { Folded } from "../../lib/core/fold.ts";
import type { HookContext, HookRecord, OnError } from "../../lib/core/hook.ts";
import { deny } from "../../lib/core/verdict.ts";
import { readDefinition } from "../../lib/hooks/read-answer.ts";
import { fakeClock } from "./_clock.ts";
import { type Answering, env, folded, PRE, pre, STOP, stop } from "./_fired.ts";
import { named } from "./_stage.ts";

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

/** What a failing module of ours does; everything else it is asked about goes on. */
const OF_MODULES: { readonly [event in EventName]?: OnError } = {
  "pre-tool-use": "deny",
  "model-switch": "deny",
  "user-prompt-submit": "deny",
  "session-start": "abort",
  "turn-start": "abort",
  "iteration": "abort",
  "agent-start": "abort",
};

const KINDS: [kind: string, given: Partial<HookRecord>, policies: typeof OF_MODULES][] = [
  ["module", { kind: "module" }, OF_MODULES],
  ["command", { kind: "command" }, {}],
  ["http", { kind: "http" }, {}],
  ["prompt", { kind: "prompt" }, {}],
  ["definition", { kind: "module", lenient: true, read: (raw, e) => readDefinition(raw, e.event) }, {}],
];

/** What was made of a failure. */
function became({ abort, decision }: Folded): string {
  return abort ? "abort" : decision;
}

test("U7: what a failure does is decided by kind and event", async () => {
  for (const [kind, given, policies] of KINDS) {
    for (const event of Object.keys(EVENTS) as EventName[]) {
      const broken = named("h", event, () => {
        throw new Error("broken");
      }, given);
      const f = await folded([broken], { event } as Fired<EventName>);
      assert.equal(became(f), policies[event] ?? "continue", `${kind} on ${event}`);
      assert.deepEqual(f.warnings, [`Hook h failed on ${event}: broken`]);
    }
  }
});

test("U7, S4.14: if a failure denies, its text is the reason", async () => {
  const f = await folded([pre("h", () => Promise.reject(new Error("no config")))], PRE);
  assert.deepEqual(f.denials, [{ hook: "h", reason: "no config" }]);
});

test("U7, C3: onError decides over the table, for every kind", async () => {
  for (const onError of ["continue", "deny", "abort"] as const) {
    for (const kind of ["module", "command", "rules", "prompt", "http"] as const) {
      const broken = stop("h", () => Promise.reject(new Error("broken")), { kind, onError });
      const f = await folded([broken], STOP);
      assert.equal(became(f), onError);
    }
  }
});

test("U7: a failure that would deny cannot deny what cannot be denied", async () => {
  const f = await folded(
    [named("h", "notification", () => {
      throw new Error("broken");
    }, { onError: "deny" })],
    { event: "notification", message: "m", notification_type: "t", title: null },
  );
  assert.equal(f.decision, "continue");
  assert.equal(f.warnings.length, 1);
});

test("U7: a hook that takes longer than its limit fails, gets an abort signal, and what it did until then is kept", async () => {
  let noted = false;
  const where = env();
  const f = await folded(
    [
      pre("slow", (_, ctx) => {
        ctx.addContext("begun");
        ctx.signal.addEventListener("abort", () => noted = true);
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
  assert.equal(noted, true);
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
  await where.clock.sleep(20_000);
  assert.equal(ctx!.signal.aborted, true);
  assert.deepEqual([f.decision, f.abort, f.denials], ["continue", undefined, []]);
});

test("a hook within its limit leaves no timer behind", async () => {
  const where = env({ clock: fakeClock() });
  await folded([pre("a", () => where.clock.sleep(10), { timeout: 60 })], PRE, where);
  assert.equal((where.clock as ReturnType<typeof fakeClock>).sleeping, 0);
});
