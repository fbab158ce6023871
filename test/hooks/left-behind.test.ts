import assert from "node:assert/strict";
import { chmodSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { agent } from "crochet";
import { scripted } from "crochet/testing";
import { scratch } from "../_scratch.ts";
import { until } from "../_until.ts";

const LEAVES = `#!/bin/sh
sleep 600 > /dev/null 2>&1 &
echo $! > "$CLAUDE_PROJECT_DIR/left.pid"
`;

function isRunning(pid: number): boolean {
  try {
    // A zombie has ended: its parent has only not looked yet.
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}

test("what a hook left running in the background ends with the run, and not before", async () => {
  for (const kind of ["command", "module"] as const) {
    using folder = scratch({
      ...(kind === "command" && { "hooks/turn-start.leave.sh": LEAVES }),
      ...(kind === "module" && {
        "leave.sh": LEAVES,
        "hooks/turn-start.leave.ts": `export default async (_, { $, cwd }) => {
          await $("env", ["CLAUDE_PROJECT_DIR=" + cwd, "sh", cwd + "/leave.sh"]);
        };`,
      }),
    });
    if (kind === "command") chmodSync(join(folder.path, "hooks/turn-start.leave.sh"), 0o755);
    let before: boolean | undefined;
    const pid = () => Number(readFileSync(join(folder.path, "left.pid"), "utf8"));
    const helper = agent({
      model: scripted([{ text: "done" }]),
      cwd: folder.path,
      hooks: [join(folder.path, "hooks"), { stop: () => void (before = isRunning(pid())) }],
    });
    assert.equal((await helper.run("go")).stop, "done", kind);
    assert.equal(before, true, kind);
    await until(`${kind} ends`, () => !isRunning(pid()));
  }
});
