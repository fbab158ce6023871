import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { HookRegistry } from "../../lib/hooks/registry.ts";
import { codeHooks } from "../../lib/hooks/code-hooks.ts";
import type { HookRecord } from "../../lib/core/hook.ts";
import { invalidConversation, type Message, user } from "../../lib/core/messages.ts";
import type { Result, RunEvent } from "../../lib/core/run-events.ts";
import { keepGoing } from "../../lib/core/verdict.ts";
import { invalidRequest } from "../../lib/testing/_check-request.ts";
import { scripted } from "../../lib/testing/index.ts";
import { tries } from "../_counts.ts";
import { build, type Built } from "./_build.ts";
import { calls, echo, stage, watch, within } from "./_stage.ts";
import { ADVERSARIES, HONOURING, reply, type World, world } from "./_worlds.ts";

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

/** How often hooks of an event were noted of it, from the watcher's notes. */
const times = (seen: readonly string[], event: string) => seen.filter((e) => e === event).length;

/** Checks what holds of every run, however it went. */
function assertSound(built: Built, result: Result, seen: readonly string[]): void {
  assert.equal(invalidConversation(result.messages), undefined);
  assert.equal(refusedRequest(built), undefined);
  assert.deepEqual(built.refused, []);
  const dropped = result.turns === 0 && (result.stop === "denied" || result.stop === "halted") &&
    !seen.includes("agent-start");
  assert.equal(times(seen, "agent-stop"), dropped ? 0 : 1);
  assert.equal(times(seen, "session-end"), 1);
  assert.deepEqual(seen.at(-1), "session-end");
  assert.equal(built.clock.sleeping, 0);
  assert.equal(built.state.background.size, 0);
  for (const work of built.begun) {
    assert.ok(work.signal.aborted, `${work.what} was left running and got no abort signal`);
  }
}

// Kills: counters reset by tool calls, a missing tool_result, results in the order of completion, a tool or hook that
// is waited for forever, a run that throws.
test("law 1: every run always ends within its limits with a valid conversation, whatever model, tools and hooks do", async () => {
  await fc.assert(
    fc.asyncProperty(world({ wires: true }), async (w) => {
      const seen: string[] = [];
      const built = build(w, { hooks: witness(seen) });
      const result = await within(built.run(w.prompt));
      assert.ok(built.model.requests.length <= w.limits.iterations! * ATTEMPTS_PER_CALL);
      assert.ok(result.iterations <= w.limits.iterations!);
      assertSound(built, result, seen);
      assert.ok(built.clock.tick() <= w.limits.seconds! * 1000 + 2000 + 60_000 * 2 * w.hooks.length);
    }),
    { numRuns: tries(33, 2000, 120) },
  );
});

/** What may come after each event; after every one but the last two the run may also be over: agent-stop. */
const NEXT: { readonly [event: string]: readonly string[] } = {
  "session-start": ["user-prompt-submit"],
  "user-prompt-submit": ["agent-start", "session-end"],
  "agent-start": ["turn-start"],
  "turn-start": ["iteration", "turn-end"],
  "iteration": ["iteration", "error", "pre-tool-use", "post-tool-batch", "stop", "stop-failure", "turn-end"],
  "pre-tool-use": ["pre-tool-use", "error", "tool-denied", "post-tool-use"],
  "tool-denied": ["pre-tool-use", "post-tool-use", "post-tool-batch"],
  "post-tool-use": ["pre-tool-use", "post-tool-use", "post-tool-batch"],
  "post-tool-batch": ["iteration", "turn-end"],
  "error": ["error", "pre-tool-use", "post-tool-use", "stop-failure", "turn-end"],
  "stop": ["iteration", "turn-end"],
  "stop-failure": [],
  "turn-end": ["turn-start"],
  "agent-stop": ["session-end"],
};

// Kills: a stop before the end of the calls, a turn that ends and goes on, an end that is not last, a turn-end after a halt.
test("U9: the events of a session never come in another order", async () => {
  const followed = new Set<string>();
  await fc.assert(
    fc.asyncProperty(world({ wires: true }), async (w) => {
      const seen: string[] = [];
      const { stop } = await within(build(w, { hooks: witness(seen) }).run(w.prompt));
      const events = seen.map((one) => one.split(" ")[0]!);
      assert.equal(events[0], "session-start");
      const atEnd = w.hooks.some((hook) => hook.events.includes("turn-end")); // these may end the run there
      if (!atEnd && ["halted", "aborted", "error"].includes(stop)) {
        assert.ok(!events.slice(events.lastIndexOf("turn-start") + 1).includes("turn-end"), `${stop}, and a turn-end`);
      }
      for (const [i, event] of events.slice(1).entries()) {
        const before = events[i]!;
        followed.add(before);
        const isOver = event === "agent-stop" && before !== "agent-stop";
        assert.ok(isOver || NEXT[before]!.includes(event), `${event} after ${before}`);
      }
    }),
    { numRuns: tries(66, 2000, 120) },
  );
  assert.deepEqual([...followed].sort(), Object.keys(NEXT).sort());
});

// Kills: a call answered twice or not at all, a tool run without its answer, an answer without its call, an id that a
// server uses again.
test("law 1: every call of the model is always answered exactly once, and a tool never runs twice for one", async () => {
  await fc.assert(
    fc.asyncProperty(world({ faults: false, wires: true }), async (w) => {
      const built = build(w);
      const { messages } = await within(built.run(w.prompt));
      const asked = blocks(messages, "tool_use").map((b) => b.id);
      assert.deepEqual(blocks(messages, "tool_result").map((b) => b.tool_use_id), asked);
      assert.equal(new Set(asked).size, asked.length, "an id is given twice");
      const ends = built.events.filter((e) => e.type === "tool_end").map((e) => e.id);
      assert.deepEqual(ends.toSorted(), asked.toSorted());
      const ran = built.called.filter((c) => c.startsWith("tool "));
      const again = ran.filter((c, i) => ran.indexOf(c) < i);
      // An error hook may have a tool that changes nothing tried again; Boom writes.
      assert.deepEqual(again, []);
    }),
    { numRuns: tries(27, 1000, 100) },
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

/** Replies of a model that may work forever: words, tools, calls that are denied or no calls at all. */
const tireless = world({ faults: false, hanging: false });

// Kills: stalls reset by denied or invalid calls, iterations reset by anything, HookInput turns that are not counted.
test("law 2: idle continuations in a row never exceed stalls, nor model calls iterations, also with tools between", async () => {
  let atLimit = 0;
  await fc.assert(
    fc.asyncProperty(tireless, fc.subarray([...ADVERSARIES], { minLength: 1 }), fc.nat(2), async (w, foes, denied) => {
      const limits = { ...w.limits, iterations: 25, stalls: 1 + (w.limits.stalls! % 3) };
      const names = ["Read", "Write", "Fail"];
      const deny = codeHooks([{ preToolUse: (e) => e.tool_name === names[denied] ? { Block: "no" } : undefined }]);
      // An event is reported as fired if a hook hears it: the last one hears them all, so that all are counted.
      const built = build({ ...w, limits, hooks: [...w.hooks, ...foes] }, { hooks: [...deny, () => undefined] });
      const result = await within(built.run(w.prompt));
      const { row, all } = continuations(built.events);
      assert.ok(row <= limits.stalls, `${row} idle continuations in a row, ${limits.stalls} allowed`);
      if (row === limits.stalls) atLimit++;
      assert.ok(all <= (w.limits.continuations ?? Infinity));
      assert.ok(built.model.requests.length <= limits.iterations);
      assert.equal(built.model.requests.length, result.iterations);
    }),
    { numRuns: tries(75, 1500, 150) },
  );
  assert.ok(atLimit > 5, `only ${atLimit} runs came to the limit of stalls`);
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
    { numRuns: tries(22, 800, 80) },
  );
});

// Kills: counts kept over prompts, counts reset by something else than a prompt.
test("law 2: a new prompt of a person always resets the count", async () => {
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
          const result = await within(built.session.prompt("go"));
          ends.push([result.stop, result.iterations]);
        }
        await built.session.close();
        const isStalled = !tools && stalls < iterations;
        const end = isStalled ? ["stop_hook_stalled", stalls + 1] : ["max_iterations", iterations];
        assert.deepEqual(ends, Array(prompts).fill(end));
      },
    ),
    { numRuns: tries(33, 500, 60) },
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
    { numRuns: tries(11, 100, 20) },
  );
});

/** A moment at which to pull the plug: so far into all events or calls of the run, or after so many microtasks. */
const moment = fc.oneof(
  fc.record({ kind: fc.constantFrom("event" as const, "call" as const), at: fc.integer({ min: 0, max: 999 }) }),
  fc.record({ kind: fc.constant("microtask" as const), at: fc.nat(300) }),
);

// What is reported to begin has begun: the moment is before or after it, not there.
const counts = (e: RunEvent) => e.type !== "hook_start";
const isCleanup = (what: string) => /agent-stop|session-end/.test(what);

// Kills: agent-stop twice or never, a stop after an interrupt, work that is left running, a call without its answer,
// an interrupt that is waited out.
test("law 4: an interrupt at any moment always ends the run promptly and cleanly", async () => {
  let interrupted = 0;
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
      interrupted++;
      assert.deepEqual(built.called.slice(pulled.called).filter((what) => !isCleanup(what)), []);
      assert.deepEqual(seen.slice(pulled.seen).filter((what) => !isCleanup(what)), []);
      const cleaning = w.hooks.filter((h) => h.events.some(isCleanup)).length;
      const grace = 3 * 2000 + 2 * 60_000 * cleaning;
      assert.ok(built.clock.tick() - pulled.time <= grace, "it was not waited out");
    }),
    { numRuns: tries(150, 3000) },
  );
  assert.ok(interrupted > 20, `only ${interrupted} runs were interrupted`);
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
    { numRuns: tries(33, 500, 60) },
  );
});

/** As it would be written down; stack traces aside, which name places in this file. */
function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value, (key, part) => key === "stack_trace" ? undefined : part));
}

// Kills: anything the mere presence of hooks changes.
test("S0.12: without hooks nothing ever fires, and a run is always identical to one with hooks that say nothing", async () => {
  const fires = ({ type }: { type: string }) => type === "fired" || type === "hook_start" || type === "hook_end";
  await fc.assert(
    fc.asyncProperty(world(), async (w) => {
      const bare = build({ ...w, hooks: [] });
      const heard = build({ ...w, hooks: [] }, { hooks: [() => undefined, { onEvent: async () => {} }] });
      const empty = build({ ...w, hooks: [] }, { hooks: [new HookRegistry()] });
      const result = await within(bare.run(w.prompt));
      assert.deepEqual(bare.events.filter(fires), []);
      for (const other of [heard, empty]) {
        assert.deepEqual(plain(await within(other.run(w.prompt))), plain(result));
        assert.deepEqual(plain(other.model.requests), plain(bare.model.requests));
        assert.deepEqual(other.called, bare.called);
      }
      assert.deepEqual(plain(empty.events), plain(bare.events));
      assert.ok(heard.events.some(fires));
      // Which of two limits is named may depend on how long hooks take.
      const rest = (events: Built["events"]) => events.filter((one) => !fires(one) && one.type !== "warning");
      assert.deepEqual(plain(rest(heard.events)), plain(rest(bare.events)));
    }),
    { numRuns: tries(33, 500, 60) },
  );
});

// Kills: a history that is listed when it is read, also that of an empty conversation.
test("what an event shows of the history is always as it was when it was fired, whenever a hook reads it", async () => {
  const shown = (e: object) => {
    const { turn, messages, request } = e as { turn?: unknown; messages?: unknown; request?: unknown };
    return plain([turn ?? null, messages ?? null, request ?? null]);
  };
  const hook = (note: (event: object) => void): HookRecord => ({ ...codeHooks([note])[0]!, mode: "observe" });
  let histories = 0;
  await fc.assert(
    fc.asyncProperty(world(), async (w) => {
      const atOnce: unknown[] = [];
      await within(build(w, { hooks: hook((e) => void atOnce.push(shown(e))) }).run(w.prompt));
      const events: object[] = [];
      await within(build(w, { hooks: hook((e) => void events.push(e)) }).run(w.prompt));
      assert.deepEqual(events.map(shown), atOnce);
      histories += events.filter((e) => "turn" in e || "messages" in e).length;
    }),
    { numRuns: tries(60, 500) },
  );
  assert.ok(histories > 20, `only ${histories} events had a history`);
});
