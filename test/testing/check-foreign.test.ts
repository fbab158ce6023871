import assert from "node:assert/strict";
import { test } from "node:test";
import { checkHook } from "../../lib/testing/index.ts";
import { hookFiles, sh } from "./_check-files.ts";

/** Real processes on a busy machine. */
const SLOW = { timeout: 120_000 };

/** Hooks as people write them, and all that is to be said of each. */
const HOOKS: readonly (readonly [claim: string, file: string, text: string, codes: readonly string[]])[] = [
  [
    "keeps the code it ends with in a variable, and means 1 to refuse",
    "pre-tool-use@Bash.sh",
    sh("no=0", "case $event in *'npm publish'*) no=1;; esac", "exit $no"),
    ["lawful.exit-1"],
  ],
  [
    "ends with the code of its last test",
    "pre-tool-use@Bash.sh",
    sh("case $event in *'npm publish'*) false;; esac"),
    ["total.silent-exit"],
  ],
  ["asks a program that is not there, and goes on", "pre-tool-use@Bash.sh", sh("x=$(no-such-jq .a)", "exit 0"), [
    "total.missing",
  ]],
  ["is run by a program that is not there", "pre-tool-use@Bash.py", "#!/usr/bin/env no-such-uv\nexit(0)\n", [
    "total.cannot-start",
  ]],
  ["says itself that a program is not there", "stop.sh", sh("echo 'prettier not found, skipped' >&2"), []],
];

for (const [claim, file, text, codes] of HOOKS) {
  test(`a hook that ${claim}: ${codes.join(", ") || "nothing"}`, SLOW, async () => {
    using folder = hookFiles({ [file]: text });
    const { hooks: [hook] } = await checkHook(`${folder.path}/${file}`, {
      runs: 60,
      seed: 1,
      laws: ["total", "lawful"],
    });
    assert.deepEqual(hook!.findings.map(({ code }) => code), codes);
    const [found] = hook!.findings;
    if (found && /missing|cannot-start/.test(found.code)) {
      assert.match(found.message, /^It needs 'no-such-\w+', which is not installed here; .* fails open$/);
    }
  });
}
