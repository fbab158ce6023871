import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type OwnRules, ruleDrifts, rulesNow } from "../../lib/permissions/rule-drift.ts";
import { rounds } from "../_counts.ts";

const rule = fc.constantFrom("Bash(curl *)", "Bash(echo *)", "Read", "Write(a/**)", "Edit");
const list = fc.uniqueArray(rule, { maxLength: 3 });
const rules = fc.record({
  mode: fc.constantFrom("default" as const, "acceptEdits" as const, "plan" as const),
  allow: list,
  ask: list,
  deny: list,
});
const own: fc.Arbitrary<OwnRules> = fc.record({ script: rules }, { requiredKeys: [] });

// Kills: comparing lists by their order, or taking a rule that a person added for the program's.
test("rules in another order or written twice never drift, and what a flag or a person added always stays", () => {
  fc.assert(
    fc.property(own, list, (was, added) => {
      const { script: { mode, allow = [], ask = [], deny = [] } = {} } = was;
      const twice = (all: readonly string[]) => [...all].reverse().flatMap((one) => [one, one]);
      const is: OwnRules = {
        script: { ...(mode && { mode }), allow: twice(allow), ask: twice(ask), deny: twice(deny) },
      };
      assert.deepEqual(ruleDrifts(was, is), []);
      const others = added.filter((one) => !deny.includes(one));
      const now = rulesNow({ ...(mode && { mode }), deny: [...deny, ...others] }, was, is);
      assert.deepEqual([...now.deny!].sort(), [...new Set([...deny, ...others])].sort());
      assert.equal(now.mode, mode);
    }),
    { numRuns: rounds(100, 1000) },
  );
});

// Kills: reporting what lets less through, and passing over what lets more through.
test("what lets more through than then always drifts, and what lets less through never does", () => {
  let drifted = 0;
  fc.assert(
    fc.property(rules, rules, (was, is) => {
      const found = ruleDrifts({ script: was }, { script: is }).map(({ path, expected, actual }) => [
        path.replace("permissions.", ""),
        expected ?? actual,
      ]);
      const wanted = [
        ...(was.mode === is.mode ? [] : [["mode", was.mode]]),
        ...(["deny", "ask"] as const).flatMap((kind) =>
          was[kind].filter((one) => !is[kind].includes(one)).map((one) => [kind, one])
        ),
        ...is.allow.filter((one) => !was.allow.includes(one)).map((one) => ["allow", one]),
      ];
      assert.deepEqual(found, wanted);
      if (found.length > 0) drifted++;
    }),
    { numRuns: rounds(100, 1000) },
  );
  assert.ok(drifted > 20, `only ${drifted} drifted`);
});
