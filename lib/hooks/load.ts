import { EVENTS } from "../core/events.ts";
import type { HookRecord, OnError } from "../core/hook.ts";
import { NO_OPINION } from "../core/verdict.ts";
import type { HookFile, Problem } from "./discover.ts";
import { readHeader, recordBase } from "./file/record.ts";
import type { ModuleFolder } from "./module.ts";
import type { HookHost } from "./process/host.ts";
import { programOf } from "./process/program.ts";
import type { PromptModel } from "./prompt.ts";

interface LoadOptions {
  readonly folder: ModuleFolder;
  /** How listings name where the hook is from. */
  readonly source: string;
  readonly host: HookHost;
  /** The model for prompt hooks. They are off if absent. */
  readonly prompt?: PromptModel | undefined;
  /** Called with a warning about what is odd but works. */
  readonly warn?: ((message: string) => void) | undefined;
  /** Whether `config.isolate` counts: the process of an isolated module loads it too. @default false */
  readonly isolates?: boolean;
}

const NOBODY: PromptModel = { model: undefined };

/** Makes a hook of a file. What a kind needs is loaded only when a file of that kind is there. */
export async function loadHook(file: HookFile, options: LoadOptions): Promise<HookRecord> {
  const { folder, source, host, prompt, warn, isolates } = options;
  switch (file.kind) {
    case "module": {
      const { loadModule } = await import("./module.ts");
      return await loadModule(file, folder, source, isolates ? host : undefined);
    }
    case "command":
      return await loadCommand(file, source, host);
    case "rules": {
      const { loadRules } = await import("./rules.ts");
      return await loadRules(file, source);
    }
    case "prompt": {
      const { loadPrompt } = await import("./prompt.ts");
      return await loadPrompt(file, source, prompt ?? NOBODY, warn);
    }
  }
}

async function loadCommand(file: HookFile, source: string, host: HookHost): Promise<HookRecord> {
  const { commandHook } = await import("./command.ts");
  const config = readHeader(file.text);
  const base = recordBase(file, config, source);
  const { command, args } = programOf(file);
  const parts = commandHook({
    name: file.name,
    command,
    args,
    label: file.name,
    registered: file.event,
    warm: config.warm,
    async: base.mode === "async",
    timeout: base.timeout,
  }, host);
  return { ...base, ...parts };
}

/** A hook that cannot be loaded: it stays in its place and fails, so that a broken gate does not open. */
export function brokenHook(file: HookFile, message: string, source: string): HookRecord {
  const onError = whereBroken(file);
  return {
    ...recordBase(file, {}, source),
    kind: file.kind,
    dialect: "native",
    onError,
    run: () => {
      throw new Error(message);
    },
    read: () => NO_OPINION,
  };
}

/** Refuses what the hook was there to judge, and ends no run. */
function whereBroken({ kind, on }: HookFile): OnError {
  return (kind === "module" || kind === "rules") && EVENTS[on.event].ask || on.event === "user-prompt-submit"
    ? "deny"
    : "continue";
}

/** A file that is not a hook: reported at each turn while it is there. */
export function problemHook({ file, message }: Problem, source: string): HookRecord {
  return {
    name: file,
    on: [{ event: "turn-start", scope: "root" }],
    kind: "module",
    dialect: "native",
    priority: 0,
    mode: "observe",
    enabled: true,
    source,
    run: () => {
      throw new Error(message);
    },
    read: () => NO_OPINION,
  };
}
