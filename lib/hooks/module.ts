import type { Hook, HookRecord } from "../core/hook.ts";
import { sha256 } from "../files/sha256.ts";
import { readNative } from "../core/verdict.ts";
import { checkedConfig } from "./file/config.ts";
import { importModule, type ModuleFolder } from "./file/import.ts";
import { HookLoadError } from "./file/load-error.ts";
import { refuseExit } from "./file/no-exit.ts";
import { type KindParts, recordBase } from "./file/record.ts";
import type { HookHost } from "./process/host.ts";
import type { HookFile } from "./discover.ts";

/** Imports a hook module: its default export is the hook, its `config` what the hook says about itself. */
export async function loadModule(
  file: HookFile,
  folder: ModuleFolder,
  source: string,
  isolatedIn?: HookHost,
): Promise<HookRecord> {
  const loaded = await importModule(folder, file.path, versionOf(file)) as { default?: unknown; config?: unknown };
  if (typeof loaded.default !== "function") {
    const why = "its default export is no function: write export default (event, ctx) => …";
    throw new HookLoadError(file.name, undefined, why);
  }
  const config = checkedConfig(loaded.config);
  const base = recordBase(file, config, source);
  if (config.isolate && isolatedIn) return { ...base, ...await isolated(file, base, isolatedIn) };
  const hook = loaded.default as Hook;
  const inside = asking ??= watched();
  return {
    ...base,
    kind: "module",
    dialect: "native",
    run: (event, ctx) => inside.run(true, hook, event, ctx),
    read: (raw, event) => readNative(raw, event.event),
  };
}

/** A module in a process of its own, asked as other hosts ask it; it fails as a module does. */
async function isolated(
  file: HookFile,
  { mode, timeout }: Pick<HookRecord, "mode" | "timeout">,
  host: HookHost,
): Promise<KindParts> {
  const { commandHook } = await import("./command.ts");
  const { ownArgv } = await import("./installing/own-command.ts");
  const [command, ...args] = ownArgv("cli/hook", file.path);
  const call = { name: file.name, command, args, label: file.name, registered: file.event, timeout };
  return { ...commandHook({ ...call, async: mode === "async" }, host), kind: "module" };
}

/** Where a hook of a file is asked: others of the process may end it meanwhile. */
let asking: Asking | undefined;

type Asking = InstanceType<typeof import("node:async_hooks").AsyncLocalStorage<true>>;

function watched(): Asking {
  const { AsyncLocalStorage } = process.getBuiltinModule("node:async_hooks");
  const inside: Asking = new AsyncLocalStorage();
  refuseExit(() => inside.getStore() === true);
  return inside;
}

function versionOf({ text }: HookFile): string {
  return sha256().update(text).digest("hex").slice(0, 16);
}
