import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { test } from "node:test";
import { scratch } from "../../_scratch.ts";
import { STOP } from "../_fire.ts";
import { served, shipped } from "./_shipped.ts";

const NAME = "stop.tests-pass.ts";

function project(path: string, test: string): void {
  writeFileSync(`${path}/package.json`, JSON.stringify({ name: "p", scripts: { test } }));
}

test("tests-pass sends the agent back with the end of the output while the tests fail", async () => {
  using folder = scratch();
  project(folder.path, "echo 3 failing; echo 'a is not b' >&2; exit 1");
  const { decision, reason } = await (await shipped(NAME, folder.path)).fire(STOP);
  assert.equal(decision, "deny");
  assert.match(reason!, /^The tests fail \(npm test --silent\)/);
  assert.match(reason!, /3 failing[\s\S]*a is not b/);
});

test("tests-pass lets the agent stop once they pass, or if there are no tests", async () => {
  using folder = scratch();
  const { fire } = await shipped(NAME, folder.path);
  assert.equal((await fire(STOP)).decision, "continue");
  project(folder.path, 'echo "Error: no test specified" && exit 1');
  assert.equal((await fire(STOP)).decision, "continue");
  project(folder.path, "exit 0");
  assert.equal((await fire(STOP)).decision, "continue");
});

test("tests-pass runs the tests by Bun if Bun has installed the project, with or without settings for Deno", async () => {
  using folder = scratch({ "package.json": '{ "name": "p" }', "deno.json": "{}" });
  const { fire } = await shipped(NAME, folder.path);
  assert.match((await fire(STOP)).reason!, /^The tests fail \(deno test -A\)/, "there are none");
  writeFileSync(`${folder.path}/bun.lock`, "{}");
  assert.match((await fire(STOP)).reason!, /^The tests fail \(bun test\)/, "there are none");
});

test("tests-pass tells Claude Code to go on", async () => {
  using folder = scratch();
  project(folder.path, "exit 1");
  const input = { session_id: "s", cwd: folder.path, hook_event_name: "Stop", stop_hook_active: true };
  const env = { ...process.env, CROCHET_HOME: `${folder.path}/state` };
  const { output, code } = await served(NAME, input, { env });
  assert.equal(output?.decision, "block");
  assert.match(String(output?.reason), /^The tests fail/);
  assert.equal(code, 0);
});
