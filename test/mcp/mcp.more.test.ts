import assert from "node:assert/strict";
import { cpSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { agent } from "../../lib/index.ts";
import { scripted } from "../../lib/testing/index.ts";
import { scratch } from "../_scratch.ts";
import { asProcess, calling, scriptAsProcess } from "./_start.ts";

test("a process that speaks only the newest protocol is asked again in it", async () => {
  const { results, warnings } = await calling({ servers: { srv: asProcess("--modern") } }, [
    { name: "mcp__srv__echo", input: { text: "hi" } },
  ]);
  assert.deepEqual(warnings, []);
  assert.equal(results[0]?.content, "echo hi");
});

test("a server that ends between calls is reported and started again by the next call", async () => {
  const { results, warnings } = await calling({ servers: { srv: asProcess() } }, [
    { name: "mcp__srv__crash" },
    { name: "mcp__srv__echo", input: { text: "again" } },
  ]);
  assert.equal(results[0]!.is_error, true);
  assert.match(String(results[0]!.content), /^Cannot call crash of MCP server 'srv' as /);
  assert.match(warnings.join(), /MCP server 'srv' has ended/);
  assert.equal(results[1]!.content, "echo again");
});

test("a call that takes too long fails, and one that is interrupted ends with its run", async () => {
  const slow = [{ name: "mcp__srv__slow" }, { name: "mcp__srv__echo", input: { text: "on" } }];
  const { results } = await calling({ servers: { srv: { ...asProcess(), timeout: 1000 } } }, slow);
  assert.match(String(results[0]!.content), /as it did not answer within 1 s$/);
  assert.equal(results[1]!.content, "echo on");

  const stop = new AbortController();
  const interrupted = await calling({ servers: { srv: asProcess() } }, slow, {
    signal: stop.signal,
    on: (event) => void (event.type === "tool_start" && setTimeout(() => stop.abort(), 50)),
  });
  assert.equal(interrupted.stop, "aborted");
});

test("tools that a server adds while it runs can be called, under a name that the API takes", async () => {
  const grown = "mcp__srv__grown_up";
  const model = scripted([{ tools: [{ name: "mcp__srv__grow", input: {} }] }], {
    then: ({ tools, messages }) => {
      if (JSON.stringify(messages).includes(`"name":"${grown}"`)) return { text: "." };
      return { tools: [{ name: tools.some(({ name }) => name === grown) ? grown : "Wait", input: {} }] };
    },
  });
  const result = await agent({
    mcp: { servers: { srv: asProcess() } },
    tools: [{
      name: "Wait",
      input_schema: { type: "object" },
      run: () => new Promise((resolve) => setTimeout(resolve, 100, "waited")),
    }],
    model,
  }).run("go");
  assert.equal(result.stop, "done");
  assert.match(JSON.stringify(result.messages.at(-2)), /"content":"tall"/);
});

test("a server that never stops changing its tools is asked for them about once a second", async () => {
  const { results } = await calling({ servers: { srv: scriptAsProcess("_restless-server.ts") } }, [
    { name: "mcp__srv__count" },
  ]);
  const listed = Number(results[0]!.content);
  assert.ok(listed >= 1 && listed <= 4, `listed ${listed} times for 20 changes`);
});

test("if the client is not installed, a warning says which package to install, and the run continues", async () => {
  using folder = scratch();
  cpSync(fileURLToPath(new URL("../../lib", import.meta.url)), join(folder.path, "lib"), { recursive: true });
  const { connectServers } = await import(pathToFileURL(join(folder.path, "lib/mcp/mcp.ts")).href);
  const warnings: string[] = [];
  const connected = await connectServers({ servers: { srv: asProcess() } }, {
    cwd: folder.path,
    signal: new AbortController().signal,
    warn: (message: string) => warnings.push(message),
    changed: () => {},
  });
  assert.deepEqual(connected.tools(), []);
  assert.deepEqual(warnings, [
    "Cannot use MCP servers as '@modelcontextprotocol/client' is not installed: npm install @modelcontextprotocol/client",
  ]);
  await connected.close();
});
