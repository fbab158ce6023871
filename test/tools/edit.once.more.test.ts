import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { BOTH_RUNTIMES, oneIsMissing } from "../_both-runtimes.ts";
import { rounds } from "../_counts.ts";
import { script } from "./_edit-scripts.ts";
import { inWorkspace } from "./_workspace.ts";

test("P21, P26: Edit always gives the same result on Bun and on Deno, in any directory and locale", {
  skip: oneIsMissing,
}, () =>
  inWorkspace((root) => {
    const ways = [{ LANG: "C", TZ: "UTC", cwd: root }, { LANG: "tr_TR.UTF-8", TZ: "Asia/Kathmandu", cwd: "/" }];
    const outputs = BOTH_RUNTIMES.map(([program, ...args], i) => {
      const { cwd, ...env } = ways[i]!;
      const directory = join(root, String(i));
      mkdirSync(directory);
      const { status, stdout, stderr } = spawnSync(program, [
        ...args,
        script("_edit-battery.ts"),
        directory,
        String(rounds(300, 3000)),
      ], {
        cwd,
        env: { ...process.env, ...env, LC_ALL: env.LANG },
        encoding: "utf8",
        maxBuffer: 1 << 28,
      });
      assert.equal(status, 0, stderr);
      return stdout.split("\n");
    });
    assert.ok(outputs[0]!.length > 300);
    assert.deepEqual(outputs[1], outputs[0]);
  }));
