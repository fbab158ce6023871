import assert from "node:assert/strict";
import { mkdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { agent, type RunOptions } from "../../../lib/index.ts";
import { memoryStore } from "../../../lib/log/stores/memory-store.ts";
import { scripted } from "../../../lib/testing/index.ts";
import { Bash } from "../../../lib/tools/index.ts";
import type { ToolResultBlock } from "../../../lib/core/messages.ts";
import { scratch } from "../../_scratch.ts";
import { type Journal, memoryEngine } from "./_engines.ts";

const bash = (id: string, command: string) => ({ tools: [{ name: "Bash", id, input: { command } }] });

function run(dir: string, options: RunOptions, replies: Parameters<typeof scripted>[0]) {
  return agent({ model: scripted(replies), tools: [Bash], cwd: dir }).run("go there", { id: "walker", ...options });
}

/** Goes into a folder and dies before the second reply; with what another process goes on. */
const DIES: Record<string, (dir: string) => Promise<RunOptions>> = {
  "on an engine": async (dir) => {
    const journal: Journal = new Map();
    const store = memoryStore();
    const dying = memoryEngine(journal);
    const died = await run(dir, {
      store,
      step: (name, work) => name.endsWith(":2") ? Promise.reject(new Error("power cut")) : dying.step(name, work),
    }, [bash("c1", "cd below")]);
    assert.equal(died.error?.message, "power cut");
    return { store, step: memoryEngine(journal) };
  },
  "with a log": async (dir) => {
    const log = join(dir, "runs");
    await run(dir, { log }, [bash("c1", "cd below"), { text: "it is not known what came then" }]);
    const file = join(log, "walker.jsonl");
    const lines = readFileSync(file, "utf8").split("\n");
    const moved = lines.findIndex((line) => line.startsWith('{"tool":'));
    const sealed = lines.findIndex((line, i) => i > moved && line.startsWith('{"seal":'));
    writeFileSync(file, `${lines.slice(0, sealed + 1).join("\n")}\n`);
    return { log, durable: true };
  },
};

/** What `pwd` says in the process that goes on. */
async function placeAfterDeath(dies: string, dir: string, between: () => void = () => {}): Promise<string> {
  const after = await DIES[dies]!(dir);
  between();
  const { messages, stop } = await run(dir, after, [bash("c2", "pwd"), { text: "there" }]);
  assert.equal(stop, "done");
  const results = messages.flatMap(({ content }) =>
    content.filter((b): b is ToolResultBlock => b.type === "tool_result")
  );
  assert.deepEqual(results.map(({ tool_use_id }) => tool_use_id), ["c1", "c2"]);
  return String(results[1]!.content);
}

for (const dies of Object.keys(DIES)) {
  test(`${dies}: a shell that had gone to another folder is there again when another process goes on with the run`, async () => {
    using folder = scratch();
    mkdirSync(join(folder.path, "below"));
    assert.equal((await placeAfterDeath(dies, folder.path)).trim(), join(realpathSync(folder.path), "below"));
  });

  test(`${dies}: a shell whose folder is gone when the run goes on says so, and works in the agent's own`, async () => {
    using folder = scratch();
    mkdirSync(join(folder.path, "below"));
    const gone = () => rmSync(join(folder.path, "below"), { recursive: true });
    const said = await placeAfterDeath(dies, folder.path, gone);
    assert.match(said, /below is gone, so the shell works in/);
    assert.ok(
      said.includes(`${realpathSync(folder.path)}\n`) || said.trimEnd().endsWith(realpathSync(folder.path)),
      said,
    );
  });
}
