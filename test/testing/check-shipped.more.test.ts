import assert from "node:assert/strict";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { checkHook, type CheckReport } from "../../lib/testing/index.ts";
import { rounds } from "../_counts.ts";

const HOOKS = fileURLToPath(new URL("../../hooks", import.meta.url));

let checked: Promise<CheckReport> | undefined;

/** All hooks we ship, held to all laws once for all tests here. */
function shipped(): Promise<CheckReport> {
  return checked ??= checkHook(HOOKS, { runs: rounds(50, 500), seed: 2026, rounds: rounds(12, 50), timeout: 20 });
}

test("every hook we ship passes the check, and every stop hook lets go", { timeout: 3_600_000 }, async () => {
  const { ok, hooks, problems } = await shipped();
  const faults = hooks.flatMap(({ findings }) => findings).filter(({ severity }) => severity === "fault");
  assert.deepEqual(faults.map(({ hook, code, message }) => `${hook} ${code}: ${message}`), []);
  assert.deepEqual(problems, []);
  assert.ok(ok);
  const stops = hooks.filter(({ events }) => events.includes("Stop"));
  assert.deepEqual(stops.map(({ hook, termination }) => [hook, termination?.verdict, termination?.letsGo]), [
    ["stop.no-todo-left.ts", "not refuted", "by itself"],
    ["stop.tests-pass.ts", "not refuted", "by itself"],
  ]);
});

test(
  "what can be said against the hooks we ship is only that guards look at texts",
  { timeout: 3_600_000 },
  async () => {
    const { hooks } = await shipped();
    const warnings = hooks.flatMap(({ findings }) => findings.map(({ hook, code }) => `${hook} ${code}`));
    // That one is slow is said of the machine too.
    const known = [/git-safety.* guard\.bypass/, /guard\.rules\.yaml guard\.bypass/, /slow\.answers/];
    assert.deepEqual(warnings.filter((warning) => !known.some((one) => one.test(warning))), []);
  },
);
