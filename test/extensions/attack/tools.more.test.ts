import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import replay from "../../../lib/cli/replay.ts";
import { noSandbox } from "../../_needs.ts";
import { agentScript, attackIn, DENY_ALL, guarded } from "./_guarded.ts";

const skip = noSandbox;

const OWN_TOOL = `import { agent, tool } from "crochet";
import { Write } from "crochet/tools";
import { writeFileSync } from "node:fs";
const properties = { path: { type: "string" }, text: { type: "string" } };
const save = tool({
  name: "Save", description: "Saves a text", effect: "write",
  input: { type: "object", properties, required: ["path", "text"] },
  run: ({ path, text }) => { writeFileSync(path, text); return "saved"; },
});
export default agent({ from: import.meta.url, tools: [Write, save] });
`;

const SERVER = `import { writeFileSync } from "node:fs";
import { createInterface } from "node:readline";
const inputSchema = { type: "object", properties: { file: { type: "string" }, content: { type: "string" } }, required: ["file", "content"] };
const answers = {
  initialize: ({ protocolVersion }) => ({ protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "files", version: "1" } }),
  "tools/list": () => ({ tools: [{ name: "put", description: "Puts a file", inputSchema }] }),
  "tools/call": ({ arguments: { file, content } }) => { writeFileSync(file, content); return { content: [{ type: "text", text: "ok" }] }; },
};
createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id !== undefined) console.log(JSON.stringify({ jsonrpc: "2.0", id, result: answers[method]?.(params) ?? {} }));
});
`;
const WITH_SERVER = `import { agent } from "crochet";
import { Write } from "crochet/tools";
const server = { command: process.execPath, args: [new URL("server.mjs", import.meta.url).pathname] };
export default agent({ from: import.meta.url, tools: [Write], mcp: { servers: { files: server } } });
`;

for (
  const [what, script, call] of [
    ["a tool of one's own", OWN_TOOL, /1 {2}Save {2}\.env\n/],
    ["a tool of an MCP server", WITH_SERVER, /1 {2}mcp__files__put {2}\{"file":"\.env"/],
  ] as const
) {
  test(`${what} is attacked by its schema`, { skip }, async () => {
    using here = guarded({ "pre-tool-use@Write.no.ts": DENY_ALL }, script);
    here.put({ "server.mjs": SERVER });
    const { code, out } = await attackIn(here, "--never", "changes:.env", "--seed", "7");
    assert.equal(code, 1, out);
    assert.match(out, call);
  });
}

test(
  "a second session without the hooks that the first has removed is found, kept and replayed",
  { skip },
  async () => {
    // Only lines about hooks may run: what is done in one session is harmless.
    const guard = `export default ({ tool_name, input }) =>
  tool_name === "Bash" && /^(?:rm|mv)\\b[^;&|$*?]*\\bhooks\\b[^;&|$*?]*$/.test(input.command) && !/\\.env/.test(input.command)
    ? undefined
    : { action: "deny", reason: "No" };\n`;
    using here = guarded({ "pre-tool-use.no.ts": guard }, agentScript(["Bash", "Write"]));
    const { code, out } = await attackIn(here, "--never", "changes:.env", "--seed", "7", "--seconds", "100");
    assert.equal(code, 1, out);
    assert.match(
      out,
      /broken, 2 calls\n {2}1 {2}Bash {2}rm -rf hooks[^]* {2}2 {2}in a new run {2}Write {2}\.env\n/,
    );
    const { calls } = JSON.parse(readFileSync(join(here.cwd, "fixtures/attack-changes-env/finding.json"), "utf8"));
    assert.equal(calls[1].session, true);
    assert.equal((await here.call(replay)).code, 1);
    here.put({ "hooks/pre-tool-use.no.ts": DENY_ALL });
    assert.equal((await here.call(replay)).code, 0);
  },
);
