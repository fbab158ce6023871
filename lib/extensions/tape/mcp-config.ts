import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { isObject, type JsonObject, objectOf, parsed } from "../../core/json.ts";
import { homeOf } from "../../hooks/file/user-places.ts";
import { parseJsonc } from "../../hooks/jsonc.ts";
import { ownArgv } from "../../hooks/own-command.ts";
import { TapeError } from "../../replay/read-tape.ts";
import { TO } from "./mcp.ts";
import type { Env } from "./pointing.ts";
import { claudeTrusts, geminiTrusts } from "./trusting.ts";

type Servers = { readonly [name: string]: JsonObject };

/** How the servers of each client are given to it again, with our command before each. No file of the user's is changed. */
export interface McpShims {
  /** For a file of Claude Code's `--mcp-config`. */
  readonly claude: Servers;
  /** Arguments of Codex. */
  readonly codex: readonly string[];
  /** The settings that Gemini CLI takes as the system's. */
  readonly gemini: JsonObject | undefined;
  /** Servers that stay as they are, and why. */
  readonly notes: readonly string[];
}

interface ShimOptions {
  /** Where the tape is served. */
  readonly url: string;
  readonly command: readonly string[];
  /** The directory whose settings count. */
  readonly directory: string;
  readonly env: Env;
  /** The program of a name, as the command would find it. */
  readonly find: (name: string) => string | undefined;
}

/** The servers that clients would start for a command: the table of where each client has them. */
export async function mcpShims(asked: ShimOptions): Promise<McpShims> {
  const notes: string[] = [];
  const read = await reader(notes);
  const put = (servers: Servers) => {
    const made = Object.entries(servers).map(([name, server]) => [name, before(name, server, asked.url, notes)]);
    return Object.fromEntries(made.filter(([, server]) => server !== undefined)) as Servers;
  };
  return {
    claude: put(claudeServers(asked, read)),
    codex: Object.entries(put(codexServers(asked))).flatMap(([name, server]) => codexWords(name, server)),
    gemini: geminiSettings(asked, read, put, notes),
    notes,
  };
}

type Read = (path: string) => JsonObject;

/** Reads settings, in which clients allow comments; what is not there is empty. */
async function reader(notes: string[]): Promise<Read> {
  const jsonc = await import("jsonc-parser");
  return (path) => {
    if (!existsSync(path)) return {};
    try {
      return objectOf(parseJsonc(readFileSync(path, "utf8"), jsonc, `Cannot read ${path} as`));
    } catch (error) {
      notes.push(`${(error as Error).message}: MCP servers in it run for real`);
      return {};
    }
  };
}

/** A server's definition with our command in place of its own; undefined if it is of a kind that is not recorded. */
function before(name: string, server: JsonObject, url: string, notes: string[]): JsonObject | undefined {
  const { command, args, env, type, url: address, httpUrl } = server;
  if (typeof command === "string") {
    const names = Object.keys(objectOf(env)).join(",");
    const words = [command, ...Array.isArray(args) ? args.map(String) : []];
    const secrets = names === "" ? [] : ["--env", names];
    const [program, ...rest] = ownArgv("cli/main", "mcp", name, "--url", url, ...secrets, "--", ...words);
    return { ...server, command: program, args: rest };
  }
  const to = httpUrl ?? (HTTP.test(String(type)) ? address : undefined);
  if (typeof to === "string") {
    const here = `${url}/mcp/${encodeURIComponent(name)}`;
    const headers = { ...objectOf(server.headers), [TO]: to };
    return { ...server, [httpUrl === undefined ? "url" : "httpUrl"]: here, headers };
  }
  notes.push(`MCP server '${name}' runs for real: only processes and streamable HTTP are recorded`);
  return undefined;
}

const HTTP = /^(?:streamable[-_])?http$/;

const objectsIn = (value: unknown): Servers =>
  Object.fromEntries(Object.entries(objectOf(value)).filter(([, one]) => isObject(one))) as Servers;

const serversIn = ({ mcpServers }: JsonObject) => objectsIn(mcpServers);

/** Names in lists of settings. */
const namesIn = (all: readonly JsonObject[], key: string) =>
  all.flatMap(({ [key]: list }) => Array.isArray(list) ? list : []);

/** Of two scopes with one name the later counts; a server that Claude Code would not start without a question is left out. */
function claudeServers({ command, directory, env }: ShimOptions, read: Read): Servers {
  const words = wordsOf(command, "claude");
  const home = homeOf(env);
  const config = env.CLAUDE_CONFIG_DIR || join(home, ".claude");
  const all = read(join(env.CLAUDE_CONFIG_DIR || home, ".claude.json"));
  const project = objectsIn(all.projects)[directory] ?? {};
  const own = ["settings.json", "settings.local.json"].map((name) => read(join(directory, ".claude", name)));
  const settings = [read(join(config, "settings.json")), ...own, project];
  const [enabled, disabled] = ["enabled", "disabled"].map((how) => namesIn(settings, `${how}McpjsonServers`));
  // Without a person to ask, trust of the directory is enough for it.
  const isAlone = (words.includes("-p") || words.includes("--print")) && claudeTrusts(directory, env);
  const isAny = isAlone || settings.some(({ enableAllProjectMcpServers: every }) => every === true);
  const files = valuesOf(words, "--mcp-config").map((value) =>
    serversIn(parsed(value) as JsonObject ?? read(resolve(directory, value)))
  );
  const shared = Object.entries(serversIn(read(join(directory, ".mcp.json"))));
  const scopes = [
    ...pluginFolders(words, config, settings, read).map((folder) => pluginServers(resolve(directory, folder), read)),
    serversIn(all),
    Object.fromEntries(shared.filter(([name]) => (isAny || enabled!.includes(name)) && !disabled!.includes(name))),
    serversIn(project),
  ];
  const found = Object.assign({}, ...words.includes("--strict-mcp-config") ? [] : scopes, ...files) as Servers;
  const off = namesIn([project], "disabledMcpServers");
  return Object.fromEntries(Object.entries(found).filter(([name]) => !off.includes(name)));
}

/** The arguments of a program in a command, up to its `--`; all words if it is not named. */
function wordsOf(command: readonly string[], program: string): readonly string[] {
  const words = command.slice(command.findIndex((word) => basename(word) === program) + 1);
  return words.slice(0, words.includes("--") ? words.indexOf("--") : undefined);
}

/** The values of a flag that takes several, or is given several times. */
function valuesOf(words: readonly string[], flag: string): string[] {
  const found: string[] = [];
  let isOpen = false;
  for (const word of words) {
    if (word.startsWith(`${flag}=`)) found.push(word.slice(flag.length + 1));
    else if (isOpen && !word.startsWith("-")) found.push(word);
    isOpen = word === flag || (isOpen && !word.startsWith("-"));
  }
  return found;
}

/** Plugins of this command, and those that are installed and switched on. */
function pluginFolders(words: readonly string[], config: string, settings: JsonObject[], read: Read): string[] {
  const { plugins } = read(join(config, "plugins", "installed_plugins.json"));
  const on = Object.assign({}, ...settings.map(({ enabledPlugins }) => enabledPlugins)) as JsonObject;
  const installed = Object.entries(objectOf(plugins)).filter(([name]) => on[name] === true)
    .flatMap(([, places]) => [places].flat()).map((place) => (place as JsonObject | undefined)?.installPath);
  return [...valuesOf(words, "--plugin-dir"), ...installed].filter((path) => typeof path === "string");
}

function pluginServers(folder: string, read: Read): Servers {
  const { name = basename(folder), mcpServers } = read(join(folder, ".claude-plugin", "plugin.json"));
  const files = [mcpServers ?? ".mcp.json"].flat().map((one) =>
    typeof one === "string" ? read(join(folder, one)) : one
  );
  return Object.fromEntries(
    files.flatMap((one) => Object.entries(objectsIn((one as JsonObject).mcpServers ?? one))).map(([server, given]) => {
      const text = JSON.stringify(given).replaceAll("${CLAUDE_PLUGIN_ROOT}", JSON.stringify(folder).slice(1, -1));
      const { env, ...rest } = JSON.parse(text) as JsonObject;
      return [`plugin:${name}:${server}`, { ...rest, env: { CLAUDE_PLUGIN_ROOT: folder, ...objectOf(env) } }];
    }),
  );
}

/** Codex itself says which it has, and starts none of them. */
function codexServers({ command, directory, env, find }: ShimOptions): Servers {
  const codex = find("codex");
  if (codex === undefined) return {};
  const isNamed = command.some((word) => basename(word) === "codex");
  const words = isNamed ? wordsOf(command, "codex") : [];
  const chosen = words.flatMap((word, i) =>
    /^-[cp]$|^--(?:config|profile)$/.test(word) ? [word, words[i + 1] ?? ""] : CHOSEN.test(word) ? [word] : []
  );
  const { stdout, stderr } = spawnSync(codex, [...chosen, "mcp", "list", "--json"], {
    ...{ cwd: directory, env: { ...env } as NodeJS.ProcessEnv, encoding: "utf8", timeout: 60_000 },
  });
  const list = parsed(stdout ?? "");
  if (!Array.isArray(list)) {
    if (!isNamed) return {};
    const why = stderr?.trim().split("\n").at(-1) || "it took too long";
    throw new TapeError(
      `Cannot find the MCP servers of Codex as 'codex mcp list --json' failed (${why}): try it, or --mcp live`,
    );
  }
  const enabled = list.filter(isObject).filter((one) => one.enabled === true && isObject(one.transport));
  return Object.fromEntries(enabled.map(({ name, transport }) => [String(name), transport as JsonObject]));
}

/** Its settings in one word. */
const CHOSEN = /^-[cp][^-]|^--(?:config|profile)=/;

/** Only what differs from the user's own: the rest stays. */
function codexWords(name: string, { command, args, url, headers }: JsonObject): string[] {
  const set = command === undefined ? { url, [`http_headers.${TO}`]: objectOf(headers)[TO] } : { command, args };
  return Object.entries(set).flatMap(([key, value]) => ["-c", `mcp_servers.${name}.${key}=${JSON.stringify(value)}`]);
}

/** Later files win, by the name of a server; the system's is the last. */
function geminiSettings(
  { directory, env }: ShimOptions,
  read: Read,
  put: (servers: Servers) => Servers,
  notes: string[],
): JsonObject | undefined {
  const system = process.platform === "darwin" ? "/Library/Application Support/GeminiCli" : "/etc/gemini-cli";
  const last = read(env.GEMINI_CLI_SYSTEM_SETTINGS_PATH || join(system, "settings.json"));
  const first = read(env.GEMINI_CLI_SYSTEM_DEFAULTS_PATH || join(system, "system-defaults.json"));
  const [here, user] = [directory, homeOf(env)].map((at) => serversIn(read(join(at, ".gemini/settings.json"))));
  const isTrusted = env.GEMINI_CLI_TRUST_WORKSPACE === "true" || geminiTrusts(directory, env);
  for (const name of isTrusted ? [] : Object.keys(here!)) {
    notes.push(
      `MCP server '${name}' of .gemini/settings.json is left to Gemini CLI, which does not trust this directory`,
    );
  }
  const servers = put({ ...serversIn(first), ...user, ...isTrusted && here, ...serversIn(last) });
  return Object.keys(servers).length === 0 ? undefined : { ...last, mcpServers: { ...serversIn(last), ...servers } };
}
