import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { matcherOf } from "../../lib/hooks/file/hook-record.ts";
import { loadSettings } from "../../lib/hooks/hook-settings.ts";
import { runaway } from "../../lib/regex/runaway.ts";
import { assertLinear } from "../_processor-time.ts";
import { scratch } from "../_scratch.ts";

test("U12: a matcher that could search forever is refused when its file is loaded, and usual ones are not", () => {
  for (const pattern of ["(a+)+$", "(mcp__.*)*x", "(\\w|\\d)+$"]) {
    assert.throws(() => matcherOf(pattern), /^TypeError: Cannot use matcher '.*' as its repetitions can read/, pattern);
  }
  for (
    const pattern of [undefined, "", "*", "Bash", "Edit|Write", "mcp__.*", "mcp__(git|fs)__.*_file", "^Notebook.*$"]
  ) {
    assert.equal(typeof matcherOf(pattern), "function", String(pattern));
  }
});

test("such a matcher in settings is named with its place, and the hooks beside it still load", async () => {
  using folder = scratch();
  const path = join(folder.path, "settings.json");
  const hooks = [{ type: "command", command: "true" }];
  writeFileSync(
    path,
    JSON.stringify({ hooks: { PreToolUse: [{ matcher: "(a+)+$", hooks }, { matcher: "Bash", hooks }] } }),
  );
  const { records, problems } = await loadSettings([{ path }], { projectDir: folder.path });
  assert.deepEqual(records.map((r) => r.matcher), ["Bash"]);
  assert.deepEqual(problems.map((p) => p.path), ["hooks.PreToolUse[0].matcher"]);
});

test("a long expression is judged in a time that grows with its length, not with its square", async () => {
  await assertLinear(40_000, (length) => {
    const regex = new RegExp("a".repeat(length) + "(?:b|c)+");
    return () => assert.equal(runaway(regex), undefined);
  });
});
