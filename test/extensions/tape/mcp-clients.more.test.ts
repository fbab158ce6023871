import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fixtureAt } from "../../../lib/replay/fixture.ts";
import { readTape } from "../../../lib/replay/read-tape.ts";
import { recordCommand } from "../../../lib/extensions/tape/run-command.ts";
import { RUNTIME } from "../../_runtime.ts";
import { put, scratch } from "../../_scratch.ts";
import { CLIENT_TEST, clientEnv, clientHome, packagesOf, replayedAlone } from "./_clients.ts";
import { SERVER } from "./_mcp-scripts.ts";
import { type Calls, upstream } from "./_upstream.ts";

interface Server {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: { readonly [name: string]: string };
}

interface Client {
  readonly install: string;
  readonly command: readonly string[];
  /** The same with arguments that name the server. */
  readonly own?: (server: Server) => readonly string[];
  /** The user's files that name the server. */
  readonly files: (server: Server, project: string) => { readonly [path: string]: string };
  readonly calls: (name: string, input: object, env: { readonly [name: string]: string }) => Calls;
}

const PROMPT = "How is the weather in Bonn?";
const list = (values: readonly string[]) => `[${values.map((value) => JSON.stringify(value)).join(", ")}]`;

const CODEX = ["-m", "gpt-4.1", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"];

const CLIENTS: { readonly [name: string]: Client } = {
  "Claude Code": {
    install: "@anthropic-ai/claude-code@2.1.325",
    command: ["claude", "-p", PROMPT, "--allowedTools", "mcp__weather"],
    own: (weather) => {
      const config = JSON.stringify({ mcpServers: { weather: { type: "stdio", ...weather } } });
      return ["claude", "-p", "--allowedTools", "mcp__weather", "--mcp-config", config, "--", PROMPT];
    },
    files: (server) => ({ ".claude.json": JSON.stringify({ mcpServers: { weather: { type: "stdio", ...server } } }) }),
    calls: (name, input, { TIMES }) => ({ anthropic: { name: `mcp__weather__${name}`, input, times: Number(TIMES) } }),
  },
  "Codex": {
    install: "@openai/codex@0.166.0",
    command: ["codex", "exec", ...CODEX, PROMPT],
    own: ({ command, args, env }) => {
      const values = Object.entries(env).map(([name, value]) => `${name} = ${JSON.stringify(value)}`);
      const table = `mcp_servers.weather={ command = "${command}", args = ${list(args)}, env = { ${values.join()} } }`;
      return ["codex", "exec", "-c", table, ...CODEX, "--", PROMPT];
    },
    files: ({ command, args, env }) => ({
      ".codex/config.toml": [
        "[mcp_servers.weather]",
        `command = ${JSON.stringify(command)}`,
        `args = ${list(args)}`,
        "[mcp_servers.weather.env]",
        ...Object.entries(env).map(([name, value]) => `${name} = ${JSON.stringify(value)}`),
        "",
      ].join("\n"),
    }),
    // It does not wait for its servers, so that the first request is without their tools.
    calls: (name, input, { SLOW = "1500" }) => ({
      responses: [
        { name: "exec_command", input: { cmd: `sleep ${Number(SLOW) / 1000 + 1}`, yield_time_ms: 20_000 } },
        { namespace: "mcp__weather", name, input },
      ],
    }),
  },
  "Gemini CLI": {
    install: "@google/gemini-cli@0.61.0",
    command: ["gemini", "--approval-mode", "yolo", "-p", PROMPT],
    files: (server, project) => ({
      ".gemini/trustedFolders.json": JSON.stringify({ [project]: "TRUST_FOLDER" }),
      ".gemini/settings.json": `{ // mine\n "mcpServers": { "weather": ${
        JSON.stringify({ ...server, trust: true })
      } } }`,
    }),
    calls: (name, input) => ({ gemini: { name: `mcp_weather_${name}`, input } }),
  },
};

interface Scene {
  readonly tool: string;
  readonly input: object;
  /** How often it is called at once; only Claude Code is asked to. @default 1 */
  readonly times?: number;
  readonly env?: { readonly [name: string]: string };
  /** Whether arguments name the server, and not the user's files. @default false */
  readonly own?: boolean;
  readonly check: (facts: NonNullable<Awaited<ReturnType<typeof readTape>>["mcp"]>) => void;
}

const call = (facts: Parameters<Scene["check"]>[0]) => facts.find(({ method }) => method === "tools/call")!;

const SCENES: { readonly [name: string]: Scene } = {
  "random answers": {
    ...{ tool: "get_weather", input: { city: "Bonn" } },
    check: (facts) => assert.match(JSON.stringify(call(facts).result), /Bonn 0\.\d+/),
  },
  "a server that its arguments name": {
    ...{ tool: "get_weather", input: { city: "Bonn" }, own: true },
    check: (facts) => assert.match(JSON.stringify(call(facts).result), /Bonn 0\.\d+/),
  },
  "a server that starts slowly": {
    ...{ tool: "get_weather", input: { city: "Bonn" }, env: { SLOW: "3000" } },
    check: (facts) => assert.ok(facts.some(({ method }) => method === "initialize")),
  },
  "eight equal calls at once": {
    ...{ tool: "get_weather", input: { city: "Bonn" }, times: 8 },
    check: (facts) => assert.equal(new Set(facts.map(({ result }) => JSON.stringify(result))).size, facts.length),
  },
  // Gemini CLI answers that it knows no such question, which its server is told.
  "an elicitation": {
    ...{ tool: "confirm", input: {} },
    check: (facts) => assert.match(JSON.stringify(call(facts).between), /elicitation\/create/),
  },
  "a server that is killed": {
    ...{ tool: "die", input: {} },
    check: (facts) => assert.equal(call(facts).unanswered, true),
  },
};

for (const [name, client] of Object.entries(CLIENTS)) {
  for (const [scene, { tool, input, times = 1, env: variables = {}, own: isOwn, check }] of Object.entries(SCENES)) {
    if ((times > 1 && name !== "Claude Code") || (isOwn && !client.own)) continue;
    const claim = `${name} replays ${scene} twice without a network and without starting its MCP server`;
    test(claim, CLIENT_TEST, async (context) => {
      const packages = packagesOf(client.install);
      if (packages === undefined) return context.skip(`${client.install} cannot be installed here`);
      using project = scratch({ "notes.md": "Ths is a note.\n" });
      using server = scratch({ "server.mjs": SERVER });
      using home = clientHome();
      const started = join(server.path, "started");
      const [command, ...args] = [...RUNTIME, join(server.path, "server.mjs")] as [string, ...string[]];
      const weather = { command, args, env: { STARTED: started, ...variables } };
      const own = isOwn ? {} : client.files(weather, project.path);
      const typed = isOwn ? client.own!(weather) : client.command;
      put(home.path, own);
      using api = await upstream(client.calls(tool, input, { ...variables, TIMES: String(times) }));
      const env = clientEnv(packages, home.path, api.url);
      const fixture = fixtureAt(join(project.path, "fixtures", "run"));
      const given = { command: typed, cwd: project.path, env, quiet: true, timeout: 120 };
      const { end } = await recordCommand(fixture, given);
      assert.equal(end.end, "exit 0", end.stderr);
      check((await readTape(fixture.tape)).mcp ?? []);
      const starts = readFileSync(started, "utf8");
      const bare = { PATH: env.PATH, HOME: home.path, RUST_BACKTRACE: undefined };
      for (const _ of [1, 2]) {
        const { code, err, report } = await replayedAlone(typed, project.path, bare);
        assert.deepEqual([code, report.divergences, report.mcp?.differs], [0, [], []], err);
        assert.equal(report.mcp!.served.weather, times);
      }
      assert.equal(readFileSync(started, "utf8"), starts);
      for (const [path, text] of Object.entries(own)) {
        const now = readFileSync(join(home.path, path), "utf8");
        // Claude Code writes its own state into this file.
        if (path !== ".claude.json") assert.equal(now, text);
        else assert.deepEqual(JSON.parse(now).mcpServers, JSON.parse(text).mcpServers);
      }
    });
  }
}
