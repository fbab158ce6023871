import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { test } from "node:test";
import hooks from "../../lib/cli/hooks.ts";
import type { CheckReport } from "../../lib/testing/index.ts";
import { place } from "../_place.ts";

/** Each language at the moments it can be written for. */
const NEW: readonly (readonly [lang: string, ...moments: string[]])[] = [
  ["ts", "pre-tool-use@Bash", "stop", "user-prompt-submit", "cwd-changed"],
  ["sh", "pre-tool-use@Edit", "stop", "permission-request@Bash", "session-start"],
  ["py", "pre-tool-use@Bash", "subagent-stop", "permission-request@Write", "post-tool-batch"],
  ["rules", "pre-tool-use@Bash", "stop", "post-tool-use@Read"],
  ["prompt", "pre-tool-use@Bash", "stop", "user-prompt-submit"],
];

test("hooks new writes hooks that pass their examples and the check as they are", async () => {
  using here = place();
  for (const [lang, ...moments] of NEW) {
    for (const moment of moments) {
      const made = await here.call(hooks, "new", `${moment}.in-${lang}.${lang === "prompt" ? "prompt.md" : lang}`);
      assert.equal(made.code, 0, made.err);
      const [, hook, examples] = /^wrote (\S+)\nwrote (\S+\.examples\.yaml)\nnext: crochet hooks test \S+\n$/.exec(
        made.out,
      )!;
      assert.ok(existsSync(`${here.cwd}/${hook}`) && existsSync(`${here.cwd}/${examples}`), made.out);
    }
  }
  const { out, code } = await here.call(
    hooks,
    "check",
    "--runs",
    "3",
    "--seed",
    "7",
    "--time",
    "3600",
    "--json",
  );
  const { items }: { items: CheckReport["hooks"] } = JSON.parse(out);
  assert.equal(code, 0, out);
  assert.equal(items.length, NEW.flat().length - NEW.length);
  assert.deepEqual(items.flatMap(({ findings }) => findings.map(({ hook, code }) => `${hook} ${code}`)), []);
  assert.ok(items.every(({ laws }) => laws.includes("examples")), "examples were played");
});
