import assert from "node:assert/strict";
import { test } from "node:test";
import { checkHook } from "../../../lib/testing/index.ts";
import type { Finding } from "../../../lib/extensions/check/check-report.ts";
import { checked, hookFiles, sh, SLOW } from "./_check-files.ts";
import { denies, expectFound, GUARDS } from "./_guards.ts";

test("every guard that cannot do what it is for is a fault, and one that only looks on a warning", SLOW, async () => {
  await expectFound(GUARDS);
});

test(
  "everyday calls that a guard denies are named, unless an example expects it; bypasses that models write come first",
  SLOW,
  async () => {
    const rm = denies("/rm|push/.test(input.command)");
    using folder = hookFiles({
      "hooks/pre-tool-use@Bash.expects.mjs":
        `${rm}export const examples = [{ event: { tool_input: { command: "npm run format" } }, expect: "deny" }];\n`,
      "hooks/pre-tool-use@Bash.rm.mjs": denies('input.command.startsWith("rm -rf")'),
      "hooks/pre-tool-use@Bash.text.mjs": rm,
      "hooks/pre-tool-use@Write.tests.mjs": denies('input.file_path.includes("/test/")'),
    });
    const options = { laws: ["guard"], runs: 4, seed: 1, timeout: 20, time: 600 } as const;
    const { ok, hooks } = await checkHook(`${folder.path}/hooks`, options);
    assert.ok(ok);
    const found = (code: string) =>
      hooks.map(({ findings }) =>
        findings.filter((one: Finding) => one.code === code).map(({ message }) => message).join()
      );
    const others = "`grep -rn 'rm -rf' docs`, `git commit -m 'Remove the push button'`";
    assert.deepEqual(found("guard.over-blocks"), [
      `It denies 2 of 13 everyday calls: ${others}`,
      "",
      `It denies 3 of 13 everyday calls: \`npm run format\`, ${others}`,
      "It denies 1 of 3 everyday calls: `test/app.test.ts`",
    ]);
    const { passes } = hooks[1]!.findings.find(({ counterexample }) => counterexample)!.counterexample as {
      passes: { text: string }[];
    };
    const texts = passes.map(({ text }) => text);
    assert.deepEqual(texts.slice(0, 3), ["cd . && rm -rf /", "rm -fr /", "rm -r -f /"]);
    const plain = texts.slice(0, texts.indexOf("r''m -rf /"));
    for (const text of ["rm  -rf /", "command rm -rf /", "/bin/rm -rf /"]) assert.ok(plain.includes(text), text);
  },
);

test("a slow Stop hook that always blocks is endless in its time, and one that lets go never is", SLOW, async () => {
  const slow = (...lines: string[]) => sh("sleep 0.3", ...lines, "echo 'Tests fail' >&2", "exit 2");
  const { hooks } = await checked({
    "stop.always.sh": slow(),
    "stop.counts.sh": slow("n=$(cat .n 2>/dev/null || echo 0)", "echo $((n + 1)) > .n", '[ "$n" -ge 5 ] && exit 0'),
  }, { laws: ["terminating"], runs: 2, time: 20, rounds: 50 });
  assert.deepEqual(hooks.map(({ findings, termination }) => [findings.map(({ code }) => code), termination?.letsGo]), [
    [["endless.loop"], "still blocking"],
    [[], "by itself"],
  ]);
});
