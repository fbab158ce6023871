import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const INDEX = fileURLToPath(new URL("../../lib/index.ts", import.meta.url));

for (const [runtime, args] of [["bun", ["-e"]], ["deno", ["eval"]]] as const) {
  test(`importing crochet under ${runtime} never prints and leaves nothing open`, () => {
    const script = `await import(${JSON.stringify(INDEX)})`;
    const { stdout, stderr, status } = spawnSync(runtime, [...args, script], { encoding: "utf8", timeout: 300_000 });
    assert.deepEqual({ stdout, stderr, status }, { stdout: "", stderr: "", status: 0 });
  });
}
