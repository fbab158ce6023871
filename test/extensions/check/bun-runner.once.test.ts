import assert from "node:assert/strict";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { runProcess } from "../../../lib/process/process.ts";
import { scratch } from "../../_scratch.ts";

const BUN = fileURLToPath(new URL("../../../lib/extensions/check/bun.ts", import.meta.url));

const TESTS = (expected: string) => `
import { expect, test } from "bun:test";
import { testExamples } from ${JSON.stringify(BUN)};
await testExamples(new URL("./hooks", import.meta.url));
test("answers", () => {
  expect({ action: "deny", reason: "No" }).toDeny("${expected}");
  expect([{ name: "Read", input: {}, outcome: "success" }]).toHaveCalled("Read");
});
`;

test(
  "crochet/bun as a preload gives bun test the matchers, and examples as tests of its own",
  async () => {
    using folder = scratch({
      "bunfig.toml": `[test]\npreload = [${JSON.stringify(BUN)}]\n`,
      "hooks/stop.a.ts": 'export default () => ({ action: "deny", reason: "No" });\n',
      "hooks/stop.a.examples.yaml": "- name: refuses\n  expect: deny\n",
      "right.test.ts": TESTS("No"),
      "wrong.test.ts": TESTS("Yes"),
    });
    const ran = async (file: string) => {
      const { code, stderr } = await runProcess({
        command: process.execPath,
        args: ["test", file],
        cwd: folder.path,
        env: process.env,
      });
      return { code, stderr };
    };
    const right = await ran("right.test.ts");
    assert.equal(right.code, 0, right.stderr);
    assert.match(right.stderr, /\(pass\) stop\.a\.ts: refuses/);
    const wrong = await ran("wrong.test.ts");
    assert.deepEqual([wrong.code, /to deny for "Yes"/.test(wrong.stderr)], [1, true], wrong.stderr);
  },
);
