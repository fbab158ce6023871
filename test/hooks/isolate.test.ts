import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { agent, tool } from "crochet";
import { scripted } from "crochet/testing";
import { scratch } from "../_scratch.ts";

/** Runs an agent that calls Echo with `text`, under one hook file. */
async function run(hook: string, text: string) {
  using folder = scratch({ "hooks/pre-tool-use@Echo.guard.ts": hook });
  const inputs: unknown[] = [];
  const echo = tool({
    name: "Echo",
    description: "",
    input: { type: "object" },
    run: (input) => (inputs.push(input), "echoed"),
  });
  const model = scripted([{ tools: [{ name: "Echo", input: { text } }] }, { text: "done" }]);
  const hooks = join(folder.path, "hooks");
  const { stop, denials } = await agent({ model, tools: [echo], hooks, cwd: folder.path }).run("go");
  return { stop, inputs, reasons: denials.map(({ reason }) => reason) };
}

const GUARD = `export const config = { isolate: true };
export default ({ input }) => {
  if (input.text === "deny") return { action: "deny", reason: "not in process " + process.pid };
  if (input.text === "change") return { action: "modify", value: { text: "changed" } };
  if (input.text === "throw") throw new Error("broken");
};`;

test("config.isolate runs a module in a process of its own, with the verdicts of a module", async () => {
  const denied = await run(GUARD, "deny");
  assert.match(denied.reasons[0]!, /^not in process \d+$/);
  assert.notEqual(denied.reasons[0], `not in process ${process.pid}`);
  assert.deepEqual((await run(GUARD, "change")).inputs, [{ text: "changed" }]);
  assert.deepEqual((await run(GUARD, "as it is")).inputs, [{ text: "as it is" }]);
  const broken = await run(GUARD, "throw");
  assert.deepEqual(broken.inputs, []);
  assert.match(broken.reasons[0]!, /broken/);
});

test("a module that loops without end is ended at its limit if it is isolated, and the call is refused", async () => {
  const loops = `export const config = { isolate: true, timeout: 2 };
    export default () => { for (;;); };`;
  const { stop, inputs, reasons } = await run(loops, "x");
  assert.deepEqual([stop, inputs], ["done", []]);
  assert.match(reasons[0]!, /timed out|took longer than its limit of 2 s/);
});
