import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { EXEMPT, LAST, trace } from "../trace.ts";

const SEEDS = new URL("../../../shared/SEEDS.md", import.meta.url);

test("every founding requirement and every rule is named by the title of a test", () => {
  assert.deepEqual([...trace()].filter(([, tests]) => tests.length === 0).map(([number]) => number), []);
});

test("the numbers that are traced are those that were asked for", {
  skip: existsSync(SEEDS) ? false : "the founding requirements are not here",
}, () => {
  const asked = [...readFileSync(SEEDS, "utf8").matchAll(/^- (S\d\.)(\d+) \[([A-Z])\]/gm)];
  for (const [seed, last] of Object.entries(LAST).filter(([seed]) => seed !== "U")) {
    assert.equal(Math.max(...asked.filter((m) => m[1] === seed).map((m) => Number(m[2]))), last);
  }
  assert.deepEqual(asked.filter((m) => "NFI".includes(m[3]!)).map((m) => m[1]! + m[2]).sort(), [...EXEMPT].sort());
});
