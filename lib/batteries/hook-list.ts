import { existsSync } from "node:fs";
import type { HookRunner } from "../agent.ts";
import type { HookRecord } from "../core/hook.ts";

/** The folders of an agent's hooks: those it names, or the one beside its script if that holds hooks. */
export async function hookFolders(
  { hookFolders, hooksBeside }: { readonly hookFolders: readonly string[]; readonly hooksBeside: string | undefined },
): Promise<readonly string[]> {
  if (hooksBeside === undefined || !existsSync(hooksBeside)) return hookFolders;
  const { holdsHooks } = await import("../hooks/discover.ts");
  return holdsHooks(hooksBeside) ? [hooksBeside] : [];
}

/** The hooks of an agent, asked for at each turn and model call. */
export type HookList = () => readonly HookRecord[] | Promise<readonly HookRecord[]>;

export interface HookListParts {
  readonly inCode: readonly HookRecord[];
  readonly folders: readonly string[];
  /** Found elsewhere, after the agent's own. */
  readonly found: ((runner: HookRunner) => () => Promise<readonly HookRecord[]>) | undefined;
  readonly runner: HookRunner;
  /** Is passed the agent's own hooks that are files. */
  readonly onFiles?: ((files: readonly HookRecord[]) => void) | undefined;
}

/** Joins hooks in code, folders and what was found elsewhere, in that order; the same list while nothing changes. */
export function hookList({ inCode, folders, found, runner, onFiles }: HookListParts): HookList {
  if (folders.length === 0 && !found) return () => inCode;
  const elsewhere = found?.(runner);
  let own: HookList | undefined;
  let last: {
    readonly mine: readonly HookRecord[];
    readonly more: readonly HookRecord[];
    readonly all: readonly HookRecord[];
  } | undefined;
  return async () => {
    own ??= folders.length === 0 ? () => inCode : (await import("../hooks/hot.ts")).hotFolders(folders, inCode, runner);
    const mine = await own();
    onFiles?.(mine.slice(inCode.length));
    if (!elsewhere) return mine;
    const more = await elsewhere();
    // The order of hooks is worked out once per list, so an unchanged list must stay the same one.
    if (last?.mine !== mine || last.more !== more) last = { mine, more, all: [...mine, ...more] };
    return last.all;
  };
}
