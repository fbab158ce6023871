import assert from "node:assert/strict";
import { mkdirSync, realpathSync, rmSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { agent, type Engine } from "../../lib/index.ts";
import { sqliteSteps } from "../../lib/durable/index.ts";
import { memoryStore } from "../../lib/transcript/memory.ts";
import { scripted } from "../../lib/testing/index.ts";
import { Bash } from "../../lib/tools/index.ts";
import type { ToolResultBlock } from "../../lib/core/messages.ts";
import { scratch } from "../_scratch.ts";

/** Goes into a folder, dies before the second reply, goes on in another process' place; what `pwd` then says. */
async function placeAfterDeath(dir: string, between: () => void = () => {}): Promise<string> {
  const bash = (id: string, command: string) => ({ tools: [{ name: "Bash", id, input: { command } }] });
  const store = memoryStore();
  const run = async (step: Engine, replies: Parameters<typeof scripted>[0]) => {
    const options = { model: scripted(replies), tools: [Bash], store, cwd: dir, step };
    return await agent(options).run("go there", { id: "walker" });
  };
  const dying = sqliteSteps(join(dir, "steps.sqlite"));
  const died = await run({
    step: (name, work) => name.endsWith(":2") ? Promise.reject(new Error("power cut")) : dying.step(name, work),
  }, [bash("c1", "cd below")]);
  assert.equal(died.error?.message, "power cut");
  dying.close();
  between();
  const steps = sqliteSteps(join(dir, "steps.sqlite"));
  const { messages, stop } = await run(steps, [bash("c2", "pwd"), { text: "there" }]);
  steps.close();
  assert.equal(stop, "done");
  const results = messages.flatMap(({ content }) =>
    content.filter((b): b is ToolResultBlock => b.type === "tool_result")
  );
  assert.deepEqual(results.map(({ tool_use_id }) => tool_use_id), ["c1", "c2"]);
  return String(results[1]!.content);
}

test("a shell that had gone to another folder is there again when another process goes on with the run", async () => {
  using folder = scratch();
  mkdirSync(join(folder.path, "below"));
  assert.equal((await placeAfterDeath(folder.path)).trim(), join(realpathSync(folder.path), "below"));
});

test("a shell whose folder is gone when the run goes on says so, and works in the agent's own", async () => {
  using folder = scratch();
  mkdirSync(join(folder.path, "below"));
  const said = await placeAfterDeath(folder.path, () => rmSync(join(folder.path, "below"), { recursive: true }));
  assert.match(said, /below is gone, so the shell works in/);
  assert.ok(
    said.includes(`${realpathSync(folder.path)}\n`) || said.trimEnd().endsWith(realpathSync(folder.path)),
    said,
  );
});
