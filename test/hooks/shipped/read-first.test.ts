import assert from "node:assert/strict";
import { symlinkSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { scratch } from "../../_scratch.ts";
import { claudeCall, served, shipped } from "./_shipped.ts";

const NAME = "pre-tool-use@Edit+Write.read-first.ts";

test("read-first refuses to change a file that was not read, and allows it once it was", async () => {
  using folder = scratch();
  const file_path = `${folder.path}/a.ts`;
  writeFileSync(file_path, "x");
  symlinkSync(file_path, `${folder.path}/link.ts`);
  const { call } = await shipped(NAME, folder.path);
  const edit = { file_path, old_string: "x", new_string: "y" };
  assert.equal((await call("Edit", edit)).decision, "deny");
  await call("Read", { file_path: `${folder.path}/link.ts` }, "post-tool-use");
  assert.equal((await call("Edit", edit)).decision, "continue");
});

test("read-first lets new files be written, and then changed", async () => {
  using folder = scratch();
  const { call } = await shipped(NAME, folder.path);
  const file_path = `${folder.path}/new.ts`;
  assert.equal((await call("Write", { file_path, content: "x" })).decision, "continue");
  writeFileSync(file_path, "x");
  await call("Write", { file_path, content: "x" }, "post-tool-use");
  assert.equal((await call("Edit", { file_path, old_string: "x", new_string: "y" })).decision, "continue");
});

test("read-first remembers across the processes of another host, session by session", async () => {
  using folder = scratch();
  const file_path = `${folder.path}/a.ts`;
  writeFileSync(file_path, "x");
  const env = { ...process.env, CROCHET_HOME: `${folder.path}/state` };
  const edit = claudeCall("Edit", { file_path, old_string: "x", new_string: "y" }, folder.path);
  const read = {
    ...edit,
    hook_event_name: "PostToolUse",
    tool_name: "Read",
    tool_input: { file_path },
    tool_response: {},
  };
  assert.match((await served(NAME, edit, { env })).stdout, /"permissionDecision":"deny"/);
  assert.equal((await served(NAME, read, { env })).stdout, "");
  assert.equal((await served(NAME, edit, { env })).stdout, "");
  assert.match((await served(NAME, { ...edit, session_id: "other" }, { env })).stdout, /"deny"/);
});
