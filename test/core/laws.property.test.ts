import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { codeHooks } from "../../lib/core/code-hooks.ts";
import { fire } from "../../lib/core/dispatch.ts";
import { type EventName, EVENTS, type Fired } from "../../lib/core/events.ts";
import type { Folded } from "../../lib/core/fold.ts";
import type { HookRecord } from "../../lib/core/hook.ts";
import { invalidConversation, type Message, user } from "../../lib/core/messages.ts";
import type { Result, RunEvent } from "../../lib/core/run-events.ts";
import { keepGoing, type Opinion } from "../../lib/core/verdict.ts";
import { invalidRequest } from "../../lib/testing/_check-request.ts";
import { scripted } from "../../lib/testing/index.ts";
import { tries } from "../_counts.ts";
import { fakeClock } from "./_clock.ts";
import { act, calls, echo, record, stage, watch, within } from "./_stage.ts";
import { ADVERSARIES, build, type Built, HONOURING, reply, type World, world } from "./_worlds.ts";

/** One attempt, two repeated ones, one that an error hook asked for. */
const ATTEMPTS_PER_CALL = 4;

/** What the API would refuse in what it was sent; a paused reply is sent back as it is. */
function refusedRequest(built: Built): string | undefined {
  for (const { model, max_tokens, messages, tools } of built.model.requests) {
    const asked = messages.at(-1)!.role === "assistant" ? [...messages, user("go on")] : messages;
    const problem = invalidRequest({ model, max_tokens, messages: asked, tools });
    if (problem) return problem;
  }
}

/** Sees every event that is fired, whatever the gates before it say. */
function witness(seen: string[]): HookRecord {
  return { ...codeHooks([watch(seen)])[0]!, mode: "observe" };
}

/** How often hooks of an event were told of it, from the watcher's notes. */
const times = (seen: readonly string[], event: string) => seen.filter((e) => e === event).length;

/** Checks what holds of every run, however it went. */
function assertSound(built: Built, result: Result, seen: readonly string[]): void {
  assert.equal(invalidConversation(result.messages), undefined);
  assert.equal(refusedRequest(built), undefined);
  const dropped = result.turns === 0 && (result.stop === "denied" || result.stop === "halted") &&
    !seen.includes("agent-start");
  assert.equal(times(seen, "agent-stop"), dropped ? 0 : 1);
  assert.equal(times(seen, "session-end"), 1);
  assert.deepEqual(seen.at(-1), "session-end");
  assert.equal(built.clock.sleeping, 0);
  assert.equal(built.life.background.size, 0);
  for (const work of built.begun) assert.ok(work.signal.aborted, `${work.what} was left running and not told to stop`);
}

// Kills: counters reset by tool calls, a missing tool_result, results in the order of completion, a tool or hook that
// is waited for for ever, a run that throws.
test("law 1: every run always ends within its limits with a valid conversation, whatever model, tools and hooks do", async () => {
  await fc.assert(
    fc.asyncProperty(world(), async (w) => {
      const seen: string[] = [];
      const built = build(w, { hooks: witness(seen) });
      const result = await within(built.run(w.prompt));
      assert.ok(built.model.requests.length <= w.limits.iterations! * ATTEMPTS_PER_CALL);
      assert.ok(result.iterations <= w.limits.iterations!);
      assertSound(built, result, seen);
      assert.ok(built.clock.tick() <= w.limits.seconds! * 1000 + 2000 + 60_000 * 2 * w.hooks.length);
    }),
    { numRuns: tries(120, 2000) },
  );
});

// Kills: a call answered twice or not at all, a tool run without its answer, an answer without its call.
test("law 1: every call of the model is always answered exactly once, and a tool never runs twice for one", async () => {
  await fc.assert(
    fc.asyncProperty(world({ faults: false }), async (w) => {
      const built = build(w);
      const { messages } = await within(built.run(w.prompt));
      const asked = blocks(messages, "tool_use").map((b) => b.id);
      assert.deepEqual(blocks(messages, "tool_result").map((b) => b.tool_use_id), asked);
      const ends = built.events.filter((e) => e.type === "tool_end").map((e) => e.id);
      assert.deepEqual(ends.toSorted(), asked.toSorted());
      const ran = built.called.filter((c) => c.startsWith("tool "));
      const again = ran.filter((c, i) => ran.indexOf(c) < i);
      // An error hook may have a tool that changes nothing tried again; Boom writes.
      assert.deepEqual(again, []);
    }),
    { numRuns: tries(100, 1000) },
  );
});

function blocks(messages: readonly Message[], type: string): { id: string; tool_use_id: string }[] {
  return messages.flatMap((m) => m.content).filter((b) => b.type === type) as never;
}

/** The continuations of a run as an outsider counts them: idle ones in a row at most, and all of them. */
function continuations(events: readonly RunEvent[]): { row: number; all: number } {
  let [idle, row, all, turns] = [0, 0, 0, 0];
  let stopped = false;
  // The prompt begins a turn, and before it what hooks put in at the start of the session: these go on with nothing.
  const opening = 1 + events.filter((e) => e.type === "hook_input" && e.event === "session-start").length;
  for (const e of events) {
    if (e.type === "tool_end" && (e.outcome === "success" || e.outcome === "failure")) idle = 0;
    if (e.type !== "fired") continue;
    // After a stop check comes either the end of the turn or another call; after a turn's end another turn.
    if (e.event === "turn-start" && ++turns <= opening) stopped = false;
    if (stopped && (e.event === "iteration" || e.event === "turn-start")) {
      all++;
      row = Math.max(row, ++idle);
    }
    if (e.event === "stop" || e.event === "turn-end") stopped = true;
    else if (e.event === "iteration" || e.event === "turn-start") stopped = false;
  }
  return { row, all };
}

/** Replies of a model that may work for ever: words, tools, calls that are denied or no calls at all. */
const tireless = world({ faults: false, hanging: false });

// Kills: stalls reset by denied or invalid calls, iterations reset by anything, HookInput turns that are not counted.
test("law 2: idle continuations in a row never exceed stalls, nor model calls iterations, also with tools between", async () => {
  await fc.assert(
    fc.asyncProperty(tireless, fc.subarray([...ADVERSARIES], { minLength: 1 }), fc.nat(2), async (w, foes, denied) => {
      const limits = { ...w.limits, iterations: 25, stalls: 1 + (w.limits.stalls! % 3) };
      const names = ["Read", "Write", "Fail"];
      const deny = codeHooks([{ preToolUse: (e) => e.tool_name === names[denied] ? { Block: "no" } : undefined }]);
      const built = build({ ...w, limits, hooks: [...w.hooks, ...foes] }, {
        hooks: [...deny, () => undefined],
      });
      const result = await within(built.run(w.prompt));
      const { row, all } = continuations(built.events);
      assert.ok(row <= limits.stalls, `${row} idle continuations in a row, ${limits.stalls} allowed`);
      assert.ok(all <= (w.limits.continuations ?? Infinity));
      assert.ok(built.model.requests.length <= limits.iterations);
      assert.equal(built.model.requests.length, result.iterations);
    }),
    { numRuns: tries(150, 1500) },
  );
});

// Kills: stop_hook_active that is not set, or not set back at the next turn.
test("law 2: hooks that honour stop_hook_active are never asked more than twice in a turn", async () => {
  const honest = fc.record({
    replies: fc.array(reply({ faults: false, hanging: false }), { maxLength: 8 }),
    hooks: fc.array(fc.constant(HONOURING), { minLength: 1, maxLength: 3 }),
    prompts: fc.integer({ min: 1, max: 3 }),
  });
  await fc.assert(
    fc.asyncProperty(honest, async ({ replies, hooks, prompts }) => {
      const checks: string[] = [];
      const w: World = { replies, then: { text: "done" }, hooks, limits: {}, prompt: "go" };
      const built = build(w, { hooks: { stop: (e) => void checks.push(`${e.turn_id} ${e.stop_hook_active}`) } });
      for (let i = 0; i < prompts; i++) await within(built.session.prompt("go"));
      await built.session.close();
      const turns = Map.groupBy(checks, (check) => check.slice(0, check.lastIndexOf(" ")));
      for (const [turn, asked] of turns) {
        assert.deepEqual(asked, [`${turn} false`, `${turn} true`].slice(0, asked.length));
      }
    }),
    { numRuns: tries(80, 800) },
  );
});

// Kills: counts kept over prompts, counts reset by something else than a prompt.
test("law 2: a new prompt of a person always starts the count anew", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 6 }),
      fc.integer({ min: 1, max: 5 }),
      fc.integer({ min: 2, max: 4 }),
      fc.boolean(),
      async (iterations, stalls, prompts, tools) => {
        let n = 0;
        const then = () => tools && n++ % 2 === 0 ? calls(["Echo", "a"]) : { text: "done" };
        const built = stage({
          model: scripted([], { then }),
          tools: [echo],
          limits: { iterations, stalls },
          hooks: { stop: () => keepGoing("more") },
        });
        const ends: unknown[] = [];
        for (let i = 0; i < prompts; i++) {
          n = 0;
          const { stop, iterations } = await within(built.session.prompt("go"));
          ends.push([stop, iterations]);
        }
        await built.session.close();
        const calls_ = tools ? iterations : Math.min(iterations, stalls + 1);
        for (const end of ends) assert.deepEqual(end, [ends[0]![0 as never], calls_]);
      },
    ),
    { numRuns: tries(60, 500) },
  );
});

// Kills: a hidden cap, a limit that counts although it is off.
test("law 2: with stalls 0 and no limit of calls, a hook that lets go after n always ends after exactly n", async () => {
  await fc.assert(
    fc.asyncProperty(fc.nat(120), fc.boolean(), async (n, tools) => {
      let left = n;
      let k = 0;
      const then = () => tools && k++ % 2 === 0 ? calls(["Echo", "a"]) : { text: "done" };
      const model = scripted([], { then });
      const built = stage({
        model,
        tools: [echo],
        limits: { stalls: 0, iterations: Infinity },
        hooks: { stop: () => left-- > 0 ? keepGoing("more") : undefined },
      });
      assert.equal((await within(built.run())).stop, "done");
      assert.equal(model.requests.length, (n + 1) * (tools ? 2 : 1));
    }),
    { numRuns: tries(20, 100) },
  );
});

/** One hook of a fold: its mode, its answer or failure, and what it does beside it. */
interface Voice {
  readonly mode: HookRecord["mode"];
  readonly enabled: boolean;
  readonly priority: number;
  readonly onError: "continue" | "deny" | "abort";
  readonly opinion: Opinion | "fails";
  readonly adds: readonly string[];
  readonly aborts: boolean;
  readonly async: boolean;
}

const maybe = <T>(...values: T[]) => fc.constantFrom<T | undefined>(undefined, undefined, ...values);

const opinion: fc.Arbitrary<Opinion> = fc.record({
  decision: maybe<Opinion["decision"]>(undefined, "allow", "deny", "ask"),
  reason: maybe("r1", "r2", ""),
  value: maybe(0, 1, 2).map((n) => n === undefined ? undefined : { to: { n } }),
  halt: maybe("h"),
  contexts: maybe([{ text: "c1" }], [{ text: "c2" }, { text: "c3" }]),
  systemMessage: maybe("s"),
}).map((given) => Object.fromEntries(Object.entries(given).filter(([, v]) => v !== undefined)));

const voice: fc.Arbitrary<Voice> = fc.record({
  mode: fc.constantFrom("gate" as const, "gate" as const, "observe" as const, "async" as const),
  enabled: fc.nat(5).map((n) => n > 0),
  priority: fc.constantFrom(1, 2, 100),
  onError: fc.constantFrom("continue" as const, "deny" as const, "abort" as const),
  opinion: fc.oneof({ weight: 5, arbitrary: opinion }, { weight: 1, arbitrary: fc.constant("fails" as const) }),
  adds: fc.array(fc.constantFrom("x", "y"), { maxLength: 2 }),
  aborts: fc.nat(9).map((n) => n === 0),
  async: fc.boolean(),
});

/**
 * The law of folding, written again from its words: sort; ask gates until one ends the walk; take the decision by
 * rank; keep what is beside it; then observers, of whom only what is beside counts.
 */
function reference(event: EventName, voices: readonly (Voice & { name: string })[]) {
  const order = voices.map((v, i) => ({ ...v, i })).sort((a, b) => a.priority - b.priority || a.i - b.i);
  const kind = EVENTS[event].deny;
  const heard: (Voice & { name: string })[] = [];
  let aborted: string | undefined;
  const denials: [string, string][] = [];
  for (const v of order.filter((v) => v.mode === "gate" && v.enabled)) {
    if (aborted !== undefined || (kind === "prevents" && denials.length > 0)) break;
    heard.push(v);
    if (v.aborts) aborted ??= v.name;
    const failed = v.opinion === "fails";
    if (failed && v.onError === "abort") aborted ??= v.name;
    const denies = failed ? v.onError === "deny" : (v.opinion as Opinion).decision === "deny";
    const reason = failed ? "broken" : (v.opinion as Opinion).reason ?? `Denied by hook ${v.name}`;
    if (denies && kind !== "ignored") denials.push([v.name, reason]);
  }
  const watching = order.filter((v) => v.mode === "observe" && v.enabled);
  for (const v of watching) if (v.aborts) aborted ??= v.name;
  const said = [...heard, ...watching];
  const opinions = heard.flatMap((v) => v.opinion === "fails" ? [] : [{ name: v.name, ...v.opinion }]);
  const asked = opinions.find((o) => o.decision === "ask");
  const allowed = opinions.find((o) => o.decision === "allow");
  const values = opinions.filter((o) => o.value && (o.decision !== "deny" || kind === "collects"));
  const denied = denials.length > 0;
  const keep = values.length > 0 && !(denied && kind === "prevents");
  return {
    decision: denied ? "deny" : asked ? "ask" : allowed ? "allow" : "continue",
    reason: denied ? denials.map(([, r]) => r).join("\n") : asked ? asked.reason : allowed?.reason,
    deniedBy: denied ? denials[0]![0] : undefined,
    value: keep ? values.at(-1)!.value!.to : undefined,
    modified: keep,
    contexts: said.flatMap((v) => [
      ...v.adds.map((text) => [v.name, text]),
      ...(v.opinion === "fails" ? [] : v.opinion.contexts ?? []).map(({ text }) => [v.name, text]),
    ]),
    systemMessages: said.flatMap((v) => v.opinion !== "fails" && v.opinion.systemMessage ? [v.name] : []),
    halt: opinions.find((o) => o.halt !== undefined)?.name,
    abort: aborted,
    asked: said.map((v) => v.name),
  };
}

function summary(folded: Folded) {
  return {
    decision: folded.decision,
    reason: folded.reason,
    deniedBy: folded.deniedBy,
    value: folded.value,
    modified: folded.modified,
    contexts: folded.contexts.map((c) => [c.hook, c.text]),
    systemMessages: folded.systemMessages.map((m) => m.hook),
    halt: folded.halt?.hook,
    abort: folded.abort?.hook,
    asked: folded.runs.filter((r) => r.skipped === undefined).map((r) => r.hook),
  };
}

const FOLDED: { readonly [event: string]: object } = {
  "pre-tool-use": { tool_name: "Bash", input: { n: 0 }, original_input: { n: 0 }, tool_use_id: "t" },
  "post-tool-use": { tool_name: "Bash", input: {}, result: {}, outcome: "success" },
  "stop": { usage: {} },
  "notification": { message: "m" },
  "model-switch": { old_model: null, new_model: "m" },
};

function folding(event: EventName, voices: readonly (Voice & { name: string })[]): Promise<Folded> {
  const records = voices.map((v) =>
    record({
      name: v.name,
      on: [{ event, scope: "all" }],
      mode: v.mode,
      enabled: v.enabled,
      priority: v.priority,
      onError: v.onError,
      run: (_, ctx) => {
        for (const text of v.adds) ctx.addContext(text);
        if (v.aborts) ctx.abort("x");
        if (v.opinion !== "fails") return v.async ? Promise.resolve() : undefined;
        if (v.async) return Promise.reject(new Error("broken"));
        throw new Error("broken");
      },
      read: () => v.opinion as Opinion,
    })
  );
  return fire(records, { event, ...FOLDED[event] } as Fired<EventName>, {
    session_id: "s",
    agent_id: "a",
    turn_id: "t",
    sequence: { next: 0 },
    clock: fakeClock(),
    cwd: "/",
    values: new Map(),
    signal: new AbortController().signal,
  });
}

const voices = fc.array(voice, { maxLength: 7 }).map((all) => all.map((v, i) => ({ ...v, name: `h${i}` })));

// Kills: a deny that does not end the walk, modify kept under deny, contexts lost under deny or failure, ask stronger
// than deny, the last ask or allow instead of the first, observers who decide, an order by place alone.
test("law 3: the folding of any hooks always equals its reference", async () => {
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...Object.keys(FOLDED)), voices, async (event, vs) => {
      assert.deepEqual(summary(await folding(event as EventName, vs)), reference(event as EventName, vs));
    }),
    { numRuns: tries(500, 10_000) },
  );
});

// Kills: a ledger that depends on speed, on identity or on what was fired before.
test("law 3: the same event and hooks always leave the same ledger, which names every hook once", async () => {
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...Object.keys(FOLDED)), voices, async (event, vs) => {
      const first = await folding(event as EventName, vs);
      assert.deepEqual(await folding(event as EventName, vs), first);
      assert.deepEqual(first.runs.map((r) => r.hook).toSorted(), vs.map((v) => v.name).toSorted());
    }),
    { numRuns: tries(150, 2000) },
  );
});

// Kills: a tool run despite a denial, a denial that is told as something else.
test("law 3: a tool never runs where any hook that was asked denied it, and runs where none did", async () => {
  const verdict = fc.constantFrom("nothing", "deny", "allow", "modify", "throw", "context");
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(verdict, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 4 }),
      async (table) => {
        const ran: string[] = [];
        const tool = act("Do", "read", (_, ctx) => {
          ran.push(ctx.toolUseId);
          return "done";
        });
        const ids = table.map((_, i) => `call_${i}`);
        const hooks = Array.from({ length: 4 }, (_, h) => ({
          name: `h${h}`,
          onEvent(e: { event: string; tool_use_id?: string }) {
            if (e.event !== "pre-tool-use") return;
            const what = table[ids.indexOf(e.tool_use_id!)]![h] ?? "nothing";
            if (what === "throw") throw new Error("broken");
            if (what === "nothing") return;
            return { action: what === "context" ? "continue" : what, reason: "r", value: {}, context: "c" };
          },
        }));
        const model = scripted([{ tools: ids.map((id) => ({ name: "Do", id })) }, { text: "done" }]);
        const result = await within(stage({ model, tools: [tool], hooks }).run());
        const stays = ids.filter((_, i) => !table[i]!.some((v) => v === "deny" || v === "throw"));
        assert.deepEqual(ran, stays);
        assert.deepEqual(
          result.denials.map((d) => d.tool_use_id),
          ids.filter((id) => !stays.includes(id)),
        );
      },
    ),
    { numRuns: tries(100, 1000) },
  );
});

// Kills: contexts lost beside a denial, under a failure of another hook, or at the end of a batch.
test("law 3: what hooks say of calls always reaches the model exactly once, denied or not", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.constantFrom("Read", "Write", "Fail", "deny", "Nope"), { minLength: 1, maxLength: 5 }),
      async (wanted) => {
        const said: string[] = [];
        const say = (where: string) => (e: { tool_use_id: string }, ctx: { addContext(text: string): void }) => {
          const text = `<${where} ${e.tool_use_id}>`;
          said.push(text);
          ctx.addContext(text);
        };
        const w: World = {
          replies: [{
            tools: wanted.map((name) => name === "deny" ? { name: "Read", input: { say: "deny" } } : { name }),
          }],
          then: { text: "done" },
          hooks: [],
          limits: {},
          prompt: "go",
        };
        const built = build(w, {
          hooks: [{
            preToolUse: [say("first"), (e) => e.input.say === "deny" ? { Block: "no" } : undefined, say("second")],
            postToolUse: say("post"),
            postToolUseFailure: [say("failure"), () => {
              throw new Error("broken");
            }],
          }],
        });
        await within(built.run());
        const [, request] = built.model.requests;
        const text = JSON.stringify(request!.messages);
        for (const words of said) assert.equal(text.split(words).length, 2, words);
      },
    ),
    { numRuns: tries(80, 800) },
  );
});

/** A moment at which to pull the plug: so far into all events or calls of the run, or after so many microtasks. */
const moment = fc.oneof(
  fc.record({ kind: fc.constantFrom("event" as const, "call" as const), at: fc.integer({ min: 0, max: 999 }) }),
  fc.record({ kind: fc.constant("microtask" as const), at: fc.nat(300) }),
);

// What is told to begin has begun: the moment is before or after it, not there.
const counts = (e: RunEvent) => e.type !== "hook_start";
const isCleanup = (what: string) => /agent-stop|session-end/.test(what);

// Kills: agent-stop twice or never, a stop after an interrupt, work that is left running, a call without its answer,
// an interrupt that is waited out.
test("law 4: an interrupt at any moment always ends the run promptly and cleanly", async () => {
  await fc.assert(
    fc.asyncProperty(world(), moment, async (w, { kind, at }) => {
      const whole = build(w);
      await within(whole.run(w.prompt));
      const total = kind === "event" ? whole.events.filter(counts).length : whole.called.length;
      const n = kind === "microtask" ? at : Math.floor(total * at / 1000);
      const controller = new AbortController();
      const seen: string[] = [];
      let count = 0;
      let pulled: { time: number; called: number; seen: number } | undefined;
      const pull = () => {
        pulled ??= { time: built.clock.tick(), called: built.called.length, seen: seen.length };
        controller.abort();
      };
      const built: Built = build(w, {
        hooks: witness(seen),
        on: (e) => kind === "event" && counts(e) && count++ === n ? pull() : undefined,
        onCall: () => kind === "call" && count++ === n ? pull() : undefined,
      });
      let over = false;
      const running = built.session.prompt(w.prompt, { signal: controller.signal }).finally(() => over = true);
      for (let i = 0; kind === "microtask" && i < n && !over; i++) await undefined;
      if (kind === "microtask" && !over) pull();
      const result = await within(running);
      await within(built.session.close());
      assertSound(built, result, seen);
      if (!pulled) return;
      assert.deepEqual(built.called.slice(pulled.called).filter((what) => !isCleanup(what)), []);
      assert.deepEqual(seen.slice(pulled.seen).filter((what) => !isCleanup(what)), []);
      const cleaning = w.hooks.filter((h) => h.events.some(isCleanup)).length;
      const grace = 3 * 2000 + 2 * 60_000 * cleaning;
      assert.ok(built.clock.tick() - pulled.time <= grace, "it was not waited out");
    }),
    { numRuns: tries(150, 3000) },
  );
});

// Kills: state that leaks between runs, an order that depends on the machine.
test("the same script and hooks always leave the same ledger, event for event", async () => {
  await fc.assert(
    fc.asyncProperty(world(), async (w) => {
      const [first, second] = [build(w), build(w)];
      const results = [await within(first.run(w.prompt)), await within(second.run(w.prompt))];
      assert.deepEqual(plain(second.events), plain(first.events));
      assert.deepEqual(plain(results[1]), plain(results[0]));
      assert.deepEqual(second.called, first.called);
    }),
    { numRuns: tries(60, 500) },
  );
});

/** As it would be written down; stack traces aside, which name places in this file. */
function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value, (key, part) => key === "stack_trace" ? undefined : part));
}

// Kills: anything the mere presence of hooks changes.
test("S0.12: without hooks a run is always identical to one with hooks that say nothing", async () => {
  await fc.assert(
    fc.asyncProperty(world({ hooks: fc.constant(HONOURING) }), async (w) => {
      const bare = build({ ...w, hooks: [] });
      const heard = build({ ...w, hooks: [] }, { hooks: [() => undefined, { onEvent: async () => {} }] });
      const results = [await within(bare.run(w.prompt)), await within(heard.run(w.prompt))];
      assert.deepEqual(plain(results[1]), plain(results[0]));
      assert.deepEqual(plain(heard.model.requests), plain(bare.model.requests));
      assert.deepEqual(heard.called, bare.called);
    }),
    { numRuns: tries(60, 500) },
  );
});
