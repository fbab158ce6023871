import type { HookRunner } from "./options.ts";
import { EVENTS } from "../core/events.ts";
import type { HookList, HookRecord } from "../core/hook.ts";
import type { Tool } from "../core/tool.ts";
import { builtProgram } from "../runtime/importing.ts";

/** Where our own code lies: in a bundle, where the script's does. */
const OWN = decodeURIComponent(new URL(".", import.meta.url).pathname);

interface OfAgent {
  readonly name: string;
  readonly hookFolders: readonly string[];
  readonly script: string | undefined;
}

/** The folders of an agent's hooks: those it names, or the one beside its script if that holds hooks. */
export async function hookFolders({ name, hookFolders, script }: OfAgent): Promise<readonly string[]> {
  if (script === undefined) return hookFolders;
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
  try {
    realpathSync(script); // as a compiled program pretends that its parts are files
  } catch {
    lost(`there is no '${script}'`);
  }
  if (lstatSync(beside, { throwIfNoEntry: false }) === undefined) return [];
  const { holdsHooks } = await import("../hooks/discover.ts");
  return holdsHooks(beside) ? [beside] : [];
}

export interface HookListParts {
  readonly inCode: HookList;
  readonly folders: readonly string[];
  /** Found elsewhere, after the agent's own. */
  readonly found: ((runner: HookRunner) => () => Promise<readonly HookRecord[]>) | undefined;
  readonly runner: HookRunner;
  /** Is passed the agent's own hooks that are files. */
  readonly onFiles?: ((files: readonly HookRecord[]) => void) | undefined;
}

/** Joins hooks in code, folders and what was found elsewhere, in that order. Files stay as they are until asked for `again`. */
export function hookList(
  { inCode, folders, found, runner, onFiles }: HookListParts,
): (again?: boolean) => HookList | Promise<HookList> {
  if (folders.length === 0 && !found) return () => inCode;
  const elsewhere = found?.(runner);
  let own: (() => Promise<readonly HookRecord[]>) | undefined;
  let files: readonly HookRecord[] = [];
  let more: readonly HookRecord[] = [];
  let last: readonly (readonly HookRecord[])[] = [];
  let all: readonly HookRecord[] = [];
  const list: HookList = {
    get records() {
      const now = [inCode.records, files, more];
      // The order of hooks is worked out once per array, so an unchanged list must stay the same one.
      if (now.some((records, i) => records !== last[i])) [last, all] = [now, now.flat()];
      return all;
    },
    get problem() {
      return inCode.problem;
    },
  };
  let loading: Promise<HookList> | undefined;
  const load = async () => {
    if (folders.length > 0) {
      own ??= (await import("../hooks/folder.ts")).hookFolders(folders, runner);
      files = await own();
      onFiles?.(files);
    }
    if (elsewhere) more = await elsewhere();
    return list;
  };
  return (again = false) => again || !loading ? loading = load() : loading;
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
