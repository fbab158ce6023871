import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { text } from "../../../lib/core/messages.ts";
import { RUNTIME } from "../../_runtime.ts";
import { scratch } from "../../_scratch.ts";

const CHILD = fileURLToPath(new URL("_filling-disk.ts", import.meta.url));
const NO_LIMIT = spawnSync("prlimit", ["--version"]).status === 0 ? false : "there is no prlimit here";

/** A process whose files stop growing at so many kilobytes: the write that passes it is cut, and the next one fails. */
function below(kilobytes: number, ...words: readonly string[]) {
  const line = `trap '' XFSZ; ulimit -S -f ${kilobytes}; exec "$@"`;
  return spawnSync("bash", ["-c", line, "bash", ...words], { encoding: "utf8" });
}

test(
  "U15: a line that was cut by a full disk never harms what is saved once there is room again",
  { skip: NO_LIMIT },
  () => {
    using folder = scratch();
    const { stdout, stderr } = below(40, ...RUNTIME, CHILD, folder.path);
    assert.deepEqual(JSON.parse(stdout || stderr), { failed: true, messages: [[text("first")], [text("second")]] });
  },
);
