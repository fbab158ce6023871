import { type EventName, type EventRow, EVENTS, type Outcome, type Scope } from "./events.ts";

/** The event a name stands for, with what the name narrows. */
export interface ResolvedName {
  readonly event: EventName;
  readonly scope: Scope;
  readonly outcome?: Outcome;
}

const NAMES: ReadonlyMap<string, ResolvedName> = new Map(
  (Object.entries(EVENTS) as [EventName, EventRow][]).flatMap(([event, row]) => [
    [event, { event, scope: row.scope }] as const,
    ...Object.entries(row.aliases).map(([alias, narrow]) => [alias, { event, scope: row.scope, ...narrow }] as const),
  ]),
);

/** Every name a hook can be given, aliases included, in kebab-case. */
export const EVENT_NAMES: readonly string[] = [...NAMES.keys()];

/** Finds the event a name means, in kebab-case, snake_case or PascalCase. */
export function resolveEvent(name: string): ResolvedName | undefined {
  return NAMES.get(kebab(name));
}

/** The event of a name, if its form on the wire is ours alone. */
export function ownEvent(name: string): EventName | undefined {
  const event = resolveEvent(name)?.event;
  return event !== undefined && EVENTS[event].own ? event : undefined;
}

/** The name that says most: `subagent-stop` for `stop` of subagents alone. */
export function narrowestName({ event, scope, outcome }: ResolvedName): string {
  const narrow = Object.entries((EVENTS[event] as EventRow).aliases).find(([, alias]) =>
    (alias.scope !== undefined && alias.scope === scope) || (alias.outcome !== undefined && alias.outcome === outcome)
  );
  return narrow?.[0] ?? event;
}

/** `pre-tool-use` for `PreToolUse` and `pre_tool_use`. */
export function kebab(name: string): string {
  return name.replace(/([a-z0-9])([A-Z])/g, "$1-$2").replaceAll("_", "-").toLowerCase();
}

/** `PreToolUse` for `pre-tool-use`: the name on the wire. */
export function pascal(name: string): string {
  return name.replace(/(^|-)([a-z])/g, (_, __, letter: string) => letter.toUpperCase());
}
