import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { Candidate, CandidateStep, Grammar } from "../../lib/attack/grammar/types.ts";
import { type Breaks, shrink } from "../../lib/attack/shrink.ts";
import { tries } from "../_counts.ts";

const names = (letter: string) => Array.from({ length: 4 }, (_, i) => ({ name: `${letter}${i}` }));

/** Calls that say what they are made of; a plan puts one before. */
const GRAMMAR = {
  ...{ operations: names("o"), rewritings: names("r"), spellings: names("s"), plans: names("p"), mined: names("m") },
  build: ({ steps }: Candidate) =>
    steps.flatMap(({ operation, rewritings, spelling = "", plan, mined = "" }) =>
      [...(plan === undefined ? [] : [plan]), [operation, ...rewritings, spelling, mined].join(" ")]
        .map((command) => ({ tool: "Bash", input: { command } }))
    ),
} as unknown as Grammar;

const one = (letter: string) => fc.constantFrom(...names(letter).map(({ name }) => name));
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
    const calls = GRAMMAR.build({ steps })!;
    const words = calls.flatMap(({ input }) => String(input.command).split(" ")).filter(Boolean);
    const needed = [...new Set(picks.map((i) => words[i % words.length]!))];
    const breaks: Breaks = (some) =>
      Promise.resolve(
        needed.every((word) => some.some(({ input }) => String(input.command).split(" ").includes(word))),
      );
    const left = await shrink({ candidate: { steps }, calls }, GRAMMAR, breaks);
    assert.ok(await breaks(left.calls));
    for (const i of left.calls.keys()) {
      assert.ok(left.calls.length === 1 || !await breaks(left.calls.toSpliced(i, 1)), `call ${i} is not needed`);
    }
    const { steps: kept } = left.candidate;
    for (const i of kept.keys()) {
      const fewer = GRAMMAR.build({ steps: kept.toSpliced(i, 1) })!;
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
