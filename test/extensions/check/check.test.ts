import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { test } from "node:test";
import { BrokenLaw, checkHook, laws } from "../../../lib/testing/index.ts";
import { withEnv } from "../../_env.ts";
import { checked, codes, hookFiles, sh, SLOW } from "./_check-files.ts";

test(
  "check finds modules that hang, end their process or cannot be loaded, and goes on with the others",
  SLOW,
  async () => {
    const found = await codes({
      "notification.exits.ts": "export default () => process.exit(0);",
      "notification.fine.ts": "export default () => undefined;",
      "notification.no-function.ts": "export default 5;",
      "pre-tool-use@Bash.blocks.ts":
        `const cell = new Int32Array(new SharedArrayBuffer(4)); // it blocks as a loop does, and computes nothing
      export default ({ input }) => { while (String(input.command).includes("'")) Atomics.wait(cell, 0, 0, 60_000); };
      export const config = { timeout: 0.5 };`,
    }, { laws: ["reliable"] });
    assert.deepEqual(found, {
      "notification.exits.ts": "fails.ends-process",
      "notification.fine.ts": "",
      "notification.no-function.ts": "fails.load",
      "pre-tool-use@Bash.blocks.ts": "fails.timeout",
    });
  },
);

test("a slow guard is asked about dangerous commands first", SLOW, async () => {
  const { hooks: [hook] } = await checked({
    "pre-tool-use@Bash.slow.sh": sh("sleep 0.2", 'case "$event" in *"rm -rf /"*) echo no >&2; exit 1 ;; esac'),
  }, { time: 3, runs: 100, laws: ["reliable", "protocol"] });
  assert.deepEqual(hook!.findings.map(({ code }) => code), ["protocol.exit-1"]);
  assert.match(hook!.unchecked!, /^\d+ of 1\d\d events: not checked enough$/);
});

test("laws throw if a hook breaks them, with the report, and return it if not", SLOW, async () => {
  using folder = hookFiles({ "stop.bad.sh": sh("echo more >&2", "exit 2"), "notification.sh": sh("exit 0") });
  const options = { runs: 1, rounds: 4, seed: 2 };
  await assert.rejects(laws.terminates(`${folder.path}/stop.bad.sh`, options), (error) => {
    assert.ok(error instanceof BrokenLaw);
    assert.match(error.message, /^stop\.bad\.sh breaks the law 'terminating': .*refuted\n {2}round 1/);
    assert.equal(error.report.hooks[0]!.findings[0]!.law, "terminating");
    assert.match(error.stack!, /^BrokenLaw: [^]*\n +at [^\n]*check\.test\.ts:/);
    assert.doesNotMatch(error.stack!, /check-hook\.ts/);
    return true;
  });
  const { ok } = await laws.all(`${folder.path}/notification.sh`, options);
  assert.ok(ok);
});

test("checkHook() never passes if there is no hook to check, and leaves no scratch behind", SLOW, async () => {
  using folder = hookFiles({ "src/README.md": "", "hooks/notification.sh": sh("exit 0"), "tmp/.keep": "" });
  const { ok, problems } = await checkHook(`${folder.path}/src`);
  assert.deepEqual([ok, problems], [false, [`Cannot check '${folder.path}/src': there is no hook in it`]]);
  await assert.rejects(laws.all(`${folder.path}/src`), BrokenLaw);
  await withEnv({ TMPDIR: `${folder.path}/tmp` }, () => checkHook(`${folder.path}/hooks`, { runs: 1 }));
  assert.deepEqual(readdirSync(`${folder.path}/tmp`), [".keep"]);
});

test("checkHook() refuses wrong options", async () => {
  using folder = hookFiles({ "notification.sh": sh("exit 0") });
  const refused: readonly (readonly [options: object, says: RegExp])[] = [
    [{ runs: -1 }, /'runs' must be 0 or more: current value is -1/],
    [{ run: 1 }, /option 'run' is unknown: did you mean 'runs'\?$/],
    [{ rounds: 1.5 }, /'rounds'/],
    [{ timeout: 0 }, /'timeout'/],
    [{ laws: [] }, /'laws' is empty: expected some of reliable, protocol/],
    [{ laws: ["terminates"] }, /'laws' has 'terminates': expected/],
    [{ host: "windsurf" }, /'host' must be "claude" or "codex" or "gemini".*: current value is "?windsurf/],
  ];
  for (const [options, says] of refused) await assert.rejects(checkHook(folder.path, options), says);
});
