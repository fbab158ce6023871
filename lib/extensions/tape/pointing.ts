import { basename, delimiter, join, resolve } from "node:path";
import { objectOf, parsed } from "../../core/json.ts";
import {
  makeFolder,
  pathBelow,
  realState,
  removeState,
  scratchState,
  userState,
  writeStateFile,
} from "../../files/state.ts";
import { onPath } from "../../process/programs.ts";
import { type Places, placesHere } from "../../log/redact/places.ts";
import type { Upstreams } from "./forward-requests.ts";
import { type McpShims, mcpShims } from "./mcp-config.ts";
import { claudeRules, trustOfCopy } from "./trusting.ts";

export type Env = { readonly [name: string]: string | undefined };

const VARIABLES = {
  anthropic: "ANTHROPIC_BASE_URL",
  openai: "OPENAI_BASE_URL",
  gemini: "GOOGLE_GEMINI_BASE_URL",
} as const;

/** The part of opencode's settings that says where requests go. */
interface OpencodeConfig {
  readonly provider?: { readonly [name: string]: { readonly options?: { readonly baseURL?: string } } };
}

/** Where requests go if they are not recorded: what the environment says, else the provider. */
export function upstreamsIn(env: Env): Upstreams {
  const config = parsed(env.OPENCODE_CONFIG_CONTENT ?? "") as OpencodeConfig | undefined;
  const opencode = (name: string) => config?.provider?.[name]?.options?.baseURL;
  return {
    anthropic: env[VARIABLES.anthropic] || opencode("anthropic") || "https://api.anthropic.com",
    openai: env[VARIABLES.openai] || opencode("openai") || "https://api.openai.com/v1",
    gemini: env[VARIABLES.gemini] || opencode("google")?.replace(/\/v1beta\/?$/, "") ||
      "https://generativelanguage.googleapis.com",
  };
}

/** The places of a command, which has an environment of its own. */
export function placesOf(root: string, { HOME, TMPDIR }: Env): Places {
  return { ...placesHere(root), ...(HOME && { home: HOME }), ...(TMPDIR && { tmp: TMPDIR }) };
}

/** Variables that prompts show. A replay sets them as recorded, if their values can name no program but a shell of the system. */
const SHOWN_VARIABLES = {
  SHELL: /^(?:\/usr(?:\/local)?)?\/bin\/(?:ba|da|fi|k|tc|z)?sh$/,
  LANG: /^[\w.@-]{0,64}$/,
  LC_ALL: /^[\w.@-]{0,64}$/,
  TZ: /^[\w+-]+(?:\/[\w+-]+)*$/,
} as const;

/** These variables of an environment, for a tape or from one. */
export function shownVariables(env: { readonly [name: string]: unknown }): { [name: string]: string } {
  return Object.fromEntries(
    Object.entries(SHOWN_VARIABLES).flatMap(([name, usual]) =>
      typeof env[name] === "string" && usual.test(env[name]) ? [[name, env[name]]] : []
    ),
  );
}

interface PointOptions {
  readonly env: Env;
  /** In a replay, the variables of the recording. */
  readonly shown?: { readonly [name: string]: string };
  /** A proxy for everything else, in a replay. */
  readonly proxy?: string;
  /** Where it works. */
  readonly cwd: string;
  /** The directory that it works in a copy of. */
  readonly copyOf?: string | undefined;
  /** Puts our command before its MCP servers. */
  readonly mcp: boolean;
}

/** Arguments that a program gets before those of the user, and behind them; what follows a `--` is the prompt. */
interface Added {
  readonly first: readonly string[];
  readonly last?: readonly string[];
}

/** A command and its environment, so that it finds the server: each program by the one way it takes. */
export async function pointedAt(url: string, command: readonly string[], options: PointOptions) {
  const home = pathBelow(userState({ HOME: options.env.HOME }), ["tape"]);
  makeFolder(home);
  // Gemini CLI reads settings only from a folder that others cannot write to.
  const folder = scratchState(home, "run");
  const { env } = options;
  const directory = options.copyOf ?? options.cwd;
  const [program = "", ...rest] = command;
  const path = program.includes("/") ? program : undefined;
  const find = (name: string) => path !== undefined && basename(path) === name ? path : onPath(name, env);
  const mcp = options.mcp ? await mcpShims({ url, command, directory, env, find }) : undefined;
  const programs = shims(url, folder, options, mcp);
  const bin = join(folder, "bin");
  for (const [name, added] of Object.entries(programs)) shim(bin, name, find(name), added);
  // One that is named by its path is not looked for.
  const own = path !== undefined && programs[basename(path)] && realState(resolve(options.cwd, path)) !== undefined;
  return {
    env: environment(url, folder, options, mcp),
    command: [own ? join(bin, basename(path)) : program, ...rest],
    notes: mcp?.notes ?? [], // which MCP servers run for real, and why
    [Symbol.dispose]: () => removeState(folder),
  };
}

/** The variables alone, for programs that need no more: SDKs, Claude Code, opencode. */
export function variablesFor(url: string, env: Env): { [name: string]: string } {
  const none = [env.NO_PROXY ?? env.no_proxy, "127.0.0.1,localhost"].filter(Boolean).join(",");
  return {
    CROCHET_URL: url,
    [VARIABLES.anthropic]: `${url}/anthropic`,
    [VARIABLES.openai]: `${url}/openai/v1`,
    [VARIABLES.gemini]: `${url}/gemini`,
    OPENCODE_CONFIG_CONTENT: opencodeConfig(url, env.OPENCODE_CONFIG_CONTENT),
    NO_PROXY: none,
    no_proxy: none,
  };
}

function environment(
  url: string,
  folder: string,
  { env, shown, proxy, copyOf }: PointOptions,
  mcp: McpShims | undefined,
): { [name: string]: string } {
  const settings = join(folder, "gemini.json");
  writeStateFile(settings, JSON.stringify({ security: { auth: { selectedType: "gemini-api-key" } } }));
  const servers = join(folder, "gemini-mcp.json");
  if (mcp?.gemini) writeStateFile(servers, JSON.stringify(mcp.gemini));
  const names = Object.keys(SHOWN_VARIABLES);
  const then = shown && { ...Object.fromEntries(names.map((name) => [name, undefined])), ...shownVariables(shown) };
  const all: Env = {
    ...env,
    ...then,
    ...variablesFor(url, env),
    ...(env.GEMINI_CLI_SYSTEM_DEFAULTS_PATH === undefined && { GEMINI_CLI_SYSTEM_DEFAULTS_PATH: settings }),
    ...(mcp?.gemini && { GEMINI_CLI_SYSTEM_SETTINGS_PATH: servers }),
    ...(copyOf !== undefined && trustOfCopy(copyOf, env)),
    PATH: `${join(folder, "bin")}${delimiter}${env.PATH ?? ""}`,
    ...(proxy !== undefined && alone(proxy, env)),
  };
  return Object.fromEntries(Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined));
}

/** What a replay needs to do without the network. */
function alone(proxy: string, env: Env): Env {
  const proxies = ["HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY"].flatMap((name) => [name, name.toLowerCase()]);
  return {
    ...Object.fromEntries(proxies.map((name) => [name, proxy])),
    ...placeholderKeys(env),
    OPENAI_AGENTS_DISABLE_TRACING: "1", // it would wait seconds for a host that is not there
  };
}

/** A key for each API of which there is none: clients look for one before they ask. */
export function placeholderKeys(env: Env): { [name: string]: string } {
  const hasLogin = Boolean(env.ANTHROPIC_AUTH_TOKEN || env.CLAUDE_CODE_OAUTH_TOKEN);
  const keys = ["OPENAI_API_KEY", "CODEX_API_KEY", "GEMINI_API_KEY", ...(hasLogin ? [] : ["ANTHROPIC_API_KEY"])];
  return Object.fromEntries(keys.filter((name) => !env[name]).map((name) => [name, "replayed-from-tape"]));
}

/** Where each provider is below the server's address. */
function basesAt(url: string) {
  return { anthropic: `${url}/anthropic`, openai: `${url}/openai/v1`, google: `${url}/gemini/v1beta` };
}

function opencodeConfig(url: string, given: string | undefined): string {
  const { provider, ...rest } = objectOf(parsed(given ?? "{}"));
  const providers = { ...objectOf(provider) };
  for (const [name, baseURL] of Object.entries({ ...basesAt(url), anthropic: `${url}/anthropic/v1` })) {
    const known = objectOf(providers[name]);
    providers[name] = { ...known, options: { ...objectOf(known.options), baseURL } };
  }
  return JSON.stringify({ ...rest, provider: providers });
}

/** Programs that take the address, or what they are trusted with, by an argument alone. */
function shims(
  url: string,
  folder: string,
  { env, copyOf }: PointOptions,
  mcp: McpShims | undefined,
): { readonly [program: string]: Added } {
  const rules = copyOf === undefined ? undefined : claudeRules(copyOf, env);
  const extension = join(folder, "pi.ts");
  const lines = Object.entries(basesAt(url)).map(([name, baseUrl]) =>
    `  pi.registerProvider("${name}", { baseUrl: "${baseUrl}" });`
  );
  writeStateFile(extension, `export default (pi: any) => {\n${lines.join("\n")}\n};\n`);
  const servers = join(folder, "claude-mcp.json");
  const hasServers = Object.keys(mcp?.claude ?? {}).length > 0;
  if (hasServers) writeStateFile(servers, JSON.stringify({ mcpServers: mcp!.claude }));
  return {
    codex: { first: ["-c", `openai_base_url="${url}/openai/v1"`], last: mcp?.codex ?? [] },
    pi: { first: ["-e", extension] },
    // The last definition of a name wins; as two words it would take a prompt behind it for a file.
    ...((rules || hasServers) && {
      claude: {
        first: rules ? ["--settings", JSON.stringify(rules)] : [],
        last: hasServers ? [`--mcp-config=${servers}`] : [],
      },
    }),
  };
}

/** Puts a script before a program on the path that adds arguments. */
function shim(folder: string, name: string, real: string | undefined, { first, last = [] }: Added): void {
  if (real === undefined) return;
  const quoted = (words: readonly string[]) => words.map((word) => ` '${word.replaceAll("'", `'\\''`)}'`).join("");
  const add = `set -- "$@"${quoted(last)}`;
  // Each word goes from the front to the back, ours in between.
  const words =
    `is=\nfor word; do\n  shift\n  [ "$is$word" != -- ] || { ${add}; is=there; }\n  set -- "$@" "$word"\ndone\n` +
    `[ "$is" ] || ${add}\n`;
  const text = `#!/bin/sh\n${last.length > 0 ? words : ""}exec${quoted([real, ...first])} "$@"\n`;
  writeStateFile(join(folder, name), text, { mode: 0o700 });
}
