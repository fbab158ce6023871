import { thrownWords } from "../core/shown.ts";
import { type Tool, ToolError, type ToolSession } from "../core/tool.ts";
import type { McpServers } from "../mcp/mcp.ts";
import type { McpOptions, McpProcess, McpRemote } from "../mcp/servers.ts";
import type { TapedSession } from "../replay/taped-session.ts";

export interface ToolSetOptions {
  readonly own: readonly Tool[];
  /** The servers of the agent, then of its run: of two with one name the first counts. */
  readonly mcp: readonly (McpOptions | undefined)[];
  readonly tape: TapedSession | undefined;
  readonly cwd: string;
  readonly state: Map<string, unknown>;
  readonly signals: readonly AbortSignal[];
  readonly warn: (message: string) => void;
}

/** The tools of one session: an agent's own, and those of its MCP servers, which may come and go. */
export interface ToolSet {
  /** The same list as long as nothing has changed, as requests keep its bytes. */
  readonly tools: readonly Tool[];
  /** What hooks of other hosts learn about a tool's server. */
  serverOf(tool: string): { readonly name: string; readonly source: string } | undefined;
  close(): Promise<void>;
}

export async function toolSet({ mcp, tape, cwd, signals, warn, ...given }: ToolSetOptions): Promise<ToolSet> {
  for (const tool of given.own) if (tool.close) users.set(tool, (users.get(tool) ?? 0) + 1);
  const own = await described(given.own, { cwd, state: given.state, warn });
  let tools = own;
  let connected: McpServers | undefined;
  const known = mcp.filter((one) => one !== undefined);
  const servers = Object.assign({}, ...known.map((one) => one.servers).reverse());
  const onTape = tape?.program?.tape.header ?? tape?.records;
  for (const { env, headers } of onTape?.mcp ? Object.values<Secretive>(servers) : []) {
    for (const [name, value] of Object.entries({ ...env, ...headers })) tape!.masks.learn("environment", name, value);
  }
  if (Object.keys(servers).length > 0) {
    if (tape?.policy.calls === "serve" && (onTape?.tools || onTape?.mcp)) tools = [...own, ...await fromTape(tape)];
    else {
      const { connectServers } = await import("../mcp/mcp.ts");
      const changed = () => {
        if (connected) tools = joined(own, connected, warn);
      };
      const startTimeout = known.find((one) => one.startTimeout !== undefined)?.startTimeout;
      const options = { servers, ...(startTimeout !== undefined && { startTimeout }) };
      const signal = AbortSignal.any([...signals]);
      connected = await connectServers(options, { cwd, signal, warn, changed });
      changed();
    }
  }
  return {
    get tools() {
      return tools;
    },
    serverOf: (tool) => {
      const name = connected?.serverOf(tool);
      return name === undefined ? undefined : { name, source: mcp[0]?.servers[name] ? "dynamic" : "project" };
    },
    close: async () => {
      await connected?.close();
      for (const tool of given.own) await letGo(tool, warn);
    },
  };
}

type Secretive = Pick<McpProcess, "env"> & Pick<McpRemote, "headers">;

async function described(tools: readonly Tool[], session: ToolSession): Promise<readonly Tool[]> {
  if (!tools.some(({ describe }) => describe)) return tools;
  return await Promise.all(tools.map(async (tool) => {
    try {
      return tool.describe ? { ...tool, description: await tool.describe(session) } : tool;
    } catch (error) {
      session.warn(`Cannot describe tool ${tool.name} for this run as it failed: ${thrownWords(error)}`);
      return tool;
    }
  }));
}

/** How many sessions use a tool that holds something: it is closed with the last of them. */
const users = new WeakMap<Tool, number>();

async function letGo(tool: Tool, warn: (message: string) => void): Promise<void> {
  if (!tool.close) return;
  const left = (users.get(tool) ?? 1) - 1;
  users.set(tool, left);
  if (left > 0) return;
  try {
    await tool.close();
  } catch (error) {
    warn(`Cannot close tool ${tool.name} as it failed: ${(error as Error)?.message ?? error}`);
  }
}

function joined(own: readonly Tool[], connected: McpServers, warn: (message: string) => void): readonly Tool[] {
  const names = new Set(own.map(({ name }) => name));
  return [
    ...own,
    ...connected.tools().filter(({ name }) => {
      if (names.has(name)) warn(`Cannot use tool ${name} of an MCP server as the agent has one of this name`);
      return !names.has(name);
    }),
  ];
}

/** If results come from a tape, no server is started: the tools are as they were sent to the recorded model. */
async function fromTape(tape: TapedSession): Promise<Tool[]> {
  const [{ inputParser }, { blocksOf }] = await Promise.all([
    import("../mcp/mcp-schema.ts"),
    import("../mcp/results.ts"),
  ]);
  const { calls, tools } = tape.program!.tape;
  const sent = (calls[0]?.request.tools ?? []) as readonly Pick<Tool, "name" | "description" | "input_schema">[];
  return sent.filter(({ name }) => name.startsWith("mcp__")).map((spec) => ({
    ...spec,
    effect: "write",
    ...(tools.some(({ name, parallel }) => parallel && name === spec.name) && { parallel: true }),
    parse: inputParser(spec.input_schema),
    render: blocksOf,
    run: () => {
      throw new ToolError(`Cannot call ${spec.name} as its result is not on the tape: record it again`);
    },
  }));
}
