import { EVENTS } from "../core/events.ts";
import type { HookRecord } from "../core/hook.ts";

/** The events of a hook, each under the name that says most: an alias where it is for some agents or outcomes only. */
export function eventNames({ on }: HookRecord): string[] {
  return on.map((one) => {
    const { scope, aliases } = EVENTS[one.event] as {
      scope: string;
      aliases: Record<string, { scope?: string; outcome?: string }>;
    };
    const narrow = Object.entries(aliases).find(([, alias]) =>
      (alias.scope !== undefined && alias.scope === one.scope && alias.scope !== scope) ||
      (alias.outcome !== undefined && alias.outcome === one.outcome)
    );
    return narrow?.[0] ?? one.event;
  });
}

/** What a hook is, with its mode where that is not the usual one. */
export function kindWords({ kind, mode }: Pick<HookRecord, "kind" | "mode">): string {
  return mode === "gate" ? kind : `${kind} (${mode})`;
}
