import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { processStat } from "../../lib/process/owner.ts";
import { runProcess } from "../../lib/process/process.ts";
import { scratch } from "../_scratch.ts";
import { until } from "../_until.ts";

const skip = process.platform === "linux" ? false : "only Linux tells who started a process whose parents are gone";

/** Leaves by a session of its own and, in a shell that ends, by its parents too; one of them does not want to end. */
const LEAVES = `setsid sh -c 'echo $$ > one; exec sleep 60' &
(setsid sh -c 'echo $$ > two; trap "" TERM; while :; do sleep 1; done' > /dev/null 2>&1 < /dev/null &)
while [ ! -s one ] || [ ! -s two ]; do sleep 0.02; done
touch ready
`;

async function started(folder: string, more: string, ended: { signal: AbortSignal } | { timeout: number }) {
  const env = { PATH: process.env.PATH };
  const result = await runProcess({ command: `${LEAVES}${more}`, cwd: folder, env, ...ended });
  const pids = ["one", "two"].map((name) => Number(readFileSync(join(folder, name), "utf8")));
  return { result, pids, isAlive: () => pids.map((pid) => processStat(pid) !== undefined) };
}

for (const how of ["timeout", "aborted"] as const) {
  test(`DOORS 17: what a command left behind by setsid is ended after it was ended: ${how}`, { skip }, async () => {
    using folder = scratch();
    const stop = new AbortController();
    const isReady = () => existsSync(join(folder.path, "ready"));
    const aborting = how === "aborted" ? until("it is ready", isReady).then(() => stop.abort()) : undefined;
    const ends = how === "aborted" ? { signal: stop.signal } : { timeout: 1500 };
    const { result, isAlive } = await started(folder.path, "sleep 60", ends);
    await aborting;
    assert.equal(result.ended, how);
    await until("both have ended", () => isAlive().every((alive) => !alive));
  });
}

test(
  "DOORS 17: what a command that ended by itself left behind by setsid stays, as it may be wanted",
  { skip },
  async () => {
    using folder = scratch();
    const { result, pids, isAlive } = await started(folder.path, "exit 0", { timeout: 60_000 });
    assert.deepEqual([result.code, result.ended, isAlive()], [0, undefined, [true, true]]);
    for (const pid of pids) process.kill(pid, "SIGKILL");
  },
);
