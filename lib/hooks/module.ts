import type { HookRecord } from "../core/hook.ts";
import { sha256 } from "../files/sha256.ts";
import type { HookFile } from "./discover.ts";
import type { HookConfig } from "./file/config.ts";
import { importModule, type ModuleFolder } from "./file/import.ts";
import { type KindParts, moduleRecord } from "./file/record.ts";
import type { HookHost } from "./process/host.ts";

/** Imports a hook module. */
export async function loadModule(
  file: HookFile,
  folder: ModuleFolder,
  source: string,
  isolatedIn?: HookHost,
): Promise<HookRecord> {
  const loaded = await importModule(folder, file.path, versionOf(file)) as { default?: unknown; config?: unknown };
  const inside = asking ??= watched();
  const record = moduleRecord(file, loaded, source, (hook) => (event, ctx) => inside.run(true, hook, event, ctx));
  const { isolate } = (loaded.config ?? {}) as HookConfig;
  return isolate && isolatedIn ? { ...record, ...await isolated(file, record, isolatedIn) } : record;
}

/** A module in a process of its own, asked as other hosts ask it; it fails as a module does. */
async function isolated(
  file: HookFile,
  { mode, timeout }: Pick<HookRecord, "mode" | "timeout">,
  host: HookHost,
): Promise<KindParts> {
  const { commandHook } = await import("./command.ts");
  const { ownArgv } = await import("./own-command.ts");
  const [command, ...args] = ownArgv("cli/hook", file.path);
  const call = { name: file.name, command, args, label: file.name, registered: file.event, timeout };
  return { ...commandHook({ ...call, async: mode === "async" }, host), kind: "module" };
}

/** Marks calls made by hooks: only they must not end the process. */
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

const CALLED = "Cannot call process.exit";

/** Whether these are the words of a hook that tried to end the process. */
export function triedToExit(failure: string): boolean {
  return failure.startsWith(CALLED);
}

/**
 * Makes ending the process an error wherever `inHook` says so. A hook answers by what it returns: one that ended the
 * process would end the run in silence.
 */
export function refuseExit(inHook: () => boolean): void {
  const { Deno } = globalThis as unknown as { Deno?: Exits };
  for (const place of [process as Exits, ...(Deno ? [Deno] : [])]) {
    const own = place.exit;
    place.exit = (code) => {
      if (inHook()) throw new Error(`${CALLED}(${code ?? ""}) in a hook as that ends the run: return a verdict`);
      return own.call(place, code);
    };
  }
}

interface Exits {
  exit(code?: number | string | null): never;
}
