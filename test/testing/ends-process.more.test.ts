/** What would end the process of a test fails that test at every door of `crochet/testing`, and the next one runs. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { ended } from "../_crochet.ts";
import { noSandbox } from "../_needs.ts";
import { LIB, OUR_RUNTIME } from "../_runtime.ts";
import { put, scratch } from "../_scratch.ts";
import { project, RECORD } from "../extensions/tape/_recorded.ts";

const RUNNER: readonly [string, ...string[]] = [
  OUR_RUNTIME[0],
  "test",
  ...("Deno" in globalThis ? OUR_RUNTIME.slice(2) : []),
];

test("recorded(): a body that ends the process fails its test, also if it caught that, and the next one runs", async () => {
  await using it = await project(`await recorded("greets", async () => {
    await ask("hi");
    if (process.env.ENDS === "plainly") process.exit(0);
    try { if (process.env.ENDS === "caught") process.exit(0); } catch {}
  });
});
test("the next", () => {`);
  const made = await it.run(RECORD);
  assert.ok(made.ok, made.said);
  for (const ENDS of ["plainly", "caught"]) {
    const { ok, said } = await it.run({ ENDS });
    assert.equal(ok, false, said);
    assert.match(said, /It ends the process: process\.exit\(0\) at greet\.test\.mjs:\d+/);
    assert.match(said, /\b1 pass(?:ed)?\b/);
  }
});

const agent = (hook: string) =>
  `import { agent } from "${LIB}/index.ts";
import { Write } from "${LIB}/tools/index.ts";
const guard = () => {
  ${hook}
};
export default agent({ from: import.meta.url, tools: [Write], hooks: { "pre-tool-use": [guard] } });
`;

const ATTACKS = `import { test } from "node:test";
import { attack } from "${LIB}/testing/index.ts";
import plain from "./plain.ts";
import caught from "./caught.ts";
for (const [name, one] of Object.entries({ plain, caught })) {
  test(name, async () => void await attack(one, { never: "changes:notes.txt", runs: 2, seed: 1 }));
}
test("the next", () => {});
`;

test("attack(): a hook that ends the process fails its test, and the next one runs", { skip: noSandbox }, async () => {
  using folder = scratch();
  put(folder.path, {
    "a.test.ts": ATTACKS,
    "plain.ts": agent("process.exit(0);"),
    "caught.ts": agent("try { process.exit(0); } catch {}"),
    "notes.txt": "closed\n",
  });
  const { code, out, err } = await ended([...RUNNER, "a.test.ts"], { cwd: folder.path, env: { CI: undefined } });
  const printed = `${out}${err}`;
  assert.notEqual(code, 0, printed);
  for (const file of ["plain", "caught"]) {
    assert.ok(printed.includes(`broken: It ends the process: process.exit(0) at ${file}.ts:4`), printed);
  }
  assert.match(printed, /\b1 pass(?:ed)?\b/);
  assert.match(printed, /\b2 fail(?:ed)?\b/);
});

test("testExamples: a hook that ends the process fails its example, also if it caught that, and the next one runs", async () => {
  using folder = scratch();
  const examples = `export const examples = [{ name: "lets go", expect: "continue" }];\n`;
  put(folder.path, {
    "a.test.ts": `import { test } from "node:test";
import { testExamples } from "${LIB}/testing/index.ts";
await testExamples("hooks");
test("the next", () => {});
`,
    "hooks/stop.plain.ts": `${examples}export default () => {\n  process.exit(0);\n};\n`,
    "hooks/stop.caught.ts": `${examples}export default () => {\n  try { process.exit(0); } catch {}\n};\n`,
    // It has a process of its own, which it may end.
    "hooks/stop.shell.sh": "#!/bin/sh\nexit 0\n",
    "hooks/stop.shell.examples.yaml": "- expect: continue\n",
  });
  const { code, out, err } = await ended([...RUNNER, "a.test.ts"], { cwd: folder.path, env: { CI: undefined } });
  const printed = `${out}${err}`;
  assert.notEqual(code, 0, printed);
  for (const file of ["plain", "caught"]) {
    assert.ok(printed.includes(`but it failed: It ends the process: process.exit(0) at stop.${file}.ts:3`), printed);
  }
  assert.match(printed, /\b2 pass(?:ed)?\b/);
  assert.match(printed, /\b2 fail(?:ed)?\b/);
});
