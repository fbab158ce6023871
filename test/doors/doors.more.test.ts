import assert from "node:assert/strict";
import { test } from "node:test";
import { scratch } from "../_scratch.ts";
import { CASES, runDoors } from "./_doors.ts";

test("DOORS: at every door each decision is the same, as processes see it", { timeout: 1_800_000 }, async () => {
  using folder = scratch();
  const rows = await runDoors(CASES, folder.path);
  assert.equal(rows.length, CASES.length);
  assert.deepEqual(rows.filter(({ ok }) => !ok).map(({ id, why }) => `${id}: ${why}`), []);
});
