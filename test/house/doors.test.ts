/** How many commands and flags there are: one more needs one less, as nobody finds more than these. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { commands } from "../../lib/cli/main.ts";
import { typedIn } from "../_typed.ts";

/** A usage is a command, those that programs call too; a flag counts for each command that has it, but for --debug and --help. */
const MOST = { commands: 38, flags: 200 };

test("there are at most 38 commands, and 200 flags in all of them", async () => {
  const all = await typedIn(await commands());
  const flags = all.reduce((sum, { usage }) => sum + usage.flags.length, 0);
  const fix = "take away one that nobody misses, or give an old flag one more value";
  assert.ok(all.length > 30 && all.length <= MOST.commands, `${all.length} commands: ${fix}`);
  assert.ok(flags > 150 && flags <= MOST.flags, `${flags} flags: ${fix}`);
});
