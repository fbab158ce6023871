import { isObject } from "../core/json.ts";
import { shown } from "../core/shown.ts";
import { checkOptions, type OptionKind } from "../input/options.ts";

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

/** An MCP server: a process that is started, or an address. */
export type McpServer = McpProcess | McpRemote;

/** MCP servers whose tools an agent has, as `mcp__server__tool`. */
export interface McpOptions {
  readonly servers: { readonly [name: string]: McpServer };
  /** Milliseconds that servers have to start; one that is slower is left out. @default 30_000 */
  readonly startTimeout?: number;
}

const FIELDS: { readonly [field in keyof McpProcess | keyof McpRemote]: OptionKind } = {
  type: "any",
  command: "a text",
  args: "a list of texts",
  env: "texts by name",
  cwd: "a text",
  url: "a text",
  headers: "texts by name",
  timeout: "more than 0",
};

/** @throws {TypeError} if servers cannot be meant, before anything has begun */
export function checkMcp(given: unknown): asserts given is McpOptions {
  const { servers } = given as Partial<McpOptions>;
  checkOptions(given as object, { servers: "an object", startTimeout: "more than 0" }, "use mcp");
  if (!servers) throw new TypeError("Cannot use mcp as it has no servers: give { servers: { name: {…} } }");
  for (const [name, server] of Object.entries(servers)) checkServer(server, `use MCP server '${name}'`);
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
    const doing = `use MCP server '${name}' of ${file}`;
    try {
      const fields = Object.entries(Object(written)).filter(([field]) => Object.hasOwn(FIELDS, field));
      const server = expanded(Object.fromEntries(fields), env, doing) as Record<string, unknown>;
      if (server.type === "streamable-http") server.type = "http";
      checkServer(server, doing);
      servers[name] = server;
    } catch (error) {
      problems.push((error as Error).message);
    }
  }
  return { servers, problems };
}

export function isRemote(server: McpServer): server is McpRemote {
  return "url" in server;
}

function checkServer(server: unknown, doing: string): asserts server is McpServer {
  const fail = (why: string): never => {
    throw new TypeError(`Cannot ${doing} as ${why}`);
  };
  if (!isObject(server)) return fail("it is not an object: give a command or a url");
  checkOptions(server, FIELDS, doing);
  const { type, command, url } = server;
  if (!command === !url) fail(`it has ${url ? "both a command and a url" : "neither a command nor a url"}: give one`);
  const expected = url ? "http" : "stdio";
  if ((type ?? expected) !== expected) fail(`its type ${shown(type)} is not supported: expected "${expected}"`);
  if (url && !/^https?:$/.test(URL.parse(url as string)?.protocol ?? "")) {
    fail(`its url is not an http address: ${shown(url)}`);
  }
}

/** `${NAME}` and `${NAME:-otherwise}` in any text, as other hosts read these files. */
function expanded(value: unknown, env: { readonly [name: string]: string | undefined }, doing: string): unknown {
  if (typeof value === "string") {
    return value.replace(/\$\{([A-Za-z_]\w*)(?::-([^}]*))?\}/g, (_, name: string, otherwise: string | undefined) => {
      const set = env[name];
      if (otherwise !== undefined) return set || otherwise; // as in a shell: empty is as good as not set
      if (set !== undefined) return set;
      const why = `it needs the variable ${name}, which is not set`;
      throw new TypeError(`Cannot ${doing} as ${why}: set it, or write \${${name}:-…}`);
    });
  }
  if (Array.isArray(value)) return value.map((one) => expanded(one, env, doing));
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, expanded(one, env, doing)]));
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
