import { join } from "node:path";
import { checkPrices, type Prices, PRICES_SCHEMA } from "../../models/anthropic/prices.ts";
import { isObject } from "../../core/json.ts";
import type { Limits } from "../../core/limits.ts";
import { LIMITS_SCHEMA, limitsOf } from "../../agent/given-limits.ts";
import { readBrought } from "../../files/confine.ts";
import { nearest } from "../../input/nearest.ts";
import { type Check, KINDS } from "../../input/options.ts";
import { readStateBytes, userState } from "../../files/state.ts";
import { distrust } from "../../hooks/hook-trust.ts";
import type { McpOptions, McpServer } from "../../mcp/servers.ts";
import type { Permissions } from "../../permissions/rules.ts";
import { type Io, UsageError } from "./io.ts";

/** What happens when an agent begins to wait for a decision: notify a person, run a command, or nothing. */
export type OnPrompt = "escalate" | "none" | { readonly command: string };

/** A project's own settings, `.crochet/config.yaml`; flags win over them. */
export interface Config {
  readonly model?: string;
  readonly hookModel?: string;
  readonly permissions?: Permissions;
  readonly limits?: Partial<Limits>;
  readonly prices?: Prices;
  readonly memory?: boolean | readonly string[];
  readonly hooks?: { readonly env?: readonly string[]; readonly allowLocal?: boolean };
  readonly mcp?: { readonly servers?: unknown; readonly startTimeout?: number };
  /** What to do when an agent begins to wait for a person's decision. */
  readonly onPrompt?: OnPrompt;
}

export const CONFIG_FILE = ".crochet/config.yaml";

/** The settings of a project, which count if a person has trusted the file; a field it does not know is an error with the fix. */
export async function readConfig(cwd: string, io: Pick<Io, "env" | "err">, trusted = false): Promise<Config> {
  const file = join(cwd, CONFIG_FILE);
  const config = await readFile(file, () => readBrought(cwd, file));
  const why = trusted ? undefined : distrust(cwd, CONFIG_FILE, io.env);
  const fields = Object.keys(config).map((field) => `'${field}'`);
  if (why === undefined || fields.length === 0) return config;
  const last = fields.pop();
  const named = fields.length === 0 ? `${last} does` : `${fields.join(", ")} and ${last} do`;
  io.err(`crochet: ${why}; until then its ${named} not count\n`);
  return {};
}

/** What to do when an agent begins to wait: the project's setting, else the user's (S2.14). */
export async function onPromptFor(config: Config, env: Io["env"]): Promise<OnPrompt> {
  const file = join(userState(env), "config.yaml");
  return config.onPrompt ?? (await readFile(file, () => readStateBytes(file))).onPrompt ?? "escalate";
}

async function readFile(file: string, read: () => Uint8Array | undefined): Promise<Config> {
  const { parse } = await import("yaml");
  const fail = (why: string) => new UsageError(`Cannot use ${file} as ${why}`);
  let bytes: Uint8Array | undefined;
  try {
    bytes = read();
  } catch (error) {
    throw error instanceof TypeError ? error : fail((error as Error).message);
  }
  if (bytes === undefined) return {};
  let given: unknown;
  try {
    given = parse(new TextDecoder().decode(bytes)) ?? {};
  } catch (error) {
    throw fail(`it is not YAML: ${(error as Error).message.split("\n")[0]}`);
  }
  if (!isObject(given)) throw fail("it is not a list of settings: write 'model: …' and the like");
  const fault = settingFault(given, SETTINGS);
  if (fault !== undefined) throw fail(fault);
  const config = given as Config;
  try {
    limitsOf(config.limits);
    checkPrices(config.prices ?? {});
  } catch (error) {
    throw fail((error as Error).message);
  }
  return config;
}

/** A deny rule under a misspelled name would silently do nothing, so parts are checked too. */
function settingFault(given: object, settings: Settings, within = ""): string | undefined {
  for (const [name, value] of Object.entries(given)) {
    if (!Object.hasOwn(settings, name)) {
      const meant = nearest(name, Object.keys(settings));
      return `there is no setting '${within}${name}': did you mean '${within}${meant}'?`;
    }
    const { is: [fits], must, parts } = settings[name]!;
    if (!fits(value)) return `'${within}${name}' must ${must}`;
    const fault = parts && settingFault(value as object, parts, `${name}.`);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

type Settings = {
  readonly [name: string]: { readonly is: Check; readonly must: string; readonly parts?: Settings };
};

const model = { is: KINDS["a text"], must: "be a model's name" };
const rules = { is: KINDS["a text or a list of texts"], must: "be a list of rules" };

export const SETTINGS: Settings = {
  model,
  hookModel: model,
  permissions: {
    is: KINDS["an object"],
    must: "have mode, allow, ask or deny",
    parts: { mode: { is: KINDS["a text"], must: "be a mode" }, allow: rules, ask: rules, deny: rules },
  },
  limits: { is: [isObject, LIMITS_SCHEMA], must: "have iterations, dollars or the like" },
  prices: { is: [isObject, PRICES_SCHEMA], must: "have prices by the name of the model" },
  memory: { is: KINDS["true, false or a list of texts"], must: "be true, false or a list of files" },
  hooks: {
    is: KINDS["an object"],
    must: "have env or allowLocal",
    parts: {
      env: { is: KINDS["a list of texts"], must: "be a list of names" },
      allowLocal: { is: KINDS["true or false"], must: "be true or false" },
    },
  },
  mcp: {
    is: KINDS["an object"],
    must: "have servers or startTimeout",
    parts: {
      servers: { is: KINDS.any, must: "be servers by name" },
      startTimeout: { is: KINDS["more than 0"], must: "be a number of milliseconds" },
    },
  },
  onPrompt: {
    is: [
      (value) => value === "escalate" || value === "none" || (isObject(value) && typeof value.command === "string"),
      {
        anyOf: [
          { enum: ["escalate", "none"] },
          { type: "object", properties: { command: { type: "string" } }, required: ["command"] },
        ],
      },
    ],
    must: "be escalate, none or { command: … }",
  },
};

const FILE = ".mcp.json";

/** `.mcp.json` if it is trusted, and `mcp` of the settings, which win. A server with a mistake is reported, and left out. */
export async function findServers(
  cwd: string,
  config: Config,
  io: Pick<Io, "env" | "err">,
  trusted: boolean,
): Promise<McpOptions | undefined> {
  const report = (problem: string) => io.err(`crochet: ${problem}\n`);
  const written = [
    { file: FILE, given: inFile(cwd, io.env, trusted, report) },
    { file: CONFIG_FILE, given: config.mcp?.servers },
  ].filter(({ given }) => given !== undefined);
  if (written.length === 0) return undefined;
  const { readServers } = await import("../../mcp/servers.ts");
  const servers: Record<string, McpServer> = {};
  for (const { file, given } of written) {
    const read = readServers(given, io.env, file);
    Object.assign(servers, read.servers);
    read.problems.forEach(report);
  }
  const startTimeout = config.mcp?.startTimeout;
  return { servers, ...(startTimeout !== undefined && { startTimeout }) };
}

function inFile(cwd: string, env: Io["env"], trusted: boolean, report: (problem: string) => void): unknown {
  let bytes: Uint8Array | undefined;
  try {
    bytes = readBrought(cwd, join(cwd, FILE));
  } catch (error) {
    report(`Cannot read ${FILE}: ${(error as Error).message}`);
  }
  if (bytes === undefined) return undefined;
  const text = new TextDecoder().decode(bytes);
  const why = trusted ? undefined : distrust(cwd, FILE, env, text);
  if (why !== undefined) {
    report(why);
    return undefined;
  }
  try {
    return (JSON.parse(text) as { mcpServers?: unknown }).mcpServers ?? {};
  } catch (error) {
    report(`Cannot use ${FILE} as it is not JSON: ${(error as Error).message}`);
    return undefined;
  }
}
