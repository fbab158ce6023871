import { EVENTS } from "../../../core/events.ts";
import type { ResolvedName } from "../../../core/names.ts";
import type { Moment } from "../subject.ts";

/** The moments a record listens to, under the narrowest name there is for each. */
export function momentsOf(on: readonly (ResolvedName & { readonly pattern?: string })[]): Moment[] {
  return on.map((name) => ({
    event: aliasOf(name),
    ...(name.pattern !== undefined && { matcher: name.pattern }),
  }));
}

function aliasOf({ event, scope, outcome }: ResolvedName): string {
  const aliases = Object.entries(EVENTS[event].aliases) as [string, { scope?: string; outcome?: string }][];
  const narrow = aliases.find(([, a]) =>
    (a.scope !== undefined && a.scope === scope) || (a.outcome !== undefined && a.outcome === outcome)
  );
  return narrow?.[0] ?? event;
}
