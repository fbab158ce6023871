import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { text } from "../../lib/core/messages.ts";
import { readRollout, rolloutWriter } from "../../lib/transcript/rollout.ts";
import { RUNTIME } from "../_runtime.ts";
import { scratch } from "../_scratch.ts";

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

test("a log that can no longer be written is reported once, and never ends the run", () => {
  using folder = scratch();
  const path = join(folder.path, "run.jsonl");
  const said: string[] = [];
  const log = rolloutWriter(path, "a", () => 0);
  const warn = (message: string) => said.push(message);
  log.write({ type: "warning", agent_id: "a", message: "one" }, warn);
  // What cannot be written down at all stands for a disk that takes nothing.
  log.write({ type: "warning", agent_id: "a", message: 1n as unknown as string }, warn);
  log.write({ type: "warning", agent_id: "a", message: "three" }, warn);
  log.close();
  assert.equal(said.length, 1);
  assert.match(said[0]!, /^Cannot write the log .*run\.jsonl as .*: it ends there, and the run goes on$/);
  assert.deepEqual(readRollout(path).lines.map((line) => "message" in line && line.message), ["one"]);
  assert.ok(readFileSync(path, "utf8").endsWith("\n"));
});
