import assert from "node:assert/strict";
import { test } from "node:test";
import { agent } from "../../lib/index.ts";
import { readServers } from "../../lib/mcp/servers.ts";
import { scripted } from "../../lib/testing/index.ts";
import run from "../../lib/cli/run.ts";
import trust from "../../lib/cli/trust.ts";
import { place } from "../_place.ts";
import { asProcess } from "./_start.ts";

test("variables in a file of servers are put in as other hosts do it, with what stands in for them", () => {
  const { servers, problems } = readServers(
    {
      one: { command: "${BIN}/server", args: ["--key=${KEY:-none}", "${EMPTY:-e}", "$PLAIN"], env: { A: "${BIN}" } },
      two: { type: "streamable-http", url: "https://${HOST:-example.com}/mcp", headers: { auth: "Bearer ${KEY:-}" } },
      off: { command: "x", disabled: true },
      lost: { command: "${NOWHERE}" },
    },
    { BIN: "/bin", EMPTY: "" },
    ".mcp.json",
  );
  assert.deepEqual(servers, {
    one: { command: "/bin/server", args: ["--key=none", "e", "$PLAIN"], env: { A: "/bin" } },
    two: { type: "http", url: "https://example.com/mcp", headers: { auth: "Bearer " } },
  });
  assert.deepEqual(problems, [
    "Cannot use MCP server 'lost' of .mcp.json as it needs the variable NOWHERE, which is not set: set it, or write ${NOWHERE:-…}",
  ]);
});

test("one invalid server never removes the others", () => {
  const { servers, problems } = readServers(
    {
      good: { command: "x", unknown: 1 },
      none: {},
      both: { command: "x", url: "http://x" },
      old: { type: "sse", url: "http://x" },
      bad: { url: "ftp://x" },
      list: { command: "x", args: "y" },
      late: { command: "x", timeout: 0 },
      nil: null,
    },
    {},
    ".mcp.json",
  );
  assert.deepEqual(Object.keys(servers), ["good"]);
  assert.equal(problems.length, 7);
  assert.match(problems.join("\n"), /'old' of \.mcp\.json as its type "sse" is not supported: expected "http"/);
  assert.match(readServers([], {}, ".mcp.json").problems[0]!, /they are not an object/);
});

test("agent() refuses MCP servers that cannot be meant, before anything begins", () => {
  const model = scripted([]);
  const refused = (mcp: unknown) => () => agent({ model, mcp: mcp as { servers: Record<string, never> } });
  assert.throws(refused({}), /Cannot use mcp as it has no servers/);
  assert.throws(refused({ server: {} }), /option 'server' is unknown/);
  assert.throws(refused({ servers: { a: {} } }), /Cannot use MCP server 'a' as it has neither a command nor a url/);
  assert.throws(refused({ servers: { a: { comand: "x", url: "http://x" } } }), /did you mean 'command'\?/);
  assert.throws(refused({ servers: {}, startTimeout: -1 }), /'startTimeout' must be more than 0: current value is -1/);
});

const SCRIPT = `
import { agent } from "crochet";
import { scripted } from "crochet/testing";
const replies = [{ tools: [{ name: "mcp__srv__echo", input: { text: "hi" } }] }, { text: "end" }];
export default agent({ model: (request, signal) => scripted(replies.slice(request.messages.length === 1 ? 0 : 1))(request, signal) });
`.replace(/"(crochet[^"]*)"/g, (_, name: string) => {
  return JSON.stringify(
    new URL(name === "crochet" ? "../../lib/index.ts" : "../../lib/testing/index.ts", import.meta.url),
  );
});

test("U16: crochet run starts the servers of .mcp.json only if they are trusted", async () => {
  const file = JSON.stringify({ mcpServers: { srv: { ...asProcess(), env: { A: "${HOME}" } } } });
  using w = place({ "agent.ts": SCRIPT, ".mcp.json": file });
  const args = ["agent.ts", "go", "--permission-mode", "bypass", "--output", "json"];
  const answered = (out: string) => JSON.parse(out).messages[2].content[0];

  const untrusted = await w.call(run, ...args);
  assert.match(untrusted.err, /crochet: \.mcp\.json is not trusted: look at it, then run 'crochet trust'/);
  assert.equal(answered(untrusted.out).is_error, true);

  assert.match((await w.call(trust)).out, /\.mcp\.json/);
  const trusted = await w.call(run, ...args);
  assert.equal(trusted.err, "");
  assert.equal(answered(trusted.out).content, "echo hi");

  w.put({ ".mcp.json": "{" });
  assert.match((await w.call(run, ...args)).err, /\.mcp\.json has changed since it was trusted/);
  assert.match((await w.call(run, ...args, "--trust")).err, /Cannot use \.mcp\.json as it is not JSON/);
});

test("crochet run starts the servers of .crochet/config.yaml if it is trusted", async () => {
  const config = `mcp:\n  servers:\n    srv: ${JSON.stringify(asProcess())}\n`;
  using w = place({ "agent.ts": SCRIPT, ".crochet/config.yaml": config });
  const args = ["agent.ts", "go", "--permission-mode", "bypass", "--output", "json"];
  assert.match((await w.call(run, ...args)).err, /until then its 'mcp' does not count/);
  const { out } = await w.call(run, ...args, "--trust");
  assert.equal(JSON.parse(out).messages[2].content[0].content, "echo hi");
});
