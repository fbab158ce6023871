import assert from "node:assert/strict";
import { chmodSync, existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { agent } from "../../lib/agent/agent.ts";
import { isToolResult } from "../../lib/core/messages.ts";
import { tool } from "../../lib/tools/make-tool.ts";
import { definitions } from "../../lib/hooks/definitions.ts";
import { scripted } from "../../lib/testing/index.ts";
import { Agent, Bash, Write } from "../../lib/tools/index.ts";
import { noSandbox } from "../_needs.ts";
import { scratch } from "../_scratch.ts";

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
  using inside = scratch();
  using outside = scratch();
  const target = join(outside.path, "made.txt");
  const { messages } = await agent({
    model: scripted([
      { tools: [{ name: "Bash", input: { command: `cd ${outside.path} && pwd` } }] },
      { tools: [{ name: "Write", input: { file_path: "made.txt", content: "x" } }] },
      { tools: [{ name: "Write", input: { file_path: target, content: "x" } }] },
      { text: "done" },
    ]),
    tools: [Bash, Write],
    cwd: inside.path,
  }).run("go");
  const results = messages.flatMap(({ content }) => content.filter(isToolResult));
  assert.equal(results[0]!.content, outside.path);
  assert.equal(results[2]!.is_error, true);
  assert.match(String(results[2]!.content), /outside/);
  assert.equal(existsSync(target), false);
});

test("U16: hooks run outside the sandbox, and inside it if the option says so", { skip: noSandbox }, async () => {
  using inside = scratch();
  using other = scratch();
  const [cwd, outside] = [inside.path, other.path];
  const touch = (name: string) => `touch ${name}; touch ${join(outside, name)}`;
  mkdirSync(join(cwd, "hooks"));
  const file = (name: string, text: string) => writeFileSync(join(cwd, "hooks", name), text);
  file("stop.command.sh", `#!/bin/sh\n${touch("command")}\nexit 0\n`);
  chmodSync(join(cwd, "hooks/stop.command.sh"), 0o755);
  file(
    "stop.module.ts",
    `export default async (_: unknown, { $ }: any) => void await $("sh", ["-c", ${JSON.stringify(touch("module"))}]);`,
  );
  const definition = {
    name: "definition",
    type: "command",
    command: touch("definition"),
    matcher: { events: "Stop" },
  } as const;
  for (const sandbox of ["workspace", "hooks"] as const) {
    const model = scripted([{ text: "." }]);
    await agent({ model, cwd, hooks: join(cwd, "hooks"), sandbox }).run("go", {
      hooks: ({ host }) => definitions({ hooks: { definitions: [definition] } }, { host, workspace: cwd }),
    });
    for (const name of ["command", "module", "definition"]) {
      assert.equal(existsSync(join(cwd, name)), true, `${name}, ${sandbox}`);
      assert.equal(existsSync(join(outside, name)), sandbox === "workspace", `${name}, ${sandbox}`);
      rmSync(join(cwd, name));
      rmSync(join(outside, name), { force: true });
    }
  }
});

test("a sandbox of an unknown kind is refused before anything runs", () => {
  const typo = { sandbox: "wrokspace" as "workspace" };
  assert.throws(() => agent(typo), {
    name: "TypeError",
    message: `Cannot make an agent as 'sandbox' must be "workspace" or "hooks": current value is "wrokspace"`,
  });
});
