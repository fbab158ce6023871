import assert from "node:assert/strict";
import { test } from "node:test";
import { budget, type Lines, linesNow, overBudget } from "./budget.ts";

test("no part of the house has more lines than its budget", () => {
  assert.deepEqual(overBudget(linesNow(), budget()), []);
});

test("the lines of lib are those of its rooms, its extensions, and the few files beside them", () => {
  const { lib, kernel, test: _, ...parts } = linesNow();
  const sum = (of: RegExp) =>
    Object.entries(parts).reduce((all, [part, count]) => of.test(part) ? all + count : all, 0);
  assert.equal(kernel, lib! - sum(/^lib\/extensions\//));
  const beside = lib! - sum(/^lib\//);
  assert.ok(beside > 0 && beside < 400, `index.ts and the lists of extensions have ${beside} lines`);
});

test("what is over its budget is named with its numbers and what to do", () => {
  const rows: readonly (readonly [lines: Lines, budget: Lines, says: string])[] = [
    [
      { "lib/hooks": 11_760 },
      { "lib/hooks": 11_700 },
      "lib/hooks has 11,760 lines, and its budget is 11,700: remove as much as you add, or make it an extension (docs/how-to-add.md)",
    ],
    [
      { kernel: 55_001 },
      { kernel: 55_000 },
      "kernel has 55,001 lines, and its budget is 55,000: remove as much as you add, or make it an extension (docs/how-to-add.md)",
    ],
    [
      { "lib/extensions/attack": 2, lib: 9, test: 5 },
      { "lib/extensions/attack": 1, lib: 9, test: 5 },
      "lib/extensions/attack has 2 lines, and its budget is 1: remove as much as you add (docs/how-to-add.md)",
    ],
    [{ "lib/new": 1 }, {}, "lib/new has no budget: write it into test/house/budget.json"],
    [{}, { "lib/old": 1 }, "lib/old is gone: remove its line in test/house/budget.json"],
  ];
  for (const [lines, budget, says] of rows) assert.deepEqual(overBudget(lines, budget), [says]);
});
