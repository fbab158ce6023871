import assert from "node:assert/strict";
import { test } from "node:test";
import { PROMPT } from "../_fire.ts";
import { shipped } from "./_shipped.ts";

test("date gives the agent the day and the time, and lets the prompt through", async () => {
  const folded = await (await shipped("user-prompt-submit.date.sh", "/tmp")).fire(PROMPT);
  assert.equal(folded.decision, "continue");
  assert.match(folded.contexts[0]!.text, /It is \w+day, \d{4}-\d\d-\d\d, \d\d:\d\d \S+\./);
});
