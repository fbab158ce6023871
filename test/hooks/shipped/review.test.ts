import assert from "node:assert/strict";
import { test } from "node:test";
import { textOf } from "../../../lib/core/messages.ts";
import { scripted } from "../../../lib/models/scripted.ts";
import { served, shipped } from "./_shipped.ts";

const NAME = "pre-tool-use@Edit+Write.review.prompt.md";
const EDIT = { file_path: "/p/a.test.ts", old_string: "assert(x)", new_string: "" };

test("review shows the change to a model and refuses what it refuses", async () => {
  const model = scripted([{ text: '{"action": "deny", "reason": "It removes an assertion"}' }]);
  const { call } = await shipped(NAME, "/p", { model });
  const { decision, reason } = await call("Edit", EDIT);
  assert.equal(decision, "deny");
  assert.equal(reason, "It removes an assertion");
  const asked = textOf(model.requests[0]!.messages[0]!);
  assert.match(asked, /File: \/p\/a\.test\.ts/);
  assert.match(asked, /"old_string":"assert\(x\)"/);
});

test("review lets a change pass if the model has no objection, and is off without a model, with a warning", async () => {
  const { call } = await shipped(NAME, "/p", { model: scripted([{ text: '{"action": "continue"}' }]) });
  assert.equal((await call("Edit", EDIT)).decision, "continue");
  const off = await (await shipped(NAME, "/p")).call("Edit", EDIT);
  assert.match(off.runs[0]!.skipped!, /no model to ask/);
  const { code, stdout, stderr } = await served(NAME, {
    hook_event_name: "PreToolUse",
    tool_name: "Edit",
    tool_input: EDIT,
  }, {
    env: {},
  });
  assert.deepEqual({ code, stdout }, { code: 1, stdout: "" });
  assert.match(stderr, /^Prompt hooks are off as there is no model to ask/);
});
