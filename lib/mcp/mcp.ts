import type { Tool } from "../core/tool.ts";
import { McpConnection, type Sdk } from "./connection.ts";
import { type McpOptions, serverPart } from "./servers.ts";

export interface McpHost {
  readonly cwd: string;
  readonly signal: AbortSignal;
  readonly warn: (message: string) => void;
  /** Called when the list of tools has changed. */
  readonly changed: () => void;
}

/** The servers of one session. */
export interface McpServers {
  /** The tools of all servers that can be used, named `mcp__server__tool`. */
  tools(): readonly Tool[];
  /** The server that a tool belongs to, by its name in the options: the tool's own name may spell it otherwise. */
  serverOf(tool: string): string | undefined;
  /** Ends them, with everything they started. */
  close(): Promise<void>;
}

const START_MS = 30_000;

/** Connects to all servers at once. One that cannot be used is reported and left out: a run never fails because of it. */
export async function connectServers({ servers, startTimeout }: McpOptions, host: McpHost): Promise<McpServers> {
  const connections = new Map<string, McpConnection>();
  const sdk = await loadSdk(host.warn);
  for (const [name, server] of sdk ? Object.entries(servers) : []) {
    const part = serverPart(name);
    if ([...connections.keys()].some((other) => serverPart(other) === part)) {
      host.warn(`Cannot use MCP server '${name}' as another is called '${part}' already: rename one`);
      continue;
    }
    connections.set(
      name,
      new McpConnection({ sdk: sdk!, name, server, startTimeout: startTimeout ?? START_MS, ...host }),
    );
  }
  await Promise.all([...connections.values()].map((one) =>
    one.open(host.signal).catch((error) => {
      if (!host.signal.aborted) host.warn((error as Error).message);
    })
  ));
  return {
    tools: () => [...connections.values()].flatMap((one) => one.tools),
    serverOf: (tool) => [...connections].find(([, one]) => one.tools.some(({ name }) => name === tool))?.[0],
    close: async () => {
      await Promise.all([...connections.values()].map((one) => one.close()));
    },
  };
}

async function loadSdk(warn: (message: string) => void): Promise<Sdk | undefined> {
  try {
    return await import("@modelcontextprotocol/client");
  } catch (error) {
    const [line = ""] = (error as Error).message.split("\n");
    const missing = /cannot find|could not (?:find|resolve)|not found|not a dependency/i.test(line);
    const why = missing ? "'@modelcontextprotocol/client' is not installed" : line;
    warn(`Cannot use MCP servers as ${why}: npm install @modelcontextprotocol/client`);
    return undefined;
  }
}
