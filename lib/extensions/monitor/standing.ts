import { isGone } from "../../process/owner.ts";
import { agentIds, type AgentState, readEvents, stateOf } from "./monitor-log.ts";
import { logOf } from "./note.ts";

export type Standing = { readonly id: string; readonly name?: string; readonly workspace?: string } & AgentState;

/** Every watched agent: those that wait for a person first, then the newest. */
export function allStandings(dir: string): Standing[] {
  return agentIds(dir).flatMap((id) => standingOf(dir, id) ?? []).sort((a, b) =>
    rank(a) - rank(b) || (a.since < b.since ? 1 : a.since > b.since ? -1 : a.id < b.id ? -1 : 1)
  );
}

function standingOf(dir: string, id: string): Standing | undefined {
  const events = readEvents(logOf(dir, id));
  const state = stateOf(events);
  if (!state) return undefined;
  const { name, workspace, owner } = events.findLast((event) => event.type === "start") ?? {};
  const last = events.at(-1)!;
  // Its process may have ended without logging an end.
  const isLost = owner !== undefined && !hasEnded(state) && last.type !== "left" &&
    isGone(owner, Date.now() - Date.parse(state.since));
  return {
    id,
    ...(name !== undefined && { name }),
    ...(workspace !== undefined && { workspace }),
    ...(isLost ? { state: "failed", since: last.at } : state),
  };
}

export function hasEnded({ state }: AgentState): boolean {
  return state === "stopped" || state === "failed";
}

function rank({ state }: AgentState): number {
  return ["prompting", "waiting", "working", "failed", "stopped"].indexOf(state);
}
