import type { HookRecord } from "../core/hook.ts";
import type { Model } from "../core/model.ts";
import type { HookHost } from "../hooks/_host.ts";

/** The hooks of an agent, asked for at each turn and model call. */
export type HookList = () => readonly HookRecord[] | Promise<readonly HookRecord[]>;

export interface HookListParts {
  readonly inCode: readonly HookRecord[];
  readonly folders: readonly string[];
  /** Found elsewhere, after the agent's own. */
  readonly found: (() => Promise<readonly HookRecord[]>) | undefined;
  /** What hooks outside this process are told and may use. */
  readonly host: HookHost;
  /** Whom prompt hooks ask; nobody where no model can be reached. */
  readonly prompt: { readonly model: Model | undefined };
  readonly warn: (message: string) => void;
}

/** Joins hooks in code, folders and what was found elsewhere, in that order; the same list while nothing changes. */
export function hookList({ inCode, folders, found, host, prompt, warn }: HookListParts): HookList {
  if (folders.length === 0 && !found) return () => inCode;
  let own: HookList | undefined;
  let last: {
    readonly mine: readonly HookRecord[];
    readonly more: readonly HookRecord[];
    readonly all: readonly HookRecord[];
  } | undefined;
  return async () => {
    own ??= folders.length === 0
      ? () => inCode
      : (await import("../hooks/hot.ts")).hotFolders(folders, inCode, { host, prompt, warn });
    const mine = await own();
    if (!found) return mine;
    const more = await found();
    // The order of hooks is worked out once per list, so an unchanged list must stay the same one.
    if (last?.mine !== mine || last.more !== more) last = { mine, more, all: [...mine, ...more] };
    return last.all;
  };
}
