import { statSync } from "node:fs";
import { join, resolve } from "node:path";
import type { HookRunner } from "../agent.ts";
import type { HookRecord } from "../core/hook.ts";
import type { HookHost } from "../hooks/process/host.ts";
import { type Found, HookSources } from "../hooks/sources.ts";
import type { ExecRecord } from "../hooks/toml.ts";
import type { Config } from "./_config.ts";
import type { Flags } from "./_flags.ts";
import { type Io, UsageError } from "./_io.ts";
import { stateDir } from "../files/state-dir.ts";
import { privateDir } from "./_project.ts";

/** The hooks a working directory brings along, for one session: found before it begins, bound to it when it does. */
interface FoundHooks {
  readonly first: Found;
  readonly hooks: (runner: HookRunner) => () => Promise<readonly HookRecord[]>;
}

/** Looks for hooks as `crochet run` does: in the working directory where trusted, and where flags say. */
export async function findHooks(
  cwd: string,
  flags: Flags["flags"],
  config: Config,
  io: Io,
  scriptFolders: readonly string[] | undefined,
): Promise<FoundHooks> {
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
    outputDir: (id) => join(privateDir(join(stateDir(cwd, io.env), "outputs")), id),
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
      modelName: config.hookModel,
    },
    warn: (message) => bound?.warn(message),
    toml: {
      onExec: (exec: ExecRecord) => bound?.emit({ type: "exec", exec }),
      forbids: (command) => bound?.forbids(command),
      confine: (command) => bound?.confine(command) ?? command,
    },
    ...(flags.settings !== undefined && { settings: [String(flags.settings)] }),
    ...(flags.hooks !== undefined && { hooks: [String(flags.hooks)] }),
    ...(flags.trust === true && { trust: true }),
  });
  return {
    first: await sources.refresh(),
    hooks: (runner) => {
      bound = runner;
      return async () => (await sources.refresh()).records;
    },
  };
}

/** What a person named must be there and be readable: a gate that is asked for and missing would stand open. */
async function expectTyped(cwd: string, { settings, hooks }: Flags["flags"]): Promise<void> {
  if (typeof hooks === "string" && !statSync(resolve(cwd, hooks), { throwIfNoEntry: false })?.isDirectory()) {
    throw new UsageError(`Cannot take hooks from '${hooks}' as there is no such folder`);
  }
  if (typeof settings !== "string") return;
  const inline = settings.trimStart().startsWith("{");
  const path = inline ? "--settings" : resolve(cwd, settings);
  const { readSettings } = await import("../hooks/setting/settings-file.ts");
  try {
    await readSettings({ path, required: true, ...(inline && { text: settings }) });
  } catch (error) {
    const why = (error as Error).message.replace(/^Cannot read the settings as /, "");
    throw new UsageError(`Cannot use --settings ${inline ? "" : `${settings} `}as ${why}`);
  }
}

/** Says what was found and does not run, once, with the mend. */
export function tellUnloaded({ problems, unloaded }: Found, io: Io): void {
  for (const problem of problems) io.err(`crochet: ${problem}\n`);
  for (const why of new Set(unloaded.filter((u) => /crochet trust/.test(u.why)).map((u) => u.why))) {
    io.err(`crochet: ${why}\n`);
  }
}
