import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { fire } from "../../lib/core/dispatch.ts";
import { type EventName, EVENTS, type Fired } from "../../lib/core/events.ts";
import type { Folded } from "../../lib/core/fold.ts";
import type { HookRecord } from "../../lib/core/hook.ts";
import type { Opinion } from "../../lib/core/verdict.ts";
import { scripted } from "../../lib/testing/index.ts";
import { tries } from "../_counts.ts";
import { build } from "./_build.ts";
import { env } from "./_fired.ts";
import { act, record, stage, within } from "./_stage.ts";
import type { World } from "./_worlds.ts";

/** One hook of a fold: its mode, its answer or failure, and what it does beside it. */
interface Voice {
  readonly mode: HookRecord["mode"];
  readonly enabled: boolean;
  readonly priority: number;
  readonly onError: "continue" | "deny" | "abort";
  readonly opinion: Opinion | "fails";
  readonly adds: readonly string[];
  readonly aborts: boolean;
  /** Whether the run is interrupted while it answers. */
  readonly interrupts: boolean;
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
  interrupts: fc.nat(11).map((n) => n === 0),
  async: fc.boolean(),
});

/**
 * The law of folding, written again from its words: sort; ask gates until one ends the walk; take the decision by
 * rank; keep what is beside it; then observers, of whom only what is beside counts. Each sees what those before it left.
 * After an interrupt nobody is asked, and what the hook says that it met decides nothing. What cleans up is never ended.
 */
function reference(event: EventName, voices: readonly (Voice & { name: string })[]) {
  const order = voices.map((v, i) => ({ ...v, i })).sort((a, b) => a.priority - b.priority || a.i - b.i);
  const { deny: kind, subject } = EVENTS[event];
  const heard: (Voice & { name: string })[] = [];
  let aborted: string | undefined;
  let interrupted = false;
  let left = subject === null ? undefined : (FOLDED[event] as Record<string, unknown>)[subject];
  const seen: [string, unknown][] = [];
  const denials: [string, string][] = [];
  for (const v of order.filter((v) => v.mode === "gate" && v.enabled)) {
    const ends = aborted !== undefined && event !== "agent-stop";
    if (interrupted || ends || (kind === "prevents" && denials.length > 0)) break;
    heard.push(v);
    seen.push([v.name, left]);
    if (v.aborts) aborted ??= v.name;
    interrupted = v.interrupts;
    if (interrupted) continue;
    const failed = v.opinion === "fails";
    if (failed && v.onError === "abort") aborted ??= v.name;
    const denies = failed ? v.onError === "deny" : (v.opinion as Opinion).decision === "deny";
    const reason = failed ? "broken" : (v.opinion as Opinion).reason ?? `Denied by hook ${v.name}`;
    if (denies && kind !== "ignored") denials.push([v.name, reason]);
    const value = failed || (denies && kind !== "collects") ? undefined : (v.opinion as Opinion).value;
    if (value && subject !== null) left = value.to;
  }
  const watching: typeof heard = [];
  for (const v of order.filter((v) => v.mode === "observe" && v.enabled)) {
    if (interrupted) break;
    watching.push(v);
    seen.push([v.name, left]);
    if (v.aborts) aborted ??= v.name;
    interrupted = v.interrupts;
  }
  const said = [...heard, ...watching];
  const weighed = heard.filter((v) => !v.interrupts);
  const opinions = weighed.flatMap((v) => v.opinion === "fails" ? [] : [{ name: v.name, ...v.opinion }]);
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
    seen,
  };
}

function summary({ folded, seen }: { folded: Folded; seen: readonly (readonly [string, unknown])[] }) {
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
    seen,
  };
}

const FOLDED: { readonly [event: string]: object } = {
  "pre-tool-use": { tool_name: "Bash", input: { n: 0 }, original_input: { n: 0 }, tool_use_id: "t" },
  "post-tool-use": { tool_name: "Bash", input: {}, result: {}, outcome: "success" },
  "stop": { usage: {} },
  "notification": { message: "m" },
  "agent-stop": { text: "t" },
  "model-switch": { old_model: null, new_model: "m" },
};

async function folding(event: EventName, voices: readonly (Voice & { name: string })[]) {
  const controller = new AbortController();
  const seen: (readonly [string, unknown])[] = [];
  const { subject } = EVENTS[event];
  const records = voices.map((v) =>
    record({
      name: v.name,
      on: [{ event, scope: "all" }],
      mode: v.mode,
      enabled: v.enabled,
      priority: v.priority,
      onError: v.onError,
      run: (fired, ctx) => {
        const left = subject === null ? undefined : (fired as unknown as Record<string, unknown>)[subject];
        if (v.mode !== "async") seen.push([v.name, left]);
        for (const text of v.adds) ctx.addContext(text);
        if (v.aborts) ctx.abort("x");
        const isLate = v.async && !v.interrupts;
        if (v.interrupts && v.mode !== "async") controller.abort();
        if (v.opinion !== "fails") return isLate ? Promise.resolve() : undefined;
        if (isLate) return Promise.reject(new Error("broken"));
        throw new Error("broken");
      },
      read: () => v.opinion as Opinion,
    })
  );
  const fired = { event, ...FOLDED[event] } as Fired<EventName>;
  return { folded: await fire(records, fired, env({ signal: controller.signal })), seen };
}

const voices = fc.array(voice, { maxLength: 7 }).map((all) => all.map((v, i) => ({ ...v, name: `h${i}` })));

// Kills: a deny that does not end the walk, modify kept under deny, contexts lost under deny or failure, ask stronger
// than deny, the last ask or allow instead of the first, observers who decide, an order by place alone, a hook that sees
// what was before the one that changed it, a verdict after an interrupt, cleanup that an abort ends, the last denial named.
test("U5, law 3: the folding of any hooks always equals its reference", async () => {
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...Object.keys(FOLDED)), voices, async (event, vs) => {
      assert.deepEqual(summary(await folding(event as EventName, vs)), reference(event as EventName, vs));
    }),
    { numRuns: tries(250, 10_000, 500) },
  );
});

// Kills: a ledger that depends on speed, on identity or on what was fired before.
test("law 3: the same event and hooks always leave the same ledger, which names every hook once", async () => {
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...Object.keys(FOLDED)), voices, async (event, vs) => {
      const { folded: first } = await folding(event as EventName, vs);
      assert.deepEqual((await folding(event as EventName, vs)).folded, first);
      assert.deepEqual(first.runs.map((r) => r.hook).toSorted(), vs.map((v) => v.name).toSorted());
    }),
    { numRuns: tries(75, 2000, 150) },
  );
});

// Kills: a tool run despite a denial, a denial that is reported as something else.
test("law 3: a tool never runs if a hook denied it, and runs if no hook did", async () => {
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
    { numRuns: tries(50, 1000, 100) },
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
    { numRuns: tries(40, 800, 80) },
  );
});

// Kills: only the first reason shown, reasons in the order of answers, a reason of a hook that let go.
test("law 3: the reasons of all Stop hooks that keep an agent going always reach the model, in order", async () => {
  const kept = fc.array(fc.boolean(), { minLength: 1, maxLength: 5 }).filter((all) => all.includes(true));
  await fc.assert(
    fc.asyncProperty(kept, async (all) => {
      const model = scripted([{ text: "a" }], { then: { text: "b" } });
      const hooks = all.map((keeps, i) => ({
        stop: (e: { stop_hook_active: boolean }) =>
          keeps && !e.stop_hook_active ? { Block: `<reason ${i}>` } : undefined,
      }));
      await within(stage({ model, hooks }).run());
      const given = JSON.stringify(model.requests[1]!.messages.at(-1)).match(/<reason \d>/g);
      assert.deepEqual(given, all.flatMap((keeps, i) => keeps ? [`<reason ${i}>`] : []));
    }),
    { numRuns: tries(20, 400, 40) },
  );
});
