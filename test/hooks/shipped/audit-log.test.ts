import assert from "node:assert/strict";
import { readFileSync, statSync } from "node:fs";
import { test } from "node:test";
import { scratch } from "../../_scratch.ts";
import { POST } from "../_fire.ts";
import { shipped } from "./_shipped.ts";

const NAME = "post-tool-use.audit-log.ts";

test("audit-log writes down successes and failures, a line each, and says nothing", async () => {
  using folder = scratch();
  const { fire, call } = await shipped(NAME, folder.path);
  const folded = await call("Bash", { command: "npm test" }, "post-tool-use");
  assert.deepEqual([folded.decision, folded.contexts], ["continue", []]);
  await fire({ ...POST, outcome: "failure", failed: true, error: "x" });
  const file = `${folder.path}/.crochet/audit.jsonl`;
  const lines = readFileSync(file, "utf8").trimEnd().split("\n").map((line) => JSON.parse(line));
  assert.deepEqual(lines.map((l) => [l.tool_name, l.about, l.outcome]), [
    ["Bash", "npm test", "success"],
    ["Bash", "ls", "failure"],
  ]);
  assert.equal(statSync(file).mode & 0o077, 0);
});

test("audit-log never keeps contents or what looks like a secret", async () => {
  using folder = scratch();
  const { call } = await shipped(NAME, folder.path);
  const token = ["gh", "p_", "aB3dE6gH9jK2mN5pQ8sT1vW4xY7zC0fI0000"].join("");
  await call("Write", { file_path: "/p/a.ts", content: `const password = "hunter22"` }, "post-tool-use");
  await call("Bash", { command: `curl -H "Authorization: Bearer ${token}" x` }, "post-tool-use");
  await call("Bash", { command: "PASSWORD=hunter22 psql postgres://me:hunter22@db/x" }, "post-tool-use");
  await call("Bash", { command: `git clone https://${token}@example.org/x` }, "post-tool-use");
  const log = readFileSync(`${folder.path}/.crochet/audit.jsonl`, "utf8");
  assert.ok(!log.includes("hunter22"), log);
  assert.ok(!log.includes(token), log);
  assert.equal(log.split("\n").length, 5);
});
