import { isReachable } from "../../agent/named-model.ts";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Agent, HookRunner } from "../../agent/options.ts";
import type { HookRecord } from "../../core/hook.ts";
import { isFolder, stateFolder } from "../../files/state.ts";
import { shortPath } from "../../hooks/file/user-places.ts";
import type { HookHost } from "../../hooks/process/hook-host.ts";
import { type FoundHooks, HookSources, type SourcesOptions } from "../../hooks/sources.ts";
import type { ExecRecord } from "../../hooks/toml.ts";
import type { Config } from "./config.ts";
import type { Flags } from "./flags.ts";
import { type Io, UsageError } from "./io.ts";

/** Finds hooks as `crochet run` does, for one session: before it begins, and bound to it when it does. */
export async function findHooks(
  cwd: string,
  flags: Flags["flags"],
  config: Config,
  io: Io,
  scriptFolders: readonly string[] | undefined,
) {
  await expectTyped(cwd, flags);
  let bound: HookRunner | undefined;
  const host: HookHost = {
    projectDir: cwd,
    env: io.env,
    wire: (event) => bound?.host.wire?.(event) ?? {},
    remember: (behavior, rules) => bound?.host.remember?.(behavior, rules),
    get envFile() {
      return bound?.host.envFile;
    },
    get confine() {
      return bound?.host.confine;
    },
    get onOutput() {
      return bound?.host.onOutput;
    },
    outputDir: (id) => stateFolder(cwd, io.env, "outputs", id),
    ...(config.hooks?.env && { keepEnv: config.hooks.env }),
    ...(config.hooks?.allowLocal !== undefined && { allowLocal: config.hooks.allowLocal }),
  };
  const sources = new HookSources({
    cwd,
    env: io.env,
    ...(scriptFolders && { scriptFolders }),
    host,
    prompt: {
      get model() {
        return bound?.prompt.model;
      },
      get modelName() {
        return config.hookModel ?? bound?.prompt.modelName;
      },
    },
    warn: (message) => bound?.warn(message),
    toml: {
      onExec: (exec: ExecRecord) => bound?.emit({ type: "exec", exec }),
      refuses: async (command, key, signal) => await bound?.refuses(command, key, signal),
      confine: (command, cwd) => bound?.confine(command, cwd) ?? command,
      source: "cli",
    },
    ...(flags.settings !== undefined && { settings: [String(flags.settings)] }),
    ...(flags.hooks !== undefined && { hooks: [String(flags.hooks)] }),
    ...(flags.trust === true && { trust: true }),
  });
  await sources.expectSettings();
  const first = await startable(sources);
  return {
    first,
    hooks: (runner: HookRunner) => {
      bound = runner;
      const shown = new Set(leftOut(first));
      return async () => {
        const found = await startable(sources);
        for (const words of leftOut(found).filter((words) => !shown.has(words))) {
          shown.add(words);
          runner.warn(words);
        }
        return found.records;
      };
    },
  };
}

/** @throws {UsageError} if there is no folder of this path */
export function expectHooksFolder(path: string, named: string): void {
  if (isFolder(path)) return;
  const why = existsSync(path) ? "that is a file: name the folder that it is in" : "there is no such folder: name one";
  throw new UsageError(`Cannot take hooks from '${named}' as ${why} with --hooks`);
}

/** What a person named must exist and be readable: otherwise a gate that was asked for would be missing. */
async function expectTyped(cwd: string, { settings, hooks }: Flags["flags"]): Promise<void> {
  if (typeof hooks === "string") expectHooksFolder(resolve(cwd, hooks), hooks);
  if (typeof settings !== "string") return;
  const { readSettings } = await import("../../hooks/hook-settings.ts");
  try {
    await readSettings({ path: resolve(cwd, settings), required: true });
  } catch (error) {
    const why = (error as Error).message.replace(/^Cannot read the settings as /, "");
    throw new UsageError(`Cannot use --settings ${settings} as ${why}`);
  }
}

/** @throws {Error} if a trusted guard is not as it was trusted: a run without it would be one that nothing guards */
async function startable(sources: HookSources): Promise<FoundHooks> {
  const found = await sources.load();
  if (found.changedGuards.length > 0) throw new Error(`Cannot start: ${found.changedGuards.join("\n")}`);
  return found;
}

/** What was found and does not run, each reason once. */
function leftOut({ problems, unloaded }: FoundHooks): string[] {
  const reasons = unloaded.map(({ why }) => why).filter((why) => /crochet trust/.test(why));
  const guards = unloaded.filter(({ refuses }) => refuses);
  const idle = guards.map(({ source, event, why }) => `A hook in ${source} refuses nothing at ${event}: ${why}`);
  return [...problems, ...new Set([...reasons, ...idle])];
}

export function reportUnloaded(found: FoundHooks, io: Io): void {
  for (const words of leftOut(found)) io.err(`crochet: ${words}\n`);
}

/** All hooks of a project as `crochet run` would have them: with an agent, those it brings itself come first. */
export async function hooksHere(
  cwd: string,
  flags: Flags["flags"],
  io: Io,
  { agent, imports = true }: { readonly agent?: Agent | undefined } & Pick<SourcesOptions, "imports"> = {},
): Promise<FoundHooks> {
  const own = await agent?.ownHooks();
  const sources = new HookSources({
    cwd,
    env: io.env,
    settings: typeof flags.settings === "string" ? [flags.settings] : [],
    hooks: typeof flags.hooks === "string" ? [flags.hooks] : [],
    // No model is asked while hooks are only listed; whether one could be asked is what the list shows.
    prompt: { model: isReachable(io.env.CROCHET_MODEL ?? "", io.env) ? neverAsked : undefined },
    host: { projectDir: cwd, env: io.env },
    imports,
    ...(own && { scriptFolders: own.folders, listsScript: true }),
  });
  const found = await sources.load();
  if (!own) return found;
  const scope = "script" as const;
  const listed = own.members.flatMap((one) =>
    typeof one === "string"
      ? found.listed.filter(({ scope, source }) => scope === "script" && source === shortPath(one, cwd, io.env))
      : one.map((record) => ({ record, scope, source: record.source }))
  );
  return { ...found, listed: [...listed, ...found.listed.filter(({ scope }) => scope !== "script")] };
}

const neverAsked = () => {
  throw new Error("Cannot ask a model here as hooks are only listed");
};

/** The scripts of a folder that make an agent with `from`, found by reading: these load `./hooks` beside them by themselves. */
export function agentScripts(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.(ts|js|mjs)$/.test(entry.name))
    .map(({ name }) => name)
    .filter((name) => /\bagent\(\{[^]*\bfrom\b/.test(readFileSync(join(folder, name), "utf8")))
    .sort();
}

/** What such a script does, as far as reading shows it. */
export function besideWords(script: string): string {
  return `${script} loads its own hooks without 'crochet trust': ./hooks beside it, unless its 'hooks' option says otherwise`;
}

/** What a hook is, with its mode unless that is the usual one. */
export function kindWords({ kind, mode }: Pick<HookRecord, "kind" | "mode">): string {
  return mode === "gate" ? kind : `${kind} (${mode})`;
}
