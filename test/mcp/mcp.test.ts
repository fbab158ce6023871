import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { modify } from "../../lib/index.ts";
import { rows } from "../_counts.ts";
import { withEnv } from "../_env.ts";
import { scratch } from "../_scratch.ts";
import { serve } from "../_server.ts";
import { asProcess, calling, listening } from "./_start.ts";
import { PNG } from "./_tools.ts";

const ALL = ["echo", "look", "weigh", "fail", "slow", "env", "fork", "crash", "grow", "steps"];
const named = (server: string) => ALL.map((tool) => `mcp__${server}__${tool}`);

test("the tools of a process are called by name, and the model reads text, pictures, data and failures", async () => {
  const { tools, results, warnings, events } = await calling({ servers: { srv: asProcess() } }, [
    { name: "mcp__srv__echo", input: { text: "hi" } },
    { name: "mcp__srv__look" },
    { name: "mcp__srv__weigh" },
    { name: "mcp__srv__fail" },
    { name: "mcp__srv__echo", input: { text: 1 } },
    { name: "mcp__srv__steps" },
  ]);
  assert.deepEqual(warnings, []);
  assert.deepEqual(tools, named("srv"));
  const [echo, look, weigh, fail, wrong] = results;
  assert.equal(echo!.content, "echo hi");
  assert.deepEqual(look!.content, [
    { type: "text", text: "a picture:" },
    { type: "image", source: { type: "base64", media_type: "image/png", data: PNG } },
    { type: "text", text: "(an image of type image/tiff, which cannot be shown)" },
    { type: "text", text: "notes: file:///notes.txt" },
    { type: "text", text: "file:///a.txt:\ninside" },
  ]);
  assert.equal(weigh!.content, '{"grams":12}');
  assert.deepEqual([fail!.content, fail!.is_error], ["it broke", true]);
  assert.equal(wrong!.is_error, true);
  assert.match(String(wrong!.content), /text/);
  assert.ok(events.some((event) => event.type === "tool_progress" && event.text === "half\n"), "progress is shown");
});

for (const [how, ...args] of rows(1, [["in the newest way only", "--modern"], ["in both ways"]])) {
  test(`a server over HTTP that speaks ${how} is used, with the headers it wants`, async () => {
    using server = await listening(...args);
    const { results, warnings, tools } = await calling(
      { servers: { web: { type: "http", url: server.url, headers: { "x-key": "open" } } } },
      [{ name: "mcp__web__echo", input: { text: "hi" } }, { name: "mcp__web__fail" }],
    );
    assert.deepEqual(warnings, []);
    assert.deepEqual(tools, named("web"));
    assert.deepEqual(results.map(({ content, is_error }) => [content, is_error ?? false]), [
      ["echo hi", false],
      ["it broke", true],
    ]);
  });
}

test("hooks and permission rules hold for MCP tools as for any tool", async () => {
  const seen: unknown[] = [];
  const { results } = await calling({ servers: { srv: asProcess() } }, [
    { name: "mcp__srv__echo", input: { text: "hi" } },
    { name: "mcp__srv__fail" },
    { name: "mcp__srv__look" },
  ], {
    permissions: { mode: "default", allow: ["mcp__srv__echo"], deny: ["mcp__srv__fail"] },
    hooks: {
      preToolUse: ({ tool_name, input }) =>
        tool_name === "mcp__srv__echo" ? modify({ ...input, text: `${input.text}!` }) : undefined,
      postToolUse: ({ result }) => {
        seen.push(result.response);
        return modify({ ...result, content: "changed" });
      },
    },
  });
  assert.deepEqual(seen, [[{ type: "text", text: "echo hi!" }]]);
  assert.equal(results[0]!.content, "changed");
  assert.match(String(results[1]!.content), /The rule mcp__srv__fail denies it/);
  // That a server calls its tool harmless gives it no leave.
  assert.match(String(results[2]!.content), /permissions\.allow \["mcp__srv__look"\]/);
});

test("a broken or slow server is a warning with its reason, never a failed run", async () => {
  using silent = await serve(() => {});
  const shell = (line: string) => ({ command: "sh", args: ["-c", line] });
  const { warnings, results } = await calling({
    startTimeout: 4000,
    servers: {
      gone: { command: "/no/such/server" },
      dies: shell("echo 'no licence' >&2; exit 2"),
      broken: shell("printf 'Error: no mill\\n    at mill.ts:1\\n\\nNode.js v24\\n' >&2; exit 1"),
      mute: shell("echo 'starting …'; sleep 100"),
      shut: { url: "http://127.0.0.1:9/mcp" },
      slow: { url: `${silent.url}/mcp` },
      good: asProcess(),
      "good_": asProcess(),
    },
  }, [{ name: "mcp__good__echo", input: { text: "hi" } }]);
  const about = (name: string) => warnings.find((warning) => warning.includes(`'${name}'`)) ?? "";
  assert.match(about("gone"), /^Cannot use MCP server 'gone' as .*(no such|ENOENT)/);
  assert.match(about("dies"), /^Cannot use MCP server 'dies' as .*: no licence$/);
  assert.match(about("broken"), /^Cannot use MCP server 'broken' as .*: Error: no mill$/, "not the runtime's version");
  assert.match(about("mute"), /as it was not ready within 4 s$/);
  assert.match(about("shut"), /^Cannot use MCP server 'shut' as /);
  assert.match(about("slow"), /as .*(not ready within 4 s|timed out)/i);
  assert.match(about("good_"), /as another is called 'good' already: rename one/);
  assert.equal(warnings.length, 7, warnings.join("\n"));
  assert.equal(results[0]!.content, "echo hi");
});

test("servers end with their session, and so does everything they started", async () => {
  const { results } = await calling({ servers: { srv: asProcess(), web: asProcess() } }, [
    { name: "mcp__srv__fork" },
    { name: "mcp__web__env" },
  ]);
  const child = Number(results[0]!.content);
  assert.ok(child > 1);
  // Whoever inherits what is dead may not bury it: a process without a command line is as good as gone.
  const line = await readFile(`/proc/${child}/cmdline`, "utf8").catch(() => "");
  assert.equal(line, "", "the child of the server is gone");
});

test("a server gets its own environment and arguments, and none of our secrets", async () => {
  const servers = { srv: { ...asProcess("one", "two"), env: { MINE: "1" } } };
  const { results } = await withEnv(
    { SOME_API_KEY: "sk-secret" },
    () => calling({ servers }, [{ name: "mcp__srv__env" }]),
  );
  const { args, env } = JSON.parse(String(results[0]!.content));
  assert.deepEqual(args, ["one", "two"]);
  assert.equal(env.MINE, "1");
  assert.equal(env.PATH, process.env.PATH);
  assert.equal(env.SOME_API_KEY, undefined);
});

/** A server of one tool, whose input it describes and never looks at. */
const DESCRIBING = (schema: object) =>
  `require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
    const { id, method, params } = JSON.parse(line);
    if (id === undefined) return;
    const result = method === "initialize"
      ? { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "x", version: "1" } }
      : method === "tools/list"
      ? { tools: [{ name: "take", inputSchema: ${JSON.stringify(schema)} }] }
      : { content: [{ type: "text", text: "taken" }] };
    console.log(JSON.stringify({ jsonrpc: "2.0", id, result }));
  });`;

test("a pattern of a server's schema that could take forever is never used", async () => {
  using folder = scratch();
  const taking = async (pattern: string, text: string) => {
    const file = join(folder.path, "server.cjs");
    writeFileSync(file, DESCRIBING({ type: "object", properties: { text: { type: "string", pattern } } }));
    const args = "Deno" in globalThis ? ["run", "-A", "--quiet", file] : ["run", file];
    const { results } = await calling({ servers: { srv: { command: process.execPath, args } } }, [
      { name: "mcp__srv__take", input: { text } },
    ]);
    return String(results[0]!.content);
  };
  assert.equal(await taking("^(a+)+$", `${"a".repeat(60)}!`), "taken");
  assert.match(await taking("^a+$", "b"), /Cannot call mcp__srv__take as its input is not valid/);
});

test("DOORS 16: a server that lists more than 2,000 tools is refused by name, and one that lists 2,000 is not", async () => {
  using folder = scratch();
  const file = join(folder.path, "server.cjs");
  const args = "Deno" in globalThis ? ["run", "-A", "--quiet", file] : ["run", file];
  for (const count of [2000, 2001]) {
    const many = `Array.from({ length: ${count} }, (_, n) => ({ name: "t" + n, inputSchema: { type: "object" } }))`;
    writeFileSync(file, DESCRIBING({}).replace(/\[\{ name: "take".*\}\] \}/, `${many} }`));
    const wide = { command: process.execPath, args };
    const { tools, warnings } = await calling({ servers: { wide } }, []);
    assert.equal(tools.length, count === 2000 ? 2000 : 0);
    const refused = "Cannot use MCP server 'wide' as it lists 2001 tools, more than 2000";
    assert.deepEqual(warnings, count === 2000 ? [] : [refused]);
  }
});
