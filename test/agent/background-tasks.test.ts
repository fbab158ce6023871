import assert from "node:assert/strict";
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { agent } from "crochet";
import { Agent, Bash } from "crochet/tools";
import { scripted } from "crochet/testing";
import { scratch } from "../_scratch.ts";

/** A folder whose Stop hook keeps what it is given. */
function place() {
  const folder = scratch();
  const hooks = join(folder.path, "hooks");
  mkdirSync(hooks);
  writeFileSync(join(hooks, "stop.sh"), `#!/bin/sh\ncat >> '${folder.path}/noted'; echo >> '${folder.path}/noted'\n`);
  chmodSync(join(hooks, "stop.sh"), 0o755);
  return {
    cwd: folder.path,
    hooks,
    noted: () =>
      readFileSync(join(folder.path, "noted"), "utf8").trim().split("\n").filter((line) => line !== "")
        .map((line) => JSON.parse(line) as { hook_event_name: string; background_tasks: unknown[] }),
    [Symbol.dispose]: () => folder[Symbol.dispose](),
  };
}

test("a Stop hook sees commands that still run in the background, and not those that have ended", async () => {
  using here = place();
  const start = (command: string, description: string) => ({
    name: "Bash",
    input: { command, description, run_in_background: true },
  });
  const model = scripted([
    { tools: [start("sleep 30", "a long sleep"), start("touch ended", "nothing")] },
    { tools: [{ name: "Bash", input: { command: "until [ -e ended ]; do sleep 0.02; done; sleep 0.2" } }] },
    { text: "done" },
  ]);
  await agent({ model, tools: [Bash], hooks: here.hooks, cwd: here.cwd }).run("go");
  const [{ background_tasks } = { background_tasks: undefined }] = here.noted();
  assert.deepEqual(background_tasks, [
    { id: "bash_1", type: "shell", status: "running", description: "a long sleep", command: "sleep 30" },
  ]);
});

test("a Stop hook sees an agent that works in the background, until its report has arrived", async () => {
  using here = place();
  const asksSub = (request: { messages: readonly unknown[] }) => JSON.stringify(request.messages[0]).includes("do it");
  let release = () => {};
  const stopped = new Promise<void>((resolve) => release = resolve);
  const model = scripted([
    {
      tools: [{ name: "Agent", input: { description: "do sub", prompt: "do it", run_in_background: true } }],
    },
    { text: "main done" },
    { text: "all done" },
  ], {
    routes: [{
      when: asksSub,
      replies: [async () => {
        await stopped;
        return { text: "sub done" };
      }],
    }],
  });
  await agent({
    model,
    tools: [Agent],
    hooks: here.hooks,
    cwd: here.cwd,
    on: (event) => {
      if (event.type === "hook_end" && event.event === "stop") release();
    },
  }).run("go");
  const stops = here.noted().filter(({ hook_event_name }) => hook_event_name === "Stop");
  assert.equal(stops.length, 2);
  const [task] = stops[0]!.background_tasks as { id: string }[];
  assert.deepEqual(stops[0]!.background_tasks, [
    { id: task!.id, type: "subagent", status: "running", description: "do sub", agent_type: "general-purpose" },
  ]);
  assert.deepEqual(stops[1]!.background_tasks, []);
});
