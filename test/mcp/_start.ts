import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { agent, type AgentOptions, type RunEvent } from "../../lib/index.ts";
import type { McpOptions } from "../../lib/mcp/servers.ts";
import type { Block, ToolResultBlock } from "../../lib/core/messages.ts";
import { scripted, type ScriptedReply } from "../../lib/testing/index.ts";
import { OUR_RUNTIME } from "../_runtime.ts";

const here = (file: string) => fileURLToPath(new URL(file, import.meta.url));
const [PROGRAM, ...ARGS] = OUR_RUNTIME;

/** A script of this folder as a server that an agent starts. */
export function scriptAsProcess(script: string, ...args: string[]) {
  return { command: PROGRAM, args: [...ARGS, here(script), ...args] };
}

/** The server of this folder as a process that an agent starts. */
export function asProcess(...args: string[]) {
  return scriptAsProcess("_stdio-server.ts", ...args);
}

/** A server of this folder that listens on 127.0.0.1. */
export async function listening(...args: string[]): Promise<{ url: string; [Symbol.dispose](): void }> {
  const child: ChildProcess = spawn(PROGRAM, [...ARGS, here("_http-server.ts"), ...args], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [port] = await once(child.stdout!, "data");
  return { url: `http://127.0.0.1:${String(port).trim()}/mcp`, [Symbol.dispose]: () => void child.kill("SIGKILL") };
}

export interface Tried {
  readonly stop: string;
  readonly warnings: string[];
  /** The results of the calls, in order. */
  readonly results: ToolResultBlock[];
  readonly events: RunEvent[];
  readonly tools: string[];
}

/** An agent that makes these calls, one after the other. */
export async function calling(
  mcp: McpOptions,
  calls: readonly { name: string; input?: object }[],
  options: AgentOptions = {},
): Promise<Tried> {
  const events: RunEvent[] = [];
  let tools: string[] = [];
  const replies: ScriptedReply[] = [...calls.map(({ name, input = {} }) => ({ tools: [{ name, input }] })), {
    text: ".",
  }];
  const model = scripted(replies);
  const watched = (...[request, signal]: Parameters<typeof model>) => {
    tools = request.tools.map(({ name }) => name!);
    return model(request, signal);
  };
  const { messages, stop } = await agent({ model: watched, mcp, on: (event) => events.push(event), ...options }).run(
    "go",
  );
  return {
    events,
    stop,
    tools,
    warnings: events.flatMap((event) => event.type === "warning" ? [event.message] : []),
    results: messages.flatMap(({ content }) =>
      content.filter((block: Block): block is ToolResultBlock => block.type === "tool_result")
    ),
  };
}
