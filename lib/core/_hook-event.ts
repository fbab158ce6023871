import { EVENTS } from "./events.ts";
import type { HookChange } from "./hook.ts";
import type { RunEvent } from "./run-events.ts";
import { actionOf } from "./verdict.ts";

type HookEvent =
  | Omit<Extract<RunEvent, { type: "hook_start" }>, "agent_id">
  | Omit<Extract<RunEvent, { type: "hook_end" }>, "agent_id">;

/** The event that reports one hook to listeners. */
export function hookEvent(change: HookChange): HookEvent {
  if (change.phase === "start") return { type: "hook_start", hook: change.hook, event: change.event };
  const { opinion, failure, ms = 0 } = change.run;
  const decision = failure !== undefined ? "failed" : actionOf(opinion);
  return {
    type: "hook_end",
    hook: change.hook,
    event: change.event,
    decision: EVENTS[change.event].deny === "ignored" && decision === "deny" ? "ignored" : decision,
    ...(opinion?.reason !== undefined && { reason: opinion.reason }),
    ...(failure !== undefined && { failure }),
    ms,
  };
}
