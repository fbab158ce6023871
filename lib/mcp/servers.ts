import { isObject } from "../core/json.ts";
import { nearest } from "../files/nearest.ts";

/** A server that is started as a process and spoken to over its stdin and stdout. */
export interface McpProcess {
  readonly type?: "stdio";
  readonly command: string;
  readonly args?: readonly string[];
  /** In addition to our own environment, without the variables that look like secrets. */
  readonly env?: { readonly [name: string]: string };
  /** @default where the agent works */
  readonly cwd?: string;
  /** Milliseconds that a call may take, from the last sign of progress. @default 600_000 */
  readonly timeout?: number;
}

/** A server that is reached over streamable HTTP. */
export interface McpRemote {
  readonly type?: "http";
  readonly url: string;
  readonly headers?: { readonly [name: string]: string };
  /** Milliseconds that a call may take, from the last sign of progress. @default 600_000 */
  readonly timeout?: number;
}

export type McpServer = McpProcess | McpRemote;

/** MCP servers whose tools an agent has, as `mcp__server__tool`. */
export interface McpOptions {
  readonly servers: { readonly [name: string]: McpServer };
  /** Milliseconds that servers have to start; one that is slower is left out. @default 30_000 */
  readonly startTimeout?: number;
}

const FIELDS = ["type", "command", "args", "env", "cwd", "url", "headers", "timeout"];

/**
 * Refuses servers that cannot be meant, before anything has begun.
 *
 * @throws {TypeError}
 */
export function checkMcp(given: unknown): asserts given is McpOptions {
  const { servers, startTimeout, ...rest } = given as Partial<McpOptions>;
  const [unknown] = Object.keys(rest);
  if (unknown !== undefined) {
    throw new TypeError(`Cannot use mcp as option '${unknown}' is unknown: expected servers or startTimeout`);
  }
  if (!isObject(servers)) throw new TypeError("Cannot use mcp as it has no servers: give { servers: { name: {…} } }");
  if (startTimeout !== undefined && !(typeof startTimeout === "number" && startTimeout > 0)) {
    throw new TypeError(`Cannot use mcp as startTimeout is ${String(startTimeout)}: give milliseconds`);
  }
  for (const [name, server] of Object.entries(servers)) {
    const why = problemOf(server) ?? unknownField(server);
    if (why !== undefined) throw new TypeError(`Cannot use MCP server '${name}' as ${why}`);
  }
}

/** The servers of a file, with variables put in; what is wrong with one takes none of the others away. */
export function readServers(
  given: unknown,
  env: { readonly [name: string]: string | undefined },
  file: string,
): { servers: { [name: string]: McpServer }; problems: string[] } {
  const servers: { [name: string]: McpServer } = {};
  const problems: string[] = [];
  if (!isObject(given)) {
    return { servers, problems: [`Cannot use the MCP servers of ${file} as they are not an object`] };
  }
  for (const [name, written] of Object.entries(given)) {
    if (isObject(written) && written.disabled === true) continue;
    try {
      const server = expanded(written, env) as Record<string, unknown>;
      const why = problemOf(server);
      if (why !== undefined) throw new TypeError(why);
      const kept = Object.entries(server).filter(([field]) => FIELDS.includes(field));
      const type = server.type === "streamable-http" ? { type: "http" } : {};
      servers[name] = { ...Object.fromEntries(kept), ...type } as unknown as McpServer;
    } catch (error) {
      problems.push(`Cannot use MCP server '${name}' of ${file} as ${(error as Error).message}`);
    }
  }
  return { servers, problems };
}

export function isRemote(server: McpServer): server is McpRemote {
  return "url" in server;
}

function problemOf(server: unknown): string | undefined {
  if (!isObject(server)) return "it is not an object: give a command or a url";
  const { type, command, args, env, cwd, url, headers, timeout } = server;
  const remote = url !== undefined;
  if (remote === (command !== undefined)) {
    return remote ? "it has both a command and a url: give one" : "it has neither a command nor a url: give one";
  }
  const types = remote ? ["http", "streamable-http"] : ["stdio"];
  if (type !== undefined && !types.includes(type as string)) {
    return `its type ${JSON.stringify(type)} is not spoken here: expected "${types[0]}"`;
  }
  if (remote && !(typeof url === "string" && /^https?:\/\//.test(url) && URL.canParse(url))) {
    return `its url is not an http address: ${JSON.stringify(url)}`;
  }
  if (!remote && (typeof command !== "string" || command === "")) return "its command is not a text";
  if (args !== undefined && !(Array.isArray(args) && args.every((a) => typeof a === "string"))) {
    return "its args are not a list of texts";
  }
  for (const [field, value] of Object.entries({ env, headers })) {
    if (value === undefined) continue;
    if (!isObject(value) || Object.values(value).some((v) => typeof v !== "string")) {
      return `its ${field} are not texts by name`;
    }
  }
  if (cwd !== undefined && typeof cwd !== "string") return "its cwd is not a text";
  if (timeout !== undefined && !(typeof timeout === "number" && timeout > 0)) {
    return `its timeout is ${JSON.stringify(timeout)}: give milliseconds`;
  }
  return undefined;
}

function unknownField(server: object): string | undefined {
  const unknown = Object.keys(server).find((field) => !FIELDS.includes(field));
  return unknown === undefined
    ? undefined
    : `field '${unknown}' is unknown: did you mean '${nearest(unknown, FIELDS)}'?`;
}

/** `${NAME}` and `${NAME:-otherwise}` in any text, as other hosts read these files. */
function expanded(value: unknown, env: { readonly [name: string]: string | undefined }): unknown {
  if (typeof value === "string") {
    return value.replace(/\$\{([A-Za-z_]\w*)(?::-([^}]*))?\}/g, (_, name: string, otherwise: string | undefined) => {
      const set = env[name];
      if (otherwise !== undefined) return set || otherwise; // as in a shell: empty is as good as not set
      if (set !== undefined) return set;
      throw new TypeError(`it needs the variable ${name}, which is not set: set it, or write \${${name}:-…}`);
    });
  }
  if (Array.isArray(value)) return value.map((one) => expanded(one, env));
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, expanded(one, env)]));
}

/** What a tool's name may be at most. */
const LONGEST = 128;

/**
 * A server's name as part of its tools' names. Never holds `__` and never ends in `_`: otherwise a permission
 * rule for one server would hold for the tools of another.
 */
export function serverPart(name: string): string {
  return plain(name).replace(/_{2,}/g, "_").replace(/^_|_$/g, "").slice(0, 48).replace(/_$/, "") || "server";
}

/** The names under which a server's tools are offered, in order and all different. */
export function toolNames(server: string, tools: readonly string[]): string[] {
  const taken = new Set<string>();
  return tools.map((tool) => {
    const full = `mcp__${serverPart(server)}__${plain(tool) || "tool"}`;
    let name = full.slice(0, LONGEST);
    for (let n = 2; taken.has(name); n++) name = `${full.slice(0, LONGEST - 1 - String(n).length)}_${n}`;
    taken.add(name);
    return name;
  });
}

function plain(name: string): string {
  return name.replace(/[^A-Za-z0-9_-]/g, "_");
}
