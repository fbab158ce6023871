import type { Hook, HookRecord } from "../core/hook.ts";
import { type BuiltFolder, fileUrl } from "../runtime/importing.ts";
import { refusedToHook, refuseExits, withoutExit } from "../runtime/judging.ts";
import { offerOwnCopy } from "../runtime/own-copy.ts";
import { hashOf } from "../runtime/sha256.ts";
import type { HookFile } from "./discover.ts";
import { type HookConfig, type KindParts, moduleRecord } from "./file/hook-record.ts";
import type { HookHost } from "./process/hook-host.ts";

export async function loadModule(
  file: HookFile,
  folder: ModuleFolder,
  source: string,
  isolatedIn?: HookHost,
): Promise<HookRecord> {
  const loaded = await importModule(folder, file.path, hashOf(file.text, 16)) as Parameters<typeof moduleRecord>[1];
  const run = (hook: Hook): HookRecord["run"] => (event, ctx) =>
    withoutExit(refusedToHook, () => hook(event, ctx), file.name);
  const record = moduleRecord(file, loaded, source, run);
  const { isolate } = (loaded.config ?? {}) as HookConfig;
  return isolate && isolatedIn ? { ...record, ...await isolated(file, record, isolatedIn) } : record;
}

/** A module in a process of its own, asked as other hosts ask it; it fails as a module does. */
async function isolated(
  file: HookFile,
  { mode, timeout }: Pick<HookRecord, "mode" | "timeout">,
  host: HookHost,
): Promise<KindParts> {
  const { commandHook } = await import("./command-hook.ts");
  const { ownArgv } = await import("./own-command.ts");
  const [command, ...args] = ownArgv("cli/hook", file.path);
  const call = { name: file.name, command, args, label: file.name, registered: file.event, timeout };
  return { ...commandHook({ ...call, async: mode === "async" }, host), kind: "module" };
}

export interface ModuleFolder {
  /** Real path. */
  readonly root: string;
  /** Tells two states of what the modules share (`_` files) apart. */
  readonly shared: string;
  readonly sharedFiles: readonly string[];
  /** The modules that are inside this program, by name. */
  readonly modules?: BuiltFolder["modules"] | undefined;
}

/** Imports a module as it is on disk: runtimes keep the first state of one for good, so `version` tells two apart. */
export async function importModule(folder: ModuleFolder, path: string, version: string): Promise<unknown> {
  const guard = refuseExits(({ words }) => `it ends the process, ${words}: export a function that returns a verdict`);
  try {
    const inside = folder.modules?.[path.slice(folder.root.length + 1)];
    if (!inside) offerOwnCopy(path);
    const loaded = await (inside ? inside() : (isBun ? fromBun : fromDeno)(folder, path, version));
    guard.expectNone();
    return loaded;
  } catch (error) {
    throw new Error(await importMessage(error));
  } finally {
    guard.end();
  }
}

const isBun = "Bun" in globalThis;

/** Which state the process has of each folder's shared files and of each module. One list for all: so is the runtime's. */
const present = new Map<string, string>();

async function fromBun(folder: ModuleFolder, path: string, version: string): Promise<unknown> {
  const shared = present.get(folder.root);
  if (shared !== undefined && shared !== folder.shared) await forget(folder.sharedFiles);
  present.set(folder.root, folder.shared);
  const key = `${folder.shared}.${version}`;
  const before = present.get(path);
  if (before !== undefined && before !== key) await forget([path]);
  present.set(path, key);
  return await import(path);
}

/** Bun reads a module again once it is out of this cache. One that failed is in it too, though not among its keys. */
async function forget(paths: readonly string[]): Promise<void> {
  const { createRequire } = await import("node:module");
  const { cache } = createRequire(import.meta.url);
  for (const path of paths) delete cache[path];
}

/** The address under which each state of a module was imported. */
const addresses = new Map<string, string>();

async function fromDeno(folder: ModuleFolder, path: string, version: string): Promise<unknown> {
  const first = present.get(folder.root) ?? folder.shared;
  present.set(folder.root, first);
  const plain = fileUrl(path);
  const state = `${path} ${folder.shared}.${version}`;
  let address = addresses.get(state);
  if (address === undefined) {
    const isFirst = folder.shared === first && !present.has(path);
    address = isFirst ? plain : `${plain}?crochet=${folder.shared === first ? "" : folder.shared}.${version}`;
    addresses.set(state, address);
    present.set(path, version);
    if (!isFirst) await passOnVersions(folder.root);
  }
  return await import(address);
}

const passing = new Set<string>();

/** Deno identifies modules by their whole address: the state of the shared files is passed on to what a module imports. */
async function passOnVersions(root: string): Promise<void> {
  if (passing.has(root)) return;
  passing.add(root);
  const { registerHooks } = await import("node:module") as unknown as {
    registerHooks(hooks: { resolve: Resolve }): void;
  };
  const inside = `${fileUrl(root)}/`;
  registerHooks({
    resolve(specifier, context, next) {
      const found = next(specifier, context);
      const shared = /[?]crochet=(\w+)\./.exec(context.parentURL ?? "")?.[1];
      if (shared === undefined || !found.url.startsWith(inside) || found.url.includes("?")) return found;
      return { ...found, url: `${found.url}?crochet=${shared}.` };
    },
  });
}

type Resolve = (
  specifier: string,
  context: { readonly parentURL?: string },
  next: (specifier: string, context: unknown) => { readonly url: string },
) => { readonly url: string };

/** What went wrong, in one line, without the names we gave to tell versions apart. */
async function importMessage(error: unknown): Promise<string> {
  const { importProblem } = await import("../runtime/importing.ts");
  const errors: unknown[] = error instanceof AggregateError ? error.errors : [error];
  return errors.map((e) => {
    const { words, place } = importProblem(e);
    return place === undefined ? words : `${words} at ${place}`;
  }).join("; ").replaceAll(/[?]crochet=[\w.]*/g, "");
}
