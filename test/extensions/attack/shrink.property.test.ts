import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { CandidateStep } from "../../../lib/extensions/attack/grammar/types.ts";
import { type Breaks, shrink } from "../../../lib/extensions/attack/shrink.ts";
import { tries } from "../../_counts.ts";
import { names, TOY, wordsOf } from "./_toy-grammar.ts";

const one = (letter: string) => fc.constantFrom(...names(letter));
const step: fc.Arbitrary<CandidateStep> = fc.record(
  {
    operation: one("o"),
    rewritings: fc.array(one("r"), { maxLength: 3 }),
    spelling: one("s"),
    plan: one("p"),
    mined: one("m"),
  },
  { requiredKeys: ["operation", "rewritings"] },
);

// Kills: a shrinker that leaves out no rewriting, no other part, no step or no call.
test("what is left of a finding always breaks the property, and never without one of its calls, rewritings or other parts", async () => {
  let shrunk = 0;
  const law = async (steps: CandidateStep[], picks: number[]) => {
    const calls = TOY.build({ steps })!;
    const words = wordsOf(calls);
    const needed = [...new Set(picks.map((i) => words[i % words.length]!))];
    const breaks: Breaks = (some) => Promise.resolve(needed.every((word) => wordsOf(some).includes(word)));
    const left = await shrink({ candidate: { steps }, calls }, TOY, breaks);
    assert.ok(await breaks(left.calls));
    for (const i of left.calls.keys()) {
      assert.ok(left.calls.length === 1 || !await breaks(left.calls.toSpliced(i, 1)), `call ${i} is not needed`);
    }
    const { steps: kept } = left.candidate;
    for (const i of kept.keys()) {
      const fewer = TOY.build({ steps: kept.toSpliced(i, 1) })!;
      assert.ok(kept.length === 1 || !await breaks(fewer), `step ${i} is not needed`);
    }
    const parts = kept.flatMap(({ operation: _, ...rest }) => Object.values(rest).flat());
    assert.deepEqual(parts.sort(), needed.filter((word) => !word.startsWith("o")).sort());
    if (parts.length > 0 && left.calls.length < calls.length) shrunk++;
  };
  const picks = fc.array(fc.nat(), { minLength: 1, maxLength: 3 });
  await fc.assert(fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 3 }), picks, law), {
    numRuns: tries(200, 5000),
  });
  assert.ok(shrunk > 10, `${shrunk}`);
});
