import assert from "node:assert/strict";
import { test } from "node:test";
import { checkHook } from "../../lib/testing/index.ts";
import { hookFiles, SLOW } from "./_check-files.ts";

const FILE = `f=$(sed -n 's/.*"file_path":"\\(.*\\)","old_string".*/\\1/p')`;

/** What formats a file with a program that is not installed anywhere, and what a check finds of it. */
const FORMATTERS: readonly (readonly [claim: string, lines: readonly string[], found: readonly string[]])[] = [
  [
    "gives a field to eval behind a program that is absent is found out",
    ["command -v no-such-formatter >/dev/null || exit 0", FILE, 'eval "no-such-formatter $f"', "exit 0"],
    ["polite.executes"],
  ],
  [
    "does so behind two of them, one way or another, is found out",
    [
      "which no-such-formatter >/dev/null 2>&1 || exit 0",
      "hash no-such-linter 2>/dev/null || exit 0",
      FILE,
      'sh -c "no-such-linter $f"',
      "exit 0",
    ],
    ["polite.executes"],
  ],
  [
    "gives it as one word is not at fault",
    ["command -v no-such-formatter >/dev/null || exit 0", FILE, 'no-such-formatter "$f"', "exit 0"],
    [],
  ],
  [
    "counts on what the absent program prints is not held to what a stand-in prints",
    ["command -v no-such-formatter >/dev/null || exit 0", '[ "$(no-such-formatter --version)" = 3 ]'],
    [],
  ],
];

for (const [claim, lines, found] of FORMATTERS) {
  test(`a hook that ${claim}`, SLOW, async () => {
    using folder = hookFiles({ "post-tool-use@Edit.format.sh": `#!/bin/sh\n${lines.join("\n")}\n` });
    const { hooks: [hook] } = await checkHook(folder.path, { runs: 4, seed: 1 });
    assert.deepEqual(hook!.findings.map(({ code }) => code), found);
    for (const { message } of hook!.findings) {
      assert.match(
        message,
        /\(seen with a stand-in for no-such-formatter(?: and no-such-linter)?, not installed here\)$/,
      );
    }
  });
}
