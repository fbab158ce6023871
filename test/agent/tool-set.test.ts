import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { agent, tool } from "../../lib/index.ts";
import { scripted } from "../../lib/testing/index.ts";
import { scratch } from "../_scratch.ts";
import { asProcess } from "../mcp/_start.ts";

test("what a tool holds is let go with the last session that uses it, and a failure of that is a warning", async () => {
  const noted: string[] = [];
  const input = { type: "object" } as const;
  const own = tool({ name: "Own", description: "", input, run: () => "", close: () => void noted.push("own") });
  const sdk = {
    name: "sdk",
    input_schema: input,
    run: () => "",
    close: () => {
      noted.push("sdk");
      throw new Error("it is stuck");
    },
  };
  const made = agent({ model: scripted([]), tools: [own, sdk] });
  const warnings: string[] = [];
  const first = await made.open();
  const second = await made.open({ on: (event) => void (event.type === "warning" && warnings.push(event.message)) });
  await first.close();
  assert.deepEqual(noted, []);
  await second.close();
  assert.deepEqual(noted, ["own", "sdk"]);
  assert.deepEqual(warnings, ["Cannot close tool sdk as it failed: it is stuck"]);
});

test("a replay that has the results on its tape starts no MCP server", async () => {
  using folder = scratch();
  const mark = join(folder.path, "started");
  const { command, args } = asProcess();
  const quoted = [command, ...args].map((word) => `'${word}'`).join(" ");
  const servers = { srv: { command: "sh", args: ["-c", `echo x >> ${mark}; exec ${quoted}`] } };
  const replies = () => scripted([{ tools: [{ name: "mcp__srv__echo", input: { text: "hi" } }] }, { text: "end" }]);
  const run = (mode: "record" | "replay") =>
    agent({ model: replies(), mcp: { servers }, tape: { path: join(folder.path, "tape"), mode, tools: true } }).run(
      "go",
    );
  const recorded = await run("record");
  assert.equal(readFileSync(mark, "utf8"), "x\n");
  const replayed = await run("replay");
  assert.equal(replayed.stop, "done");
  assert.deepEqual(replayed.messages, recorded.messages);
  assert.match(JSON.stringify(replayed.messages), /echo hi/);
  assert.equal(readFileSync(mark, "utf8"), "x\n");
});

test("MCP tools that a tape stands in for refuse the input they refused, and run beside others as they did", async () => {
  using folder = scratch();
  const call = (name: string, input: object) => ({ name: `mcp__srv__${name}`, input });
  const calls = [call("look", {}), call("look", {}), call("echo", { text: 5 }), call("echo", { text: "hi" })];
  const run = (mode: "record" | "replay") =>
    agent({
      model: scripted(mode === "record" ? [{ tools: calls }, { text: "end" }] : []),
      mcp: { servers: { srv: asProcess() } },
      hooks: { postToolUse: (_, ctx) => void ctx.addContext(`${ctx.now().getTime()} ${ctx.uuid()}`) },
      tape: { path: join(folder.path, "tape"), mode, tools: true },
    }).run("go");
  const recorded = await run("record");
  assert.match(JSON.stringify(recorded.messages), /its input is not valid/);
  const replayed = await run("replay");
  assert.deepEqual([replayed.stop, replayed.messages], ["done", recorded.messages]);
});

test("command hooks get the server of an MCP tool as hosts pass it", async () => {
  using folder = scratch();
  const seen = join(folder.path, "seen.json");
  mkdirSync(join(folder.path, "hooks"));
  writeFileSync(join(folder.path, "hooks/pre-tool-use.sh"), `#!/bin/sh\ncat > ${seen}`, { mode: 0o755 });
  await agent({
    model: scripted([{ tools: [{ name: "mcp__my_srv__echo", input: { text: "hi" } }] }, { text: "end" }]),
    hooks: join(folder.path, "hooks"),
    mcp: { servers: { "my srv": asProcess() } },
  }).run("go");
  assert.ok(existsSync(seen));
  const { mcp_server, tool_name } = JSON.parse(readFileSync(seen, "utf8"));
  assert.deepEqual([tool_name, mcp_server], ["mcp__my_srv__echo", { name: "my srv", source: "dynamic" }]);
});
