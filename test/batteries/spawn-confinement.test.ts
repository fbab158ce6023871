import assert from "node:assert/strict";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { agent } from "../../lib/agent.ts";
import { tool } from "../../lib/core/tool.ts";
import { scripted } from "../../lib/testing/index.ts";
import { Agent, Bash, Write } from "../../lib/tools/index.ts";

test("what confines the tools of an agent always confines those of the agents it starts", async () => {
  const seen: [agent: string, state: unknown][] = [];
  const Peek = tool({
    name: "Peek",
    description: "Looks at what its agent's tools share.",
    input: { type: "object", properties: {} },
    effect: "none",
    run: (_: object, { agentId, sessionId, state }) => {
      seen.push([agentId === sessionId ? "root" : "sub", [state.get("crochet.roots"), state.get("sandbox")]]);
      state.set("read by one agent", true);
      return "";
    },
  });
  const peek = { tools: [{ name: "Peek", input: {} }] };
  const model = scripted([peek, { tools: [{ name: "Agent", input: { description: "d", prompt: "SUBPROMPT" } }] }, {
    text: ".",
  }], {
    routes: [{
      when: ({ messages }) => JSON.stringify(messages[0]).includes("SUBPROMPT"),
      replies: [peek, { text: "." }],
    }],
  });
  await agent({ model, tools: [Peek, Agent], cwd: "/tmp", sandbox: "workspace" }).run("go");
  const confined = [["/tmp"], { mode: "workspace", roots: ["/tmp"] }];
  assert.deepEqual(seen, [["root", confined], ["sub", confined]]);
});

test("U16: changing directory in the shell never opens more files to the tools", async () => {
  const cwd = mkdtempSync(join(tmpdir(), "crochet-cd-"));
  const outside = mkdtempSync(join(tmpdir(), "crochet-outside-"));
  const target = join(outside, "made.txt");
  const result = await agent({
    model: scripted([
      { tools: [{ name: "Bash", input: { command: `cd ${outside}` } }] },
      { tools: [{ name: "Write", input: { file_path: "made.txt", content: "x" } }] },
      { tools: [{ name: "Write", input: { file_path: target, content: "x" } }] },
      { text: "done" },
    ]),
    tools: [Bash, Write],
    cwd,
  }).run("go");
  assert.equal(result.stop, "done");
  assert.equal(existsSync(target), false);
  rmSync(cwd, { recursive: true });
  rmSync(outside, { recursive: true });
});
