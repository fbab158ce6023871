import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { rounds } from "../_counts.ts";
import { matched } from "./_matched.ts";

const OUTCOMES = ["success", "failure", "interrupted", "denied", "invalid"] as const;
const calls = fc.array(
  fc.record({
    name: fc.constantFrom("A", "B"),
    input: fc.record({ x: fc.constantFrom("1", "2") }),
    outcome: fc.constantFrom(...OUTCOMES),
  }),
  { maxLength: 7 },
);
const pattern = fc.tuple(
  fc.constantFrom("A", "B"),
  fc.option(fc.constantFrom({ x: "1" }, { x: /[12]/ }, { x: /2/ }), { nil: undefined }),
);
type One = { readonly name: string; readonly input: { readonly x: string }; readonly outcome: string };

/** By the law's own words: it ran, its name is that, its field fits. */
const fits = ({ name, input, outcome }: One, [tool, wanted]: readonly [string, { x: string | RegExp } | undefined]) =>
  !/denied|invalid/.test(outcome) && name === tool &&
  (wanted === undefined || (wanted.x instanceof RegExp ? wanted.x.test(input.x) : wanted.x === input.x));

/** Every way to choose calls in order, tried one after the other. */
const subsequence = (all: readonly One[], wanted: readonly Parameters<typeof fits>[1][]): boolean =>
  wanted.length === 0 ||
  all.some((one, i) => fits(one, wanted[0]!) && subsequence(all.slice(i + 1), wanted.slice(1)));

// Kills: taking the last call that fits, using one call twice, not skipping what was denied.
test("toHaveCalledInOrder() always agrees with a search of all subsequences", () => {
  const seen = { true: 0, false: 0 };
  fc.assert(
    fc.property(calls, fc.array(pattern, { minLength: 1, maxLength: 4 }), (run, wanted) => {
      const expected = subsequence(run, wanted);
      seen[`${expected}`]++;
      assert.equal(matched("toHaveCalledInOrder", run, wanted).pass, expected);
    }),
    { numRuns: rounds(300, 5_000) },
  );
  assert.ok(seen.true > 20 && seen.false > 20, JSON.stringify(seen));
});

// Kills: counting a denied call as called, and counting it as neither.
test("toNeverHaveCalled() always says the opposite of toHaveCalled()", () => {
  const seen = { true: 0, false: 0 };
  fc.assert(
    fc.property(calls, pattern, (run, [tool, input]) => {
      const called = matched("toHaveCalled", run, tool, input).pass;
      seen[`${called}`]++;
      assert.equal(called, run.some((one) => fits(one, [tool, input])));
      assert.equal(matched("toNeverHaveCalled", run, tool, input).pass, !called);
    }),
    { numRuns: rounds(200, 2_000) },
  );
  assert.ok(seen.true > 20 && seen.false > 20, JSON.stringify(seen));
});
