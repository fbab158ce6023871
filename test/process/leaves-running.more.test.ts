import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { LIB, OUR_RUNTIME } from "../_runtime.ts";
import { scratch } from "../_scratch.ts";
import { isAlive, until } from "../_until.ts";

test("U13: a command that a file of tests leaves running ends with the runner, as it does with any process", async () => {
  using folder = scratch();
  const lib = JSON.stringify(join(LIB, "process/process.ts"));
  const line = JSON.stringify(`trap '' TERM; echo $$ > pid; while :; do sleep 0.1; done`);
  const path = join(folder.path, "left.test.mjs");
  writeFileSync(
    path,
    `import { test } from "node:test"; import { existsSync, statSync } from "node:fs";
    import { startGroup } from ${lib};
    test("it leaves a command", async () => {
      startGroup({ command: ${line}, cwd: ${JSON.stringify(folder.path)}, env: process.env });
      while (!existsSync("pid") || statSync("pid").size === 0) await new Promise((r) => setTimeout(r, 9));
    });`,
  );
  const [program, ...words] = OUR_RUNTIME;
  const ran = spawnSync(program, ["test", ...words.slice(1), path], { cwd: folder.path, encoding: "utf8" });
  assert.equal(ran.status, 0, ran.stdout + ran.stderr);
  await until("the command ends", () => !isAlive(join(folder.path, "pid")));
});
