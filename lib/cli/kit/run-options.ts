import { join, resolve } from "node:path";
import type { Agent, RunOptions } from "../../agent/options.ts";
import type { Limits } from "../../core/limits.ts";
import { readBrought } from "../../files/confine.ts";
import { logsDir } from "../../files/state.ts";
import { distrust } from "../../hooks/hook-trust.ts";
import { checkPermissions } from "../../permissions/gate.ts";
import type { PermissionMode } from "../../permissions/rules.ts";
import type { TranscriptStore } from "../../log/stores/store.ts";
import { findServers, onPromptFor, readConfig } from "./config.ts";
import { runGift } from "./run-gifts.ts";
import { findHooks, reportUnloaded } from "./find-hooks.ts";
import { budgetFlag, type Flags, numberFlag, type Usage } from "./flags.ts";
import { type Io, UsageError } from "./io.ts";
import { expectRun, logMeant, projectOf, runId } from "./project.ts";
import { projectStore, rememberedRules } from "./stored.ts";

/** Part of `--help`: how a person is asked. */
export const ASKING =
  "On a terminal you are asked before a call that no rule allows. The rule for an 'always' answer is stored for this project in " +
  "your ~/.crochet, never in the project; '/permissions forget <rule>' in a chat removes it.";

export const RUN_FLAGS: Usage["flags"] = [
  ["--model <name>", "the model to use; openai:NAME is called at OPENAI_BASE_URL"],
  ["--cwd <dir>", "where the tools work"],
  ["--settings <file>", "a settings file in Claude Code's format: hooks and permissions"],
  ["--hooks <dir>", "a folder of hook files"],
  ["--trust", "trust the hooks and settings of the directory, and a log that was not written here, for this call"],
  ["--permission-mode <mode>", "default, acceptEdits, plan or bypassPermissions"],
  ["--max-iterations <n>", "the maximum number of model calls"],
  ["--budget <n>", "the maximum cost in dollars; or in tokens, as 500k or 2M"],
  [
    "--resume <id>",
    "continue a run ('last' is the newest), or from a model call of it; without a prompt, one that was cut off",
  ],
  [
    "--from <run#n>",
    "go another way from model call n of a run (last#7) or fixture (fixtures/fix#3) on; all before it is served",
  ],
];

export interface RunCommand {
  readonly flags: Flags["flags"];
  readonly io: Io;
  /** Whether the agent is a script: it names its own hooks folder. */
  readonly script: boolean;
}

/** What flags, settings and hooks make of a run, and the agent whose runs `crochet agents` shows. */
export async function runOptions(
  { flags, io, script }: RunCommand,
  agent: Agent,
): Promise<{ readonly options: RunOptions; readonly watched: Agent; readonly store: TranscriptStore }> {
  const cwd = projectOf(flags, io);
  const { config, session } = await rulesHere({ flags, io, script }, agent);
  const runs = logsDir(cwd, io.env, true);
  const store = projectStore(cwd, io.env, (warning) => io.err(`crochet: ${warning}\n`));
  const options: RunOptions = {
    signal: io.signal,
    cwd,
    ...(io.env.CROCHET_LOG !== "off" && { log: runs }),
    ...session,
    limits: { ...config.limits, ...stallsFrom(io.env), ...limitsFrom(flags) },
    ...(config.prices && { prices: config.prices }),
    ...(flags.trust === true && { trust: true }),
    ...(flags.resume !== undefined && pastFrom(String(flags.resume), cwd, io)),
    ...(flags.from !== undefined && { from: forkFrom(String(flags.from), cwd, flags, io) }),
  };
  const onPrompt = await onPromptFor(config, io.env);
  const watch = await runGift("watch");
  return { options, store, watched: watch?.(agent, { env: io.env, workspace: cwd, onPrompt }) ?? agent };
}

/**
 * The one way to a session: what decides about the calls of an agent here (flag, script, trusted config and settings,
 * what a person said 'always' to), its hooks, servers and memory. The model is that of the flag, else the script's own,
 * else the one of the environment or the config.
 */
export async function rulesHere({ flags, io, script }: RunCommand, agent: Agent) {
  const cwd = projectOf(flags, io);
  const config = await readConfig(cwd, io, flags.trust === true);
  const found = await findHooks(cwd, flags, config, io, script ? (await agent.ownHooks()).folders : undefined);
  reportUnloaded(found.first, io);
  const permissions = permissionsFrom(flags, agent.permissions, config.permissions, found.first.permissions, {
    allow: rememberedRules(cwd, io.env),
  });
  const named = flags.model ?? (agent.model === undefined ? io.env.CROCHET_MODEL || config.model : undefined);
  const mcp = await findServers(cwd, config, io, flags.trust === true);
  const session = {
    permissions,
    rules: await projectRules(cwd, io, flags.trust === true),
    hooks: found.hooks,
    memory: config.memory ?? true,
    ...(mcp && { mcp }),
    ...(named !== undefined && { model: String(named) }),
  };
  return { config, session };
}

/** What a run goes another way from, by its whole name. */
function forkFrom(given: string, cwd: string, flags: Flags["flags"], io: Io): string {
  const [, named = given, call = ""] = /^(.+?)(#\d+)$/.exec(given) ?? [];
  if (flags.resume !== undefined) throw new UsageError("Cannot use --from with --resume: leave one of them out");
  const path = logMeant(named, cwd, io.env);
  if (path === undefined) return `${resolve(io.cwd, named)}${call}`;
  return `${runId(path)}${call}`;
}

/** A run that goes on; from one of its messages on (`id@messages`) under a new id. One that has no log may be in a store of the script. */
function pastFrom(given: string, cwd: string, io: Io): Pick<RunOptions, "resume" | "fork"> {
  const [, named = given, at = ""] = /^(.*)(@.*?)$/.exec(given) ?? [];
  const path = named === "last" ? expectRun(named, "resume", cwd, io.env) : logMeant(named, cwd, io.env);
  const resume = path === undefined ? named : runId(path);
  return { resume, ...(at !== "" && { fork: `${resume}${at}` }) };
}

/** The limit as Claude Code has it. */
function stallsFrom({ CLAUDE_CODE_STOP_HOOK_BLOCK_CAP: cap }: Io["env"]): Partial<Limits> {
  return cap !== undefined && /^-?\d+$/.test(cap) ? { stalls: Math.max(0, Number(cap)) } : {};
}

export function limitsFrom(flags: Flags["flags"]): Partial<Limits> {
  return {
    ...(flags.maxIterations !== undefined && { iterations: numberFlag(flags, "maxIterations")! }),
    ...budgetFlag(flags),
  };
}

type Rules = NonNullable<RunOptions["permissions"]>;

/** The mode of the first source that has one, flag and script before the rest, and the rules of all of them. */
export function permissionsFrom(flags: Flags["flags"], ...given: readonly (Rules | undefined)[]): Rules {
  // Each by itself: of all together, a misspelt key of one would be left out.
  for (const rules of given) if (rules) checkPermissions(rules);
  const { mode = "default", ...rules } = joinedRules(...given);
  return { ...rules, mode: (flags.permissionMode ?? mode) as PermissionMode };
}

/** The rules of a project's trusted config and settings: with those of its script they are part of the program. */
export async function projectRules(cwd: string, { env }: Pick<Io, "env">, trusted: boolean): Promise<Rules> {
  const { permissions } = await readConfig(cwd, { env, err: () => {} }, trusted);
  const trustedFiles = PROJECT_SETTINGS.filter((thing) => trusted || distrust(cwd, thing, env) === undefined);
  const settings = trustedFiles.map((thing) => join(cwd, thing)).flatMap((path) => {
    const bytes = readBrought(cwd, path);
    return bytes ? [{ path, text: new TextDecoder().decode(bytes) }] : [];
  });
  const found = settings.length === 0
    ? {}
    : (await (await import("../../hooks/hook-settings.ts")).loadSettings(settings, { projectDir: cwd })).permissions;
  const { roots: _, ...rules } = joinedRules(permissions, found);
  return rules;
}

const PROJECT_SETTINGS = [".claude/settings.json", ".claude/settings.local.json"] as const;

function joinedRules(...given: readonly (Rules | undefined)[]): Rules {
  const all = (kind: "allow" | "ask" | "deny") => given.flatMap((rules) => rules?.[kind] ?? []);
  const first = <K extends keyof Rules>(key: K) => given.find((rules) => rules?.[key] !== undefined)?.[key];
  const [roots, mode] = [first("roots"), first("mode")];
  return { ...(roots && { roots }), ...(mode && { mode }), allow: all("allow"), ask: all("ask"), deny: all("deny") };
}

/** More is a file that the agent should read in parts. */
const MOST_BYTES = 10 * 1024 * 1024;

/** How long a pipe may stay silent: one that cron or CI left open never sends anything. */
const PATIENCE_MS = 3000;

/** The prompt of a command: its words, then what is piped into it. The word `-` alone means only what is piped. */
export async function promptOf(words: readonly string[], { stdin, signal, err }: Io): Promise<string> {
  const only = words.length === 1 && words[0] === "-";
  const said = only ? "" : words.join(" ");
  if (!stdin || !(only || stdin.isPiped)) return said;
  const piped = await read(stdin.stream, signal, only ? undefined : PATIENCE_MS);
  if (piped === undefined) {
    err(
      `crochet: stdin is open but sent nothing for ${PATIENCE_MS / 1000} s, so it is not part of the prompt: ` +
        "add < /dev/null to skip the wait, or give - as the prompt to wait for it\n",
    );
  }
  return [said, piped?.trimEnd() ?? ""].filter((part) => part.trim() !== "").join("\n\n");
}

/** All of a stream as text; undefined if it is still silent after `patience` milliseconds. */
async function read(
  stream: NonNullable<Io["stdin"]>["stream"],
  signal: AbortSignal,
  patience: number | undefined,
): Promise<string | undefined> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  const { promise, resolve, reject } = Promise.withResolvers<boolean>();
  const timer = patience === undefined ? undefined : setTimeout(() => resolve(false), patience);
  const take = (chunk: Uint8Array) => {
    clearTimeout(timer);
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes > MOST_BYTES) {
      reject(
        new UsageError("Cannot read stdin as it is over 10 MB: save it as a file and ask the agent to read the file"),
      );
    }
  };
  const end = () => resolve(true);
  const interrupt = () => reject(signal.reason);
  signal.addEventListener("abort", interrupt, { once: true });
  if (signal.aborted) interrupt();
  stream.on("data", take).on("end", end).on("error", reject);
  try {
    return await promise ? new TextDecoder().decode(Buffer.concat(chunks)) : undefined;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", interrupt);
    stream.off("data", take).off("end", end);
    // Otherwise a pipe that stays open keeps the process alive.
    stream.pause();
  }
}
