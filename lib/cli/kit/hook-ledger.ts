import type { EventName } from "../../core/events.ts";
import type { Folded } from "../../core/fold.ts";
import type { HookRun } from "../../core/hook.ts";
import { type LoggedRun, readLoggedRun } from "../../log/logged-run.ts";
import { runId } from "./project.ts";

/** One event of a run with everything that was decided at it. */
export interface Fire {
  readonly at: string;
  readonly agent_id: string;
  readonly event: EventName;
  readonly folded: Folded;
}

/** The events of a run at which hooks were considered, in order. */
export function firesOf({ events }: LoggedRun): Fire[] {
  return events.flatMap((one) =>
    one.type === "fired" ? [{ at: one.at, agent_id: one.agent_id, event: one.event, folded: one.folded }] : []
  );
}

/** The same for a file. If it cannot be read, as one of another release, `report` is called with the reason. */
export function firesIn(path: string, report: (why: string) => void = () => {}): Fire[] {
  try {
    return firesOf(readLoggedRun(path));
  } catch (error) {
    report(`${runId(path)} is left out: ${(error as Error).message}`);
    return [];
  }
}

/** What one hook did at one event, in a few words. */
export function sayRun({ skipped, failure, opinion }: HookRun): string {
  if (skipped !== undefined) return `skipped: ${skipped}`;
  if (failure !== undefined) return `failed: ${failure}`;
  const parts = [
    opinion?.decision === "deny"
      ? `deny: ${opinion.reason ?? "no reason"}`
      : opinion?.decision && (opinion.reason ? `${opinion.decision}: ${opinion.reason}` : opinion.decision),
    opinion?.value && "modify",
    opinion?.halt !== undefined && "halt",
    opinion?.abort !== undefined && "abort",
    opinion?.contexts?.length && "context",
  ].filter((part) => typeof part === "string");
  return parts.length > 0 ? parts.join(", ") : "continue";
}
