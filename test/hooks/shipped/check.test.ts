import assert from "node:assert/strict";
import { test } from "node:test";
import { discover } from "../../../lib/hooks/discover.ts";
import { checkHook, type CheckReport } from "../../../lib/testing/index.ts";
import { rounds } from "../../_counts.ts";
import { SHIPPED } from "./_shipped.ts";

const { files } = discover(SHIPPED);

let report: Promise<CheckReport> | undefined;

/** All of them side by side, once. */
function checked(): Promise<CheckReport> {
  return report ??= checkHook(SHIPPED, { runs: rounds(50, 500), seed: 1, rounds: rounds(20, 50) });
}

for (const { name } of files) {
  test(`shipped ${name} breaks no law of the check`, { timeout: 3_600_000 }, async () => {
    const { hooks, problems } = await checked();
    assert.deepEqual(problems, []);
    const own = hooks.filter(({ hook }) => hook === name);
    assert.equal(own.length, 1);
    assert.equal(own[0]!.skipped, undefined);
    const faults = own[0]!.findings.filter(({ severity }) => severity === "fault");
    assert.deepEqual(faults.map(({ code, message, counterexample }) => [code, message, counterexample]), []);
  });
}
