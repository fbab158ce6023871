import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { type ScriptedReply, scriptedServer } from "../../lib/testing/index.ts";
import { place } from "../_place.ts";
import { LIB, RUNTIME } from "../_runtime.ts";
import { SERVER } from "../extensions/tape/_mcp-scripts.ts";
import { asked } from "./_recorded.ts";

/** A project whose agent has a shell and a server that says something else each time; both leave a line when they run. */
function project(label = "none") {
  const here = place({ "server.mjs": SERVER });
  const file = (name: string) => join(here.home, name);
  const [command, ...args] = RUNTIME;
  const env = { STARTED: file("started"), LABEL: label };
  const weather = { command, args: [...args, join(here.cwd, "server.mjs")], env };
  here.put({
    "agent.ts": `import { agent } from "${LIB}/index.ts";\nimport { Bash } from "${LIB}/tools/index.ts";\n` +
      `export default agent({ from: import.meta.url, tools: [Bash], permissions: { mode: "bypassPermissions" },\n` +
      `  mcp: { servers: ${JSON.stringify({ weather })} } });\n`,
  });
  const bash = { command: `echo ran >> ${file("shell")}; echo made > made`, description: "Make" };
  const replies = (calls: readonly [tool: string, input: object][]): ScriptedReply[] => [
    ...calls.map(([tool, input]) => ({ tools: [{ name: `mcp__weather__${tool}`, input }] })),
    { tools: [{ name: "Bash", input: bash }] },
    { text: "done" },
  ];
  return {
    ...here,
    record: async (calls: Parameters<typeof replies>[0], ...flags: string[]) => {
      await using server = await scriptedServer(replies(calls));
      return await here.main(["record", "agent.ts", "--tools", ...flags, "go on", "--fixture", "w"], asked(server));
    },
    tape: () => readFileSync(join(here.cwd, "fixtures/w/tape.jsonl"), "utf8"),
    hasTape: () => existsSync(join(here.cwd, "fixtures/w/tape.jsonl")),
    runs: () => ["started", "shell"].map((name) => readFileSync(file(name), "utf8").trim().split("\n").length),
  };
}

const BONN: [string, object] = ["get_weather", { city: "Bonn" }];

test(
  "record --tools mcp serves the results of MCP servers, which a replay does not start, and runs other tools",
  async () => {
    using here = project();
    const { code: mistyped, err: known } = await here.record([], "--tools=mpc");
    assert.deepEqual([mistyped, here.hasTape()], [2, false]);
    assert.match(known, /Cannot record tools 'mpc': write --tools for all, or --tools mcp/);
    const { code, err } = await here.record([BONN, BONN], "mcp");
    assert.deepEqual([code, here.runs()], [0, [1, 2]], "the proof starts no server, and runs other tools");
    assert.match(err, /^runs it once more, offline for the model, .* \(--once leaves it out\)\n$/);
    const { tools, mcp } = JSON.parse(here.tape().split("\n", 1)[0]!);
    assert.deepEqual([tools, mcp], [false, true]);
    assert.deepEqual(
      here.tape().match(/"name":"\w+"(?=,"effect")/g),
      Array(2).fill(`"name":"mcp__weather__get_weather"`),
    );
    for (const again of [3, 4]) {
      const { code, out, err } = await here.main(["replay", "w"]);
      assert.equal(code, 0, out + err);
      assert.deepEqual(here.runs(), [1, again], "the shell has run, no server has");
    }
    const { code: verified, out } = await here.main(["replay", "w", "--verify"]);
    assert.deepEqual([verified, here.runs()[0]], [1, 2], "it starts to be compared");
    assert.match(out, /mcp__weather__get_weather/);
    // An eval would start it, as it does what was recorded with all results.
    const { code: refused, err: why } = await here.main(["eval", "w"], { ANTHROPIC_API_KEY: "none" });
    assert.deepEqual([refused, here.runs()[0]], [2, 2]);
    assert.match(why, /recorded with --tools, and its tools may pay or send/);
  },
);

test("no byte of the variables of an agent's MCP server is on a tape with its results", async () => {
  const label = "blue-harbour-twelve";
  using here = project(label);
  const { code, err } = await here.record([["get_env", { name: "LABEL" }]], "mcp");
  assert.deepEqual([code, here.hasTape()], [1, false]);
  assert.match(err, /shows the value of the environment variable LABEL/);
  assert.equal((await here.record([["get_env", { name: "LABEL" }]], "mcp", "--redact")).code, 0);
  assert.ok(!here.tape().includes(label) && here.tape().includes("{SECRET:LABEL}"));
  assert.equal((await here.main(["replay", "w"])).code, 0);
});

test("a server of .mcp.json that is gone or has another name is drift, by its name", async () => {
  using here = place({ "server.mjs": SERVER });
  const [command, ...args] = RUNTIME;
  const weather = {
    command,
    args: [...args, join(here.cwd, "server.mjs")],
    env: { STARTED: join(here.home, "started") },
  };
  const servers = (mcpServers: object) => here.put({ ".mcp.json": JSON.stringify({ mcpServers }) });
  here.put({
    "agent.ts": `import { agent } from "${LIB}/index.ts";\n` +
      `export default agent({ from: import.meta.url, permissions: { mode: "bypassPermissions" } });\n`,
  });
  servers({ weather });
  await using server = await scriptedServer([
    { tools: [{ name: "mcp__weather__get_weather", input: { city: "Bonn" } }] },
    { text: "done" },
  ]);
  const made = await here.main(["record", "agent.ts", "--trust", "go on", "--fixture", "w"], asked(server));
  assert.equal(made.code, 0, made.err);
  const same = await here.main(["replay", "w", "--trust"]);
  assert.equal(same.code, 0, same.out + same.err);
  for (const now of [{}, { climate: weather }]) {
    servers(now);
    const { code, out } = await here.main(["replay", "w", "--trust"]);
    assert.equal(code, 1, out);
    assert.match(out, /weather/);
  }
});
