import { isGone } from "../process/owner.ts";
import { type AgentEvent, agentIds, type AgentState, readEvents, stateOf } from "./monitor-log.ts";
import { logOf } from "./note.ts";

/** The state of one watched agent. */
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
  const { name, workspace } = startOf(events) ?? {};
  const lost = isLost(events, state);
  return {
    id,
    ...(name !== undefined && { name }),
    ...(workspace !== undefined && { workspace }),
    ...(lost ? { state: "failed", since: events.at(-1)!.at } : state),
  };
}

export function hasEnded({ state }: AgentState): boolean {
  return state === "stopped" || state === "failed";
}

/** Whether the process of an agent ended without logging an end. */
function isLost(events: readonly AgentEvent[], state: AgentState): boolean {
  const owner = startOf(events)?.owner;
  if (owner === undefined || hasEnded(state) || events.at(-1)?.type === "left") return false;
  return isGone(owner, Date.now() - Date.parse(state.since));
}

function startOf(events: readonly AgentEvent[]) {
  return events.findLast((event) => event.type === "start");
}

function rank({ state }: AgentState): number {
  return ["prompting", "waiting", "working", "failed", "stopped"].indexOf(state);
}
