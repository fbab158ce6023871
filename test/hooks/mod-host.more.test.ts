import assert from "node:assert/strict";
import { appendFileSync, chmodSync, existsSync, readdirSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { scriptedServer } from "../../lib/testing/server.ts";
import { ended } from "../_crochet.ts";
import { noSandbox } from "../_needs.ts";
import { type Place, place } from "../_place.ts";
import { put } from "../_scratch.ts";
import { CASES, installMod, type ModCase } from "./_mod.ts";
import { hostProgram } from "./_real-hosts.ts";

const PACKAGE = "@anthropic-ai/claude-code@2.1.325";
const FOLDER = process.env.CROCHET_TEST_HOSTS ?? join(tmpdir(), "crochet-test-hosts");

const SKIP = !process.env.CROCHET_TEST_LONG
  ? { skip: "real hosts run in test:long" }
  : "Deno" in globalThis
  ? { skip: "the program is the same under both runtimes" }
  : {};

const claude = "skip" in SKIP ? undefined : hostProgram(join(FOLDER, "claude"), [PACKAGE], "claude");
const NEEDED = "skip" in SKIP ? SKIP : claude === undefined ? { skip: `${PACKAGE} cannot be installed` } : {};

/** An MCP server "s" with a tool "echo", in JSON lines on stdin and stdout. */
const SERVER = `
const answers = {
  initialize: ({ protocolVersion }) => ({ protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "s", version: "1" } }),
  "tools/list": () => ({ tools: [{ name: "echo", inputSchema: { type: "object" } }] }),
  "tools/call": ({ arguments: given }) => ({ content: [{ type: "text", text: JSON.stringify(given) }] }),
};
require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id !== undefined) console.log(JSON.stringify({ jsonrpc: "2.0", id, result: answers[method]?.(params) ?? {} }));
});
`;

/** Managed settings lie in a folder of the machine: the program gets an /etc that has it. */
function managed(here: Place, settings: object): string[] {
  put(here.home, { "managed/managed-settings.json": JSON.stringify(settings) });
  const kept = readdirSync("/etc").filter((name) => name !== "claude-code")
    .flatMap((name) => ["--ro-bind-try", `/etc/${name}`, `/etc/${name}`]);
  return ["bwrap", "--dev-bind", "/", "/", "--tmpfs", "/etc", ...kept]
    .concat("--ro-bind", join(here.home, "managed"), "/etc/claude-code", "--");
}

/** Plays a case in Claude Code, with a model on 127.0.0.1. */
async function play(here: Place, mod: string, { model, subagent = [], ...given }: ModCase, more = {}) {
  const state = { hasCompletedOnboarding: true, projects: { [here.cwd]: { hasTrustDialogAccepted: true } } };
  put(here.home, { ".claude.json": JSON.stringify(state), "s.cjs": SERVER });
  const [steps, below] = [[...model], [...subagent]];
  const asked: string[] = [];
  let requests = 0;
  await using server = await scriptedServer([], {
    then: ({ messages, tools = [] }) => {
      if (tools.length === 0) return { text: "ok" };
      asked.push(JSON.stringify(messages));
      if (JSON.stringify(messages[0]).includes("SUBTASK")) return below.shift() ?? { text: "done" };
      requests++;
      return steps.shift() ?? { text: "done" };
    },
  });
  const servers = { mcpServers: { s: { command: "node", args: [join(here.home, "s.cjs")] } } };
  const args = ["-p", "go", "--model", "claude-sonnet-4-5", "--plugin-dir", mod]
    .concat(given.allowedTools ? ["--allowedTools", given.allowedTools] : [])
    .concat(given.mcp ? ["--mcp-config", JSON.stringify(servers)] : []);
  const env = {
    ...{ HOME: here.home, PATH: `${dirname(claude!)}:${process.env.PATH}`, ...more },
    ...{ ANTHROPIC_BASE_URL: server.url, ANTHROPIC_API_KEY: "test" },
    ...{ CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1", DISABLE_AUTOUPDATER: "1" },
  };
  const by = given.managedSettings ? managed(here, given.managedSettings) : [];
  const [program, ...words] = [...by, claude!, ...args];
  const { code, out, err } = await ended([program!, ...words], { cwd: here.cwd, env });
  const path = join(here.cwd, "made.txt");
  const made = existsSync(path) ? readFileSync(path, "utf8").trim() : null;
  return { code, out, made, requests, read: asked.join("\n"), shown: `${out}\n${err}\n${asked.at(-1)?.slice(-2000)}` };
}

function caseFiles({ hooks }: Pick<ModCase, "hooks">): Record<string, string> {
  return Object.fromEntries(Object.entries(hooks).map(([name, text]) => [`hooks/${name}`, text]));
}

for (const given of CASES) {
  const skip = given.managedSettings && noSandbox ? { skip: noSandbox } : NEEDED;
  test(`in Claude Code a mod does as the case ${given.id} says`, skip, async () => {
    using here = place(caseFiles(given));
    for (const name of Object.keys(given.hooks).filter((name) => name.endsWith(".sh"))) {
      chmodSync(join(here.cwd, "hooks", name), 0o755);
    }
    const mod = await installMod(here);
    let more = {};
    if (given.given) {
      appendFileSync(join(mod, "hooks/register.js"), "import('x');\n");
      const [variable] = /CROCHET_MOD_\w+/.exec(readFileSync(join(mod, "hooks/hooks.json"), "utf8"))!;
      more = { [variable]: "11111111-2222-3333-4444-555555555555" };
    }
    const { code, out, made, requests, read, shown } = await play(here, mod, given, more);
    const { expect } = given;
    assert.equal(code, 0, shown);
    if (expect.made !== undefined) assert.equal(made, expect.made, shown);
    if (expect.requests !== undefined) assert.equal(requests, expect.requests, shown);
    for (const words of expect.reads ?? []) assert.ok(read.includes(words), `${words}\n${shown}`);
    if (expect.stdout !== undefined) assert.ok(out.includes(expect.stdout), shown);
  });
}
