import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fixtureAt } from "../../../lib/replay/fixture.ts";
import { recordCommand } from "../../../lib/extensions/tape/run-command.ts";
import { put, scratch } from "../../_scratch.ts";
import { CLIENT_TEST, clientEnv, clientHome, packagesOf, replayedAlone } from "./_clients.ts";
import { type Calls, upstream } from "./_upstream.ts";

interface Client {
  readonly install: string;
  readonly command: readonly string[];
  /** The file with instructions that it reads by itself. */
  readonly memory: string;
  readonly tool: (root: string) => Calls;
  /** A script of its own, for packages without a program. */
  readonly script?: string;
}

const PROMPT = "What does notes.md say?";
const read = (name: string, field: string, api = "anthropic") => (root: string) => ({
  [api]: { name, input: { [field]: `${root}/notes.md` } },
});

const CLIENTS: { readonly [name: string]: Client } = {
  "Claude Code": {
    install: "@anthropic-ai/claude-code",
    command: ["claude", "-p", PROMPT],
    memory: "CLAUDE.md",
    tool: read("Read", "file_path"),
  },
  "Codex": {
    install: "@openai/codex",
    command: ["codex", "exec", "--skip-git-repo-check", "-s", "danger-full-access", PROMPT],
    memory: "AGENTS.md",
    tool: () => ({ responses: { name: "exec_command", input: { cmd: "cat notes.md" } } }),
  },
  "Gemini CLI": {
    install: "@google/gemini-cli",
    command: ["gemini", "-p", PROMPT],
    memory: "GEMINI.md",
    tool: read("read_file", "file_path", "gemini"),
  },
  "Qwen Code": {
    install: "@qwen-code/qwen-code",
    command: ["qwen", "--auth-type", "openai", "-m", "qwen3-coder-plus", "-p", PROMPT],
    memory: "QWEN.md",
    tool: read("read_file", "file_path", "chat"),
  },
  "opencode": {
    install: "opencode-ai",
    command: ["opencode", "run", "--model", "anthropic/claude-sonnet-4-5", PROMPT],
    memory: "AGENTS.md",
    tool: read("read", "filePath"),
  },
  "pi": {
    install: "@earendil-works/pi-coding-agent",
    command: ["pi", "--provider", "anthropic", "--model", "claude-sonnet-4-5", "-p", PROMPT],
    memory: "AGENTS.md",
    tool: read("read", "path"),
  },
  "the SDK of Anthropic": {
    install: "@anthropic-ai/sdk",
    command: ["node", "client.mjs"],
    memory: "memory.md",
    tool: () => ({}),
    script: `
      import { readFileSync } from "node:fs";
      import { createRequire } from "node:module";
      const { Anthropic } = createRequire(process.env.PACKAGES + "/")("@anthropic-ai/sdk");
      const system = readFileSync("memory.md", "utf8");
      const messages = [{ role: "user", content: "hello from " + process.cwd() }];
      const stream = new Anthropic().messages.stream({ model: "claude", max_tokens: 99, system, messages });
      console.log(await stream.finalText());`,
  },
  "OpenAI Agents": {
    install: "@openai/agents zod",
    command: ["node", "client.mjs"],
    memory: "memory.md",
    tool: () => ({}),
    script: `
      import { readFileSync } from "node:fs";
      import { createRequire } from "node:module";
      const { Agent, run } = await import(createRequire(process.env.PACKAGES + "/").resolve("@openai/agents"));
      const agent = new Agent({ name: "a", instructions: readFileSync("memory.md", "utf8"), model: "gpt" });
      const running = await run(agent, "hello", { stream: true });
      for await (const text of running.toTextStream()) console.log(text);
      process.exit(0);`,
  },
  "AI SDK": {
    install: "ai @ai-sdk/anthropic",
    command: ["node", "client.mjs"],
    memory: "memory.md",
    tool: () => ({}),
    script: `
      import { readFileSync } from "node:fs";
      import { createRequire } from "node:module";
      const { resolve } = createRequire(process.env.PACKAGES + "/");
      const [{ streamText }, { anthropic }] = await Promise.all(["ai", "@ai-sdk/anthropic"].map((one) => import(resolve(one))));
      const system = readFileSync("memory.md", "utf8");
      for await (const text of streamText({ model: anthropic("claude"), system, prompt: "hello" }).textStream) console.log(text);`,
  },
  "the SDK of OpenAI": {
    install: "openai",
    command: ["node", "client.mjs"],
    memory: "memory.md",
    tool: () => ({}),
    script: `
      import { readFileSync } from "node:fs";
      import { createRequire } from "node:module";
      const OpenAI = createRequire(process.env.PACKAGES + "/")("openai");
      const instructions = readFileSync("memory.md", "utf8");
      const stream = await new OpenAI().responses.create({ model: "gpt", instructions, input: "hello from " + process.cwd(), stream: true });
      for await (const event of stream) if (event.type === "response.output_text.delta") console.log(event.delta);`,
  },
  "the SDK of Google": {
    install: "@google/genai",
    command: ["node", "client.mjs"],
    memory: "memory.md",
    tool: () => ({}),
    script: `
      import { readFileSync } from "node:fs";
      import { createRequire } from "node:module";
      const { GoogleGenAI } = createRequire(process.env.PACKAGES + "/")("@google/genai");
      const systemInstruction = readFileSync("memory.md", "utf8");
      const ai = new GoogleGenAI({ apiKey: "dummy-key" });
      const stream = await ai.models.generateContentStream({ model: "gem", contents: "hello", config: { systemInstruction } });
      for await (const piece of stream) console.log(piece.text);`,
  },
};

for (const [name, { install, command, memory, tool, script }] of Object.entries(CLIENTS)) {
  const claim = `${name} replays without drift elsewhere and without a network, and a word of ${memory} is drift`;
  test(claim, CLIENT_TEST, async (context) => {
    const packages = packagesOf(install);
    if (packages === undefined) return context.skip(`${install} cannot be installed here`);
    using project = scratch({
      "notes.md": "Ths is a note.\n",
      [memory]: "Answer with few words.\n",
      ...(script !== undefined && { "client.mjs": script }),
    });
    using home = clientHome();
    // As a person does who accepts it once: we trust no directory for another program.
    put(home.path, { ".gemini/trustedFolders.json": JSON.stringify({ [project.path]: "TRUST_FOLDER" }) });
    using api = await upstream(tool(project.path));
    const env = clientEnv(packages, home.path, api.url);
    const fixture = fixtureAt(join(project.path, "fixtures", "run"));
    const { end } = await recordCommand(fixture, { command, cwd: project.path, env, quiet: true, timeout: 120 });
    assert.equal(end.end, "exit 0", end.stderr);
    const bare = { PATH: env.PATH, HOME: home.path, PACKAGES: packages };
    const same = await replayedAlone(command, project.path, bare);
    assert.deepEqual([same.code, same.report.divergences, same.report.unused], [0, [], []], same.err);
    assert.ok(same.report.calls.served > 0);
    writeFileSync(join(project.path, memory), "Answer with many words.\n");
    const { code, report: { divergences: [first] } } = await replayedAlone(command, project.path, bare);
    assert.deepEqual([code, first?.cause], [1, "prompt"]);
    assert.match(String(first!.expected), /Answer with few words/);
    assert.match(String(first!.actual), /Answer with many words/);
  });
}
