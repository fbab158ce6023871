import { quietly } from "../core/json.ts";
import type { HookRunner } from "./options.ts";
import type { CheckedOptions } from "./session-place.ts";
import { EVENTS } from "../core/events.ts";
import type { HookList, HookRecord } from "../core/hook.ts";
import type { Tool } from "../core/tool.ts";
import { joinedHooks } from "../hooks/code-hooks.ts";
import { builtProgram } from "../runtime/importing.ts";

/** Where our own code lies: in a bundle, where the script's does. */
const OWN = decodeURIComponent(new URL(".", import.meta.url).pathname);

type OfAgent = Pick<CheckedOptions, "name" | "hooks" | "script">;

/** An agent's hooks: those it names, in their order, or the folder beside its script if that holds hooks. */
export async function hookMembers({ name, hooks, script }: OfAgent): Promise<OfAgent["hooks"]> {
  if (script === undefined) return hooks;
  const { lstatSync, realpathSync } = process.getBuiltinModule("node:fs");
  const lost = (why: string): never => {
    throw new TypeError(
      `Cannot start agent '${name}' as ${why}, away from the hooks beside its script: use 'crochet build', or name the folder in 'hooks' by its whole path, or say 'hooks: []' if there are none`,
    );
  };
  const folder = script.slice(0, script.lastIndexOf("/") + 1);
  const beside = `${folder}hooks`;
  const built = builtProgram();
  if (built) {
    const inside = built.folders[beside] ?? lost("it is not the agent that this program was built of");
    return Object.keys(inside.files).length > 0 ? [beside] : [];
  }
  if (folder === OWN) lost("it is part of a bundle");
  // A compiled program pretends that its parts are files.
  if (quietly(() => realpathSync(script)) === undefined) lost(`there is no '${script}'`);
  if (lstatSync(beside, { throwIfNoEntry: false }) === undefined) return [];
  const { holdsHooks } = await import("../hooks/discover.ts");
  return holdsHooks(beside) ? [beside] : [];
}

export interface HookListParts {
  /** The agent's own: paths of folders, and what is in code. */
  readonly members: OfAgent["hooks"];
  /** Found elsewhere, after the agent's own. */
  readonly found: ((runner: HookRunner) => () => Promise<readonly HookRecord[]>) | undefined;
  readonly runner: HookRunner;
  /** Is passed the agent's own hooks that are files. */
  readonly onFiles?: ((files: readonly HookRecord[]) => void) | undefined;
}

/** Joins the agent's own hooks, in their order, and what was found elsewhere. Files stay as they are until asked for `again`. */
export function hookList({ members, found, runner, onFiles }: HookListParts): Hooks {
  const own = loadedMembers(members, runner);
  const elsewhere = found?.(runner);
  const more = { records: [] as readonly HookRecord[] };
  const list = joinedHooks(elsewhere ? [...own.lists, more] : own.lists);
  if (!own.hasFolders && !elsewhere) return () => list;
  let loading: Promise<HookList> | undefined;
  const load = async () => {
    const files = await own.load();
    if (own.hasFolders) onFiles?.(files);
    if (elsewhere) more.records = await elsewhere();
    return list;
  };
  return (again = false) => again || !loading ? loading = load() : loading;
}

/** Hooks of an agent as lists, one for each member; `load` fills in those of folders as they are now, and gives them. */
export function loadedMembers(members: OfAgent["hooks"], runner?: HookRunner) {
  const files: { records: readonly HookRecord[] }[] = [];
  const folders = members.filter((one) => typeof one === "string");
  const lists = members.map((one) => typeof one === "string" ? files[files.push({ records: [] }) - 1]! : one);
  let read: ReturnType<typeof import("../hooks/folder.ts").hookFolders> | undefined;
  const load = async () => {
    if (folders.length === 0) return [];
    read ??= (await import("../hooks/folder.ts")).hookFolders(folders, runner);
    for (const [i, records] of (await read()).entries()) files[i]!.records = records;
    return files.flatMap(({ records }) => records);
  };
  return { lists, hasFolders: folders.length > 0, load };
}

type Hooks = (again?: boolean) => HookList | Promise<HookList>;

/** The hooks of an agent; a name in one that no tool or field has is reported when the hook is first there. */
export function withNameWarnings(hooks: Hooks, tools: () => readonly Tool[], warn: (message: string) => void): Hooks {
  const looked = new WeakSet<HookRecord>();
  const look = async (list: HookList, fresh: readonly HookRecord[]): Promise<HookList> => {
    const { nameWarnings } = await import("../hooks/known-names.ts");
    const fields = tools().map(({ name, input_schema }) => [name, Object.keys(input_schema.properties ?? {})]);
    for (const record of fresh) {
      looked.add(record);
      for (const warning of nameWarnings(record, Object.fromEntries(fields))) warn(warning);
    }
    return list;
  };
  const seen = (list: HookList) => {
    const fresh = list.records.filter((one) => {
      const isNamed = one.namedTools ?? one.namedFields ?? one.on.every(({ event }) => !EVENTS[event].fires);
      return isNamed && !looked.has(one);
    });
    return fresh.length > 0 ? look(list, fresh) : list;
  };
  return (again) => {
    const list = hooks(again);
    return list instanceof Promise ? list.then(seen) : seen(list);
  };
}
