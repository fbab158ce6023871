import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { thisOwner } from "../../../lib/process/owner.ts";
import { tries } from "../../_counts.ts";
import { RUNTIME } from "../../_runtime.ts";
import { scratch } from "../../_scratch.ts";

const CHILD = fileURLToPath(new URL("./_claimer.ts", import.meta.url));

/** A process that claims, and a way to have its next line. */
function claimer(dir: string): { child: ChildProcess; next: () => Promise<string | undefined> } {
  const child = spawn(RUNTIME[0], [...RUNTIME.slice(1), CHILD, dir], { stdio: ["pipe", "pipe", "inherit"] });
  const lines = createInterface({ input: child.stdout! })[Symbol.asyncIterator]();
  return { child, next: async () => (await lines.next()).value };
}

test("U15: of several processes that find a session whose process has ended, one alone always goes on with it", async () => {
  using folder = scratch();
  const claimers = Array.from({ length: 4 }, () => claimer(folder.path));
  try {
    await Promise.all(claimers.map(({ next }) => next()));
    const ended = thisOwner().replace(/^\d+-[^-]+/, "999999999-1");
    for (let n = 0; n < tries(100, 1000); n++) {
      symlinkSync(ended, join(folder.path, `s${n}.jsonl.claim`));
      for (const { child } of claimers) child.stdin!.write(`s${n}\n`);
      const got = await Promise.all(claimers.map(({ next }) => next()));
      assert.deepEqual(got.toSorted(), ["no", "no", "no", "yes"], `round ${n}`);
    }
  } finally {
    for (const { child } of claimers) child.kill("SIGKILL");
  }
});
