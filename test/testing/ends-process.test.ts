import assert from "node:assert/strict";
import { test } from "node:test";
import { ended } from "../_crochet.ts";
import { put, scratch } from "../_scratch.ts";
import { LIB } from "../_runtime.ts";

const RUNNER: readonly [string, ...string[]] = "Deno" in globalThis
  ? [process.execPath, "test", "-A", "--no-check"]
  : [process.execPath, "test"];

/** Two tests: the first replays an agent whose tool ends the process, the second passes. */
const file = (ends: string) =>
  `import { test } from "node:test";
import { agent, tool } from "${LIB}/index.ts";
import { replay, scripted } from "${LIB}/testing/index.ts";
const made = (run: () => unknown) => agent({
  model: scripted([{ tools: [{ name: "price", input: {} }] }, { text: "It is 3." }]),
  tools: [tool({ name: "price", description: "d", effect: "read", input: { type: "object" }, run: run as () => string })],
});
const ends = () => {
  ${ends}
  return "3";
};
test("the first", async () => {
  await made(() => "3").run("how much?", { tape: { path: process.cwd() + "/fixtures/sale", mode: "record" } });
  await replay(made(ends), "sale");
});
test("the next", () => console.log("the next one ran"));
`;

for (
  const [how, ends, says] of [
    ["plainly", "process.exit(0);", /It ends the process: process\.exit\(0\) at sale\.test\.ts:9/],
    ["and catches that", "try { process.exit(0); } catch {}", /It ends the process: process\.exit\(0\) at sale/],
    ["by what a runtime hides", "process.removeAllListeners(); (process as any).reallyExit(0);", /reallyExit\(0\)/],
  ] as const
) {
  test(`in a test of this runtime an agent that ends the process ${how} fails that test, and the next one runs`, async () => {
    using folder = scratch();
    put(folder.path, { "sale.test.ts": file(ends) });
    const { code, out, err } = await ended([...RUNNER, "sale.test.ts"], { cwd: folder.path, env: { CI: undefined } });
    const printed = `${out}${err}`;
    assert.notEqual(code, 0, printed);
    assert.match(printed, says);
    assert.match(printed, /the next one ran/);
    assert.match(printed, /1 (?:fail|failed)\b/);
  });
}
