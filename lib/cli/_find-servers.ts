import { readFileSync } from "node:fs";
import { join } from "node:path";
import { distrust } from "../hooks/trust.ts";
import type { McpOptions, McpServer } from "../mcp/servers.ts";
import { type Config, CONFIG_FILE } from "./_config.ts";
import type { Io } from "./_io.ts";

const FILE = ".mcp.json";

/**
 * The MCP servers a project brings along: `.mcp.json` where it is trusted, and `mcp` of its settings, which win. What
 * is wrong with a server is told; the run goes on without it.
 */
export async function findServers(
  cwd: string,
  config: Config,
  io: Pick<Io, "env" | "err">,
  trusted: boolean,
): Promise<McpOptions | undefined> {
  const tell = (problem: string) => io.err(`crochet: ${problem}\n`);
  const written = [
    { file: FILE, given: inFile(cwd, io.env, trusted, tell) },
    { file: CONFIG_FILE, given: config.mcp?.servers },
  ].filter(({ given }) => given !== undefined);
  if (written.length === 0) return undefined;
  const { readServers } = await import("../mcp/servers.ts");
  const servers: Record<string, McpServer> = {};
  for (const { file, given } of written) {
    const read = readServers(given, io.env, file);
    Object.assign(servers, read.servers);
    read.problems.forEach(tell);
  }
  const startTimeout = config.mcp?.startTimeout;
  return { servers, ...(startTimeout !== undefined && { startTimeout }) };
}

function inFile(cwd: string, env: Io["env"], trusted: boolean, tell: (problem: string) => void): unknown {
  let text: string;
  try {
    text = readFileSync(join(cwd, FILE), "utf8");
  } catch (error) {
    const { code, message } = error as { code?: string; message: string };
    if (code !== "ENOENT") tell(`Cannot read ${FILE} as ${message}`);
    return undefined;
  }
  const why = trusted ? undefined : distrust(cwd, FILE, env, text);
  if (why !== undefined) {
    tell(why);
    return undefined;
  }
  try {
    return (JSON.parse(text) as { mcpServers?: unknown }).mcpServers ?? {};
  } catch (error) {
    tell(`Cannot use ${FILE} as it is not JSON: ${(error as Error).message}`);
    return undefined;
  }
}
