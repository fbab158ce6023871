import { pathToFileURL } from "node:url";
import type { CallToolResult, Client, Tool as McpTool, Transport } from "@modelcontextprotocol/client";
import { NEVER, settle, systemClock } from "../core/clock.ts";
import type { JsonSchema } from "../core/model.ts";
import { type Tool, type ToolContext, ToolError, type ToolOutput } from "../core/tool.ts";
import { crochetVersion } from "../runtime/version.ts";
import { withoutSecrets } from "../hooks/process/hook-host.ts";
import { checkSchema } from "../tools/schema.ts";
import { blocksOf, outputOf } from "./results.ts";
import { inputParser } from "./mcp-schema.ts";
import { isRemote, type McpOptions, type McpServer, serverPart, toolNames } from "./servers.ts";
import { StdioTransport } from "./stdio.ts";

type Sdk = typeof import("@modelcontextprotocol/client");

interface ConnectionOptions extends Pick<McpHost, "cwd" | "warn" | "changed"> {
  readonly sdk: Sdk;
  readonly name: string;
  readonly server: McpServer;
  readonly startTimeout: number;
}

const CALL_MS = 600_000;
/** How long we wait for each step of taking leave of a server. */
const GOODBYE_MS = 1000;
/** Servers report several changes at once. */
const SETTLE_MS = 50;
/** The schemas of a longer list would fill any context by themselves. */
const MOST_TOOLS = 2000;
/** How often a server's tools are listed again at most. */
const EVERY_MS = 1000;

/** One server: connected when the session begins, and again by the next call if it has ended in between. */
class McpConnection {
  tools: readonly Tool[] = [];
  readonly #options: ConnectionOptions;
  #connecting: Promise<Client> | undefined;
  #transport: Transport | undefined;
  #isClosed = false;
  #listing: ReturnType<typeof setTimeout> | undefined;
  /** When its tools were last listed again. */
  #listed = -Infinity;

  constructor(options: ConnectionOptions) {
    this.#options = options;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#listing);
    const client = await this.#connecting?.catch(() => undefined);
    if (client) await this.#leave(client, this.#transport!);
  }

  /** @throws {Error} if the server cannot be used, with the reason in its message */
  connected(signal: AbortSignal): Promise<Client> {
    return this.#connecting ??= this.#connect(signal).catch((error) => {
      this.#connecting = undefined;
      throw error;
    });
  }

  /** A process is spoken to in the older way first: some end at a question they do not know, and asking costs one. */
  async #connect(signal: AbortSignal): Promise<Client> {
    const { sdk, server } = this.#options;
    if (isRemote(server)) return await this.#begin(signal, "auto");
    try {
      return await this.#begin(signal, "legacy");
    } catch (error) {
      if (!((error as Error).cause instanceof sdk.ProtocolError)) throw error;
      return await this.#begin(signal, "auto");
    }
  }

  async #begin(signal: AbortSignal, mode: "legacy" | "auto"): Promise<Client> {
    const { sdk, name, server, startTimeout, warn } = this.#options;
    const transport = this.#transportTo(server);
    const client = new sdk.Client({ name: "crochet", version: crochetVersion() }, {
      capabilities: { roots: {} },
      listChanged: {
        tools: { autoRefresh: false, debounceMs: 0, onChanged: () => this.#listSoon(client) },
      },
      versionNegotiation: { mode, probe: { timeoutMs: startTimeout } },
    });
    client.setRequestHandler("roots/list", () => ({ roots: [{ uri: pathToFileURL(this.#options.cwd).href }] }));
    client.onerror = () => {}; // what matters comes back as a failed call
    const late = AbortSignal.timeout(startTimeout);
    const giveUp = AbortSignal.any([signal, late]);
    try {
      const options = { signal: giveUp, timeout: startTimeout };
      await unlessAborted(giveUp, client.connect(transport, options));
      const { tools } = await unlessAborted(giveUp, client.listTools(undefined, options));
      this.#offer(tools);
    } catch (error) {
      await this.#leave(client, transport);
      const why = late.aborted ? `it was not ready within ${startTimeout / 1000} s` : reasonOf(error);
      throw new Error(`Cannot use MCP server '${name}' as ${why}${lastWords(transport)}`, { cause: error });
    }
    client.onclose = () => {
      this.#connecting = undefined;
      if (this.#isClosed) return;
      warn(`MCP server '${name}' has ended${lastWords(transport)}`);
      // What it started is not left behind by its own end; a connection that is broken needs no closing.
      transport.close().catch(() => {});
    };
    this.#transport = transport;
    return client;
  }

  #transportTo(server: McpServer): Transport {
    const { sdk, cwd } = this.#options;
    if (isRemote(server)) {
      return new sdk.StreamableHTTPClientTransport(new URL(server.url), {
        requestInit: { headers: { ...server.headers } },
      });
    }
    return new StdioTransport({
      command: server.command,
      args: server.args ?? [],
      cwd: server.cwd ?? cwd,
      env: { ...withoutSecrets(process.env).env, ...server.env },
      reader: new sdk.ReadBuffer(),
    });
  }

  /** Ends a connection; one that does not want to end is let go. */
  async #leave(client: Client, transport: Transport): Promise<void> {
    client.onclose = () => {};
    const { StreamableHTTPClientTransport } = this.#options.sdk;
    const goodbye = transport instanceof StreamableHTTPClientTransport ? transport.terminateSession() : undefined;
    await within(GOODBYE_MS, goodbye);
    await within(3 * GOODBYE_MS, transport.close());
    await within(GOODBYE_MS, client.close());
  }

  /** Lists the tools again: not at once, as a server tells of each by itself, and not more than once a second. */
  #listSoon(client: Client): void {
    if (this.#listing !== undefined) return;
    const since = performance.now() - this.#listed;
    this.#listing = setTimeout(async () => {
      this.#listing = undefined;
      this.#listed = performance.now();
      try {
        this.#offer((await client.listTools()).tools);
      } catch (error) {
        if (!this.#isClosed) this.#options.warn(`MCP server '${this.#options.name}': ${(error as Error).message}`);
      }
    }, Math.max(SETTLE_MS, EVERY_MS - since)).unref();
  }

  #offer(tools: readonly McpTool[]): void {
    const { name, warn, changed } = this.#options;
    if (tools.length > MOST_TOOLS) throw new Error(`it lists ${tools.length} tools, more than ${MOST_TOOLS}`);
    const names = toolNames(name, tools.map((one) => one.name));
    this.tools = tools.flatMap((one, i) => {
      try {
        return [this.#toolOf(one, names[i]!)];
      } catch (error) {
        warn(`MCP server '${name}': ${(error as Error).message}`);
        return [];
      }
    });
    changed();
  }

  #toolOf(given: McpTool, name: string): Tool {
    const { $schema: _, ...schema } = given.inputSchema as JsonSchema;
    checkSchema(name, schema);
    return {
      name,
      description: given.description ?? given.title ?? "",
      input_schema: schema,
      // What a server says of itself decides what runs together, but never what needs no permission.
      effect: "write",
      ...(given.annotations?.readOnlyHint && { parallel: true }),
      parse: inputParser(schema),
      render: blocksOf,
      run: (input, context) => this.#call(given.name, input, context),
    };
  }

  async #call(tool: string, input: Record<string, unknown>, context: ToolContext): Promise<ToolOutput> {
    const { name, server } = this.#options;
    const { signal, progress } = context;
    let result: CallToolResult;
    try {
      const client = await this.connected(signal);
      result = await client.callTool({ name: tool, arguments: input }, {
        signal,
        timeout: server.timeout ?? CALL_MS,
        resetTimeoutOnProgress: true,
        onprogress: ({ message, progress: done, total }) =>
          progress(`${message ?? `${done}${total === undefined ? "" : ` of ${total}`}`}\n`),
      });
    } catch (error) {
      if (signal.aborted) throw error;
      const late = /timed? ?out/i.test((error as Error).message);
      const why = late ? `it did not answer within ${(server.timeout ?? CALL_MS) / 1000} s` : reasonOf(error);
      throw new ToolError(why.startsWith("Cannot ") ? why : `Cannot call ${tool} of MCP server '${name}' as ${why}`, {
        code: "mcp",
      });
    }
    return outputOf(result);
  }
}

function reasonOf(error: unknown): string {
  const { code, message } = error as { code?: unknown; message?: string };
  if (code === "ENOENT") return "there is no such command";
  return message?.replace(/\s+/g, " ").slice(0, 500) || String(error);
}

/** What a server that is a process complained of, to be appended to what happened to it. */
function lastWords(transport: Transport): string {
  const words = transport instanceof StdioTransport ? transport.lastWords : "";
  return words && `: ${words}`;
}

/** Waits for work, or for the signal: not everything in the SDK looks at it. */
async function unlessAborted<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  const end = await settle(work, { clock: systemClock, signal });
  if ("value" in end) return end.value;
  throw "error" in end ? end.error : signal.reason;
}

/** Waits for work that may fail, but no longer than that. */
async function within(ms: number, work: Promise<void> | undefined): Promise<void> {
  if (work) await settle(work, { clock: systemClock, signal: NEVER, ms });
}

interface McpHost {
  readonly cwd: string;
  readonly signal: AbortSignal;
  readonly warn: (message: string) => void;
  /** Called when the list of tools has changed. */
  readonly changed: () => void;
}

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
    one.connected(host.signal).catch((error) => {
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
