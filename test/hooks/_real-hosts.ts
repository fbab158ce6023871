import { once } from "node:events";
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { text } from "node:stream/consumers";
import { scriptedServer } from "../../lib/testing/server.ts";
import { chatServer } from "../openai/_chat-server.ts";
import type { Exit, Given } from "../_crochet.ts";
import { serve } from "../_server.ts";

type Json = { readonly [key: string]: unknown };

/** What the model does next: it runs a command or says something. */
type Step = { readonly command: string } | { readonly text: string };

/** The model of these sessions: by how many results it has seen, and whether it was sent back. */
function nextStep(results: number, conversation: string): Step {
  if (results === 0) return { command: "rm -rf build" };
  if (results === 1) return { command: "echo as written" };
  return { text: conversation.includes("SENT-BACK") ? "I tested it" : "done" };
}

/** A model on 127.0.0.1 in the protocol of one host, and everything it was asked. */
export interface ModelServer extends AsyncDisposable {
  readonly url: string;
  readonly asked: () => string;
}

/** The Messages API. */
export async function messagesApi(): Promise<ModelServer> {
  const server = await scriptedServer([], {
    then: (request) => {
      const { messages, tools = [] } = request;
      const results = JSON.stringify(messages).split('"type":"tool_result"').length - 1;
      // Beside the conversation there are requests for titles and the like.
      const step = tools.length === 0 ? { text: "ok" } : nextStep(results, JSON.stringify(messages));
      return "command" in step ? { tools: [{ name: "Bash", input: { command: step.command } }] } : step;
    },
  });
  return {
    url: server.url,
    asked: () => JSON.stringify(server.requests.map(({ body }) => body?.messages)),
    [Symbol.asyncDispose]: () => server.close(),
  };
}

/** Chat Completions. */
export async function chatApi(shell = "bash"): Promise<ModelServer> {
  const server = await chatServer(({ messages, tools }) => {
    const said = messages as readonly { readonly role: string }[];
    const results = said.filter(({ role }) => role === "tool").length;
    const step = Array.isArray(tools) && tools.length > 0
      ? nextStep(results, JSON.stringify(messages))
      : { text: "ok" };
    if (!("command" in step)) return step;
    return { tools: [{ name: shell, input: { command: step.command, description: "a command" } }] };
  });
  return {
    url: server.url,
    asked: () => JSON.stringify(server.requests),
    [Symbol.asyncDispose]: () => Promise.resolve(server[Symbol.dispose]()),
  };
}

/** The Responses API. */
export async function responsesApi(): Promise<ModelServer> {
  const requests: Json[] = [];
  const server = await serve(async (request, response) => {
    const body = request.method === "POST" ? JSON.parse(await text(request)) as Json : undefined;
    if (!body?.input) return void response.writeHead(404).end();
    requests.push(body);
    const input = body.input as readonly { readonly type: string }[];
    const results = input.filter(({ type }) => /_output$/.test(type)).length;
    const step = nextStep(results, JSON.stringify(input));
    const tools = JSON.stringify(body.tools);
    const shell = tools.includes('"exec_command"')
      ? { name: "exec_command", arguments: (cmd: string) => ({ cmd }) }
      : { name: "shell_command", arguments: (command: string) => ({ command }) };
    const item = "command" in step
      ? {
        type: "function_call",
        call_id: `call_${results}`,
        name: shell.name,
        arguments: JSON.stringify(shell.arguments(step.command)),
      }
      : { type: "message", role: "assistant", content: [{ type: "output_text", text: step.text }] };
    const id = `resp_${requests.length}`;
    const usage = { input_tokens: 10, output_tokens: 5, total_tokens: 15 };
    const events = [
      { type: "response.created", response: { id } },
      { type: "response.output_item.done", output_index: 0, item: { id: `item_${results}`, ...item } },
      { type: "response.completed", response: { id, usage } },
    ];
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (const event of events) response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
    response.end();
  });
  return {
    url: `${server.url}/v1`,
    asked: () => JSON.stringify(requests),
    [Symbol.asyncDispose]: () => Promise.resolve(server[Symbol.dispose]()),
  };
}

/** The API of Gemini. */
export async function geminiApi(): Promise<ModelServer> {
  const requests: Json[] = [];
  const server = await serve(async (request, response) => {
    const body = request.method === "POST" ? JSON.parse(await text(request)) as Json : undefined;
    if (!body?.contents) return void response.writeHead(404).end();
    requests.push(body);
    const said = JSON.stringify(body.contents);
    const step = body.tools ? nextStep(said.split('"functionResponse"').length - 1, said) : { text: "ok" };
    const part = "command" in step
      ? { functionCall: { name: "run_shell_command", args: { command: step.command } } }
      : step;
    const usageMetadata = { promptTokenCount: 10, candidatesTokenCount: 5, totalTokenCount: 15 };
    const content = { role: "model", parts: [part] };
    const answer = JSON.stringify({ candidates: [{ content, finishReason: "STOP", index: 0 }], usageMetadata });
    const streams = request.url!.includes("alt=sse");
    response.writeHead(200, { "content-type": streams ? "text/event-stream" : "application/json" });
    response.end(streams ? `data: ${answer}\n\n` : answer);
  });
  return {
    url: server.url,
    asked: () => JSON.stringify(requests),
    [Symbol.asyncDispose]: () => Promise.resolve(server[Symbol.dispose]()),
  };
}

/** A program of a host's package, installed outside the tree; undefined if it cannot be. */
export function hostProgram(folder: string, packages: readonly string[], program: string): string | undefined {
  return installed(folder, packages, `.bin/${program}`);
}

/** A file of packages that are installed outside the tree; undefined if they cannot be. */
export function installed(folder: string, packages: readonly string[], file: string): string | undefined {
  const path = join(folder, "node_modules", file);
  if (existsSync(path)) return path;
  mkdirSync(folder, { recursive: true });
  const args = ["install", "--prefix", folder, "--no-audit", "--no-fund", "--no-save", ...packages];
  const { status } = spawnSync("npm", args, { cwd: folder, timeout: 300_000, encoding: "utf8" });
  return status === 0 && existsSync(path) ? path : undefined;
}

/** A session with the server of opencode: its `run` ends before the agent can be sent back. */
export async function opencodeSession(path: string, { cwd, env }: Given): Promise<Exit> {
  const set = { ...process.env, ...env } as NodeJS.ProcessEnv;
  const server = spawn(path, ["serve", "--port", "0"], { cwd, env: set, stdio: ["ignore", "pipe", "ignore"] });
  try {
    const url = await listeningAt(server.stdout);
    const post = async (to: string, body: object) => {
      const headers = { "content-type": "application/json" };
      const response = await fetch(`${url}${to}`, { method: "POST", headers, body: JSON.stringify(body) });
      return await response.json() as { readonly id: string };
    };
    const { id } = await post("/session", {});
    await post(`/session/${id}/message`, { parts: [{ type: "text", text: "go" }] });
    let out = "";
    for (let i = 0; i < 300 && !out.includes("I tested it"); i++) {
      await sleep(200);
      out = await (await fetch(`${url}/session/${id}/message`)).text();
    }
    return { code: 0, out, err: "" };
  } finally {
    server.kill();
    await once(server, "exit");
  }
}

async function listeningAt(stdout: NodeJS.ReadableStream): Promise<string> {
  for await (const line of createInterface({ input: stdout })) {
    const [url] = /http:\/\/\S+/.exec(line) ?? [];
    if (url !== undefined) return url;
  }
  throw new Error("Cannot reach opencode as it did not start");
}
