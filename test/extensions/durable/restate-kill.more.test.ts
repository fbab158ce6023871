import assert from "node:assert/strict";
import { test } from "node:test";
import { rounds } from "../../_counts.ts";
import { onEngine } from "./_restate.ts";

const { options, printed } = onEngine();

/** Each thing an agent does takes this long: the short one for every day, the long one to be killed in many places. */
const MS = rounds(30, 100);

async function driven(scenario: string): Promise<{ ends: string[]; steps: number; again: string[] }> {
  return JSON.parse(await printed("_restate-drive.ts", scenario, String(MS)));
}

const WORKERS = Array<string>(8).fill("done: worker done");

async function assertWorkers(scenario: string): Promise<void> {
  for (let round = 0; round < rounds(1, 3); round++) {
    const { ends, steps } = await driven(scenario);
    assert.deepEqual(ends, WORKERS);
    assert.equal(steps, 8 * 11);
  }
}

test(
  "Restate: 8 agents of 11 steps end though their worker is killed and started again; only steps in flight run again",
  options,
  () => assertWorkers("restarted"),
);

test(
  "Restate: a dead worker's agents go on at another worker of its address by themselves",
  options,
  () => assertWorkers("moved"),
);

test(
  "Restate: agents end though the server is killed and started again; only steps in flight run again",
  options,
  () => assertWorkers("server"),
);

test(
  "Restate: parents with three children, four calls at once and an approval end though worker and server are killed",
  options,
  async () => {
    for (let round = 0; round < rounds(1, 3); round++) {
      const { ends } = await driven("family");
      assert.deepEqual(ends, ["done: parent done", "done: parent done"]);
    }
  },
);
