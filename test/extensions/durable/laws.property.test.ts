import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import fc from "fast-check";
import type { Engine } from "../../../lib/agent/engine.ts";
import { invalidConversation, isToolResult, isToolUse } from "../../../lib/core/messages.ts";
import type { Result } from "../../../lib/core/run-events.ts";
import { tries } from "../../_counts.ts";
import { scratch } from "../../_scratch.ts";
import { build, type Built } from "../../core/_build.ts";
import { within } from "../../core/_stage.ts";
import { hook, type World, world } from "../../core/_worlds.ts";
import { type Death, type Journal, type MemoryEngine, memoryEngine, untilDone, withoutMarks } from "./_engines.ts";
import { family } from "./_family.ts";

/** What holds of every run, on whatever it runs. */
function assertLawful(w: World, built: Built, result: Result): void {
  assert.equal(invalidConversation(result.messages), undefined);
  assert.ok(result.iterations <= w.limits.iterations!);
  const calls = result.messages.flatMap((m) => m.content.filter(isToolUse)).map(
    ({ id }) => id,
  );
  const answers = result.messages.flatMap((m) => m.content.filter(isToolResult))
    .map((b) => b.tool_use_id);
  assert.deepEqual(answers.toSorted(), calls.toSorted());
  for (const work of built.begun) {
    assert.ok(
      work.signal.aborted,
      `${work.what} was left running and not asked to stop`,
    );
  }
}

// Kills: a step in a step, a name used twice, a tool run twice for a call, hooks that run together in a fan-out.
test("law 1 on an engine: every run always ends within its limits with a valid conversation, and keeps the rules of steps", async () => {
  await fc.assert(
    fc.asyncProperty(world(), async (w) => {
      const engine = memoryEngine();
      const built = build(w, { engine });
      const result = await within(built.run(w.prompt));
      assertLawful(w, built, result);
      assert.deepEqual(engine.broken, []);
    }),
    { numRuns: tries(18, 1000, 60) },
  );
});

// Kills: a result that is not JSON, a field that a journal loses.
test("law 1 on a journal: a run is always the same run once more out of the journal alone: no model, tool or hook is asked", async () => {
  await fc.assert(
    fc.asyncProperty(steady(), async (w) => {
      const journal: Journal = new Map();
      const built = build(w, { engine: memoryEngine(journal) });
      const result = await within(built.run(w.prompt));
      assertLawful(w, built, result);
      const again = memoryEngine(journal);
      const silent = build({ ...w, replies: [], then: { error: "invalid_request_error" } }, { engine: again });
      assert.deepEqual(await within(silent.run(w.prompt)), result);
      assert.deepEqual([again.ran, again.broken, silent.called, silent.model.requests], [[], [], [], []]);
    }),
    { numRuns: tries(10, 300, 20) },
  );
});

/** Worlds in which nothing depends on how long something took, nor on what a dead process had in mind. */
function steady(): fc.Arbitrary<World> {
  const prompt = hook.map((h): typeof h => ({
    ...h,
    mode: h.mode === "async" ? "observe" : h.mode,
    deeds: h.deeds.map((d) =>
      d.do === "hang" ? { do: "throw", what: "error", later: false } : d.do === "answer" ? { ...d, slow: 0 } : d
    ),
  }));
  return world({ hanging: false, hooks: prompt }).map((
    { limits: { seconds: _, ...limits }, ...w },
  ) => ({
    ...w,
    limits,
  }));
}

/** What one process finished, no later one runs. */
function assertFinishedOnce(engines: readonly MemoryEngine[]): void {
  const finished = engines.flatMap((engine) => engine.finished);
  assert.equal(new Set(finished).size, finished.length);
  for (const [n, engine] of engines.entries()) {
    const later = new Set(engines.slice(n + 1).flatMap(({ ran }) => ran));
    for (const name of engine.finished) {
      assert.ok(!later.has(name), `${name} had finished and ran again`);
    }
  }
}

const deaths = (where: readonly Death["where"][]): fc.Arbitrary<Death[]> =>
  fc.array(
    fc.record({ at: fc.nat({ max: 12 }), where: fc.constantFrom(...where) }),
    { minLength: 1, maxLength: 6 },
  );

// Kills: a clock, a chance or a count that is read outside a step; a hook that is asked again; a reply made twice.
test("law 5: a run whose process dies at any steps, any number of times, always ends as one without interruptions", async () => {
  await fc.assert(
    fc.asyncProperty(steady(), deaths(["before", "after"]), async (w, at) => {
      const whole = await within(
        build(w, { engine: memoryEngine() }).run(w.prompt),
      );
      let last: Built | undefined;
      const { result, engines } = await within(untilDone(at, (engine) => {
        last = build(w, { engine, ...(last && { among: last.surroundings }) });
        return last.run(w.prompt);
      }));
      assert.deepEqual(withoutMarks(result), withoutMarks(whole));
      assert.deepEqual(engines.flatMap(({ broken }) => broken), []);
      assertFinishedOnce(engines);
    }),
    { numRuns: tries(25, 1500, 80) },
  );
});

// Kills: ids of agents that change, reports in another order, an answer of a person that is asked for again.
test("law 5: a family of agents that dies in the middle of steps always ends the same, and asks a person once", async () => {
  using folder = scratch();
  const log = join(folder.path, "effects.jsonl");
  const run = (engine: Engine, asked: string[]) =>
    family(log, { ms: 0, step: engine }).run("parent", {
      id: "p",
      permissionAsker: async ({ key }) => {
        asked.push(key!);
        return { behavior: "allow" };
      },
    });
  const whole = await run(memoryEngine(), []);
  assert.equal(whole.text, "parent done");
  await fc.assert(
    fc.asyncProperty(deaths(["before", "in flight", "after"]), async (at) => {
      const asked: string[] = [];
      const { result, engines } = await untilDone(
        at,
        (engine) => run(engine, asked),
      );
      assert.deepEqual(withoutMarks(result), withoutMarks(whole));
      assert.deepEqual(engines.flatMap(({ broken }) => broken), []);
      assertFinishedOnce(engines);
      assert.equal(new Set(asked).size, 1);
    }),
    { numRuns: tries(10, 400, 25) },
  );
});
