import assert from "node:assert/strict";
import { test } from "node:test";
import { commands } from "../../lib/cli/main.ts";
import { SMOKE } from "../cli/_smoke.ts";

test("no command is without a test that starts it as a process", async () => {
  assert.deepEqual(Object.keys(await commands()).filter((name) => !Object.hasOwn(SMOKE, name)), []);
});
