import assert from "node:assert/strict";
import { chmodSync, cpSync, existsSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { discover } from "../../../lib/hooks/discover.ts";
import { mutantsOf } from "../../../lib/extensions/check/mutants/mutate.ts";
import { sidecarsOf } from "../../../lib/hooks/file/example-files.ts";
import { checkHook, type CheckReport, runExamples } from "../../../lib/testing/index.ts";
import { rounds } from "../../_counts.ts";
import { scratch } from "../../_scratch.ts";

const HOOKS = fileURLToPath(new URL("../../../hooks", import.meta.url));

let checked: Promise<CheckReport> | undefined;

/** All hooks we ship, held to all laws once for all tests here. */
function shipped(): Promise<CheckReport> {
  return checked ??= checkHook(HOOKS, {
    runs: rounds(50, 500),
    seed: 2026,
    rounds: rounds(12, 50),
    timeout: 20,
    time: 3600,
  });
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

/** Mutants that answer as the hook does: a notification and the start of a session cannot be refused. */
const EQUIVALENT = [/desktop\.sh .*exit 2$/, /git-status\.sh .*exit 2$/];

test("the examples of every hook we ship catch its mutants", { timeout: 3_600_000 }, async () => {
  using folder = scratch();
  const survived: string[] = [];
  let judged = 0;
  for (const file of discover(HOOKS).files) {
    for (const sidecar of sidecarsOf(file.at).filter((path) => existsSync(path))) {
      cpSync(sidecar, join(folder.path, basename(sidecar)));
    }
    const path = join(folder.path, file.name);
    const mutants = mutantsOf(file);
    const step = Math.ceil(mutants.length / rounds(3, 1000));
    for (const { text, line, was, is } of mutants.filter((_, i) => i % step === 0)) {
      writeFileSync(path, text);
      chmodSync(path, 0o755);
      // What does not load does not count.
      const results = await runExamples(path).catch(() => undefined);
      if (results) judged++;
      if (results?.every(({ ok }) => ok)) survived.push(`${file.name} line ${line}: ${was} → ${is}`);
    }
  }
  assert.ok(judged > 20, "few mutants were judged");
  assert.deepEqual(survived.filter((one) => !EQUIVALENT.some((known) => known.test(one))), []);
});
