import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type Limits, limitsOf } from "../core/limits.ts";
import { nearest } from "../core/names.ts";
import type { Permissions } from "../permissions/rules.ts";
import { userState } from "../hooks/file/places.ts";
import { distrust } from "../hooks/trust.ts";
import type { OnPrompt } from "../monitor/on-prompt.ts";
import { type Io, UsageError } from "./_io.ts";

/** A project's own settings, `.crochet/config.yaml`; flags win over them. */
export interface Config {
  readonly model?: string;
  readonly hookModel?: string;
  readonly permissions?: Permissions;
  readonly limits?: Partial<Limits>;
  readonly memory?: boolean | readonly string[];
  readonly hooks?: { readonly env?: readonly string[]; readonly allowLocal?: boolean };
  readonly mcp?: { readonly servers?: unknown; readonly startTimeout?: number };
  /** What is done when an agent begins to wait for a decision of a person. */
  readonly onPrompt?: OnPrompt;
}

const FIELDS = ["model", "hookModel", "permissions", "limits", "memory", "hooks", "mcp", "onPrompt"];

export const CONFIG_FILE = ".crochet/config.yaml";

/**
 * Reads the settings of a project; a field it does not know, or of the wrong kind, is an error with the mend. What
 * gives power (permissions, what hooks may reach, servers to start) counts only where a person has trusted the file.
 */
export async function readConfig(cwd: string, io: Pick<Io, "env" | "err">, trusted = false): Promise<Config> {
  const config = await readFile(join(cwd, CONFIG_FILE));
  const why = trusted ? undefined : distrust(cwd, CONFIG_FILE, io.env);
  const { permissions, hooks, mcp, onPrompt, ...rest } = config;
  const harmless = typeof onPrompt === "string" && { onPrompt };
  const powers = Object.entries({ permissions, hooks, mcp, ...(!harmless && { onPrompt }) }).flatMap(([field, v]) =>
    v === undefined ? [] : `'${field}'`
  );
  if (why === undefined || powers.length === 0) return config;
  const last = powers.pop();
  const named = powers.length === 0 ? `${last} does` : `${powers.join(", ")} and ${last} do`;
  io.err(`crochet: ${why}; until then its ${named} not count\n`);
  return { ...rest, ...harmless };
}

/** What is done when an agent begins to wait: as the project has it, else as the person has it for all (S2.14). */
export async function onPromptFor(config: Config, env: Io["env"]): Promise<OnPrompt> {
  return config.onPrompt ?? (await readFile(join(userState(env), "config.yaml"))).onPrompt ?? "escalate";
}

async function readFile(file: string): Promise<Config> {
  if (!existsSync(file)) return {};
  const { parse } = await import("yaml");
  const fail = (why: string) => new UsageError(`Cannot use ${file} as ${why}`);
  let given: unknown;
  try {
    given = parse(readFileSync(file, "utf8")) ?? {};
  } catch (error) {
    throw fail(`it is not YAML: ${(error as Error).message.split("\n")[0]}`);
  }
  if (typeof given !== "object" || Array.isArray(given)) {
    throw fail("it is not a list of settings: write 'model: …' and the like");
  }
  for (const key of Object.keys(given as object)) {
    if (!FIELDS.includes(key)) throw fail(`'${key}' is no setting: did you mean '${nearest(key, FIELDS)}'?`);
  }
  const config = given as Config;
  for (const key of ["model", "hookModel"] as const) {
    if (config[key] !== undefined && typeof config[key] !== "string") throw fail(`'${key}' must be a model's name`);
  }
  if (config.permissions !== undefined && (typeof config.permissions !== "object" || config.permissions === null)) {
    throw fail("'permissions' must have mode, allow, ask or deny");
  }
  if (config.mcp !== undefined && (typeof config.mcp !== "object" || config.mcp === null)) {
    throw fail("'mcp' must have servers");
  }
  try {
    limitsOf(config.limits);
  } catch (error) {
    throw fail((error as Error).message);
  }
  const { onPrompt } = config;
  const isCommand = typeof (onPrompt as { command?: unknown } | undefined)?.command === "string";
  if (onPrompt !== undefined && onPrompt !== "escalate" && onPrompt !== "none" && !isCommand) {
    throw fail("'onPrompt' must be escalate, none or { command: … }");
  }
  return config;
}
