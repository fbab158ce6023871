import { join } from "node:path";
import type { EventName } from "../core/events.ts";
import type { Folded } from "../core/fold.ts";
import type { HookRun } from "../core/hook.ts";
import type { Environment } from "../hooks/file/user-places.ts";
import { readRollout, type Rollout, rolloutWriter } from "../transcript/rollout.ts";
import { removeState, stateFolder, statePath } from "../files/state.ts";
import { newestFirst, rolloutId, rolloutName, rollouts } from "./_project.ts";

/** One event of a run with everything that was decided at it. */
export interface Fire {
  readonly at: string;
  readonly agent_id: string;
  readonly event: EventName;
  readonly folded: Folded;
}

/** The rollouts of a project and what `hooks test` fired last, newest first. */
export function ledgers(cwd: string, env: Environment): string[] {
  return newestFirst([...rollouts(cwd, env), statePath(cwd, env, "tests", TEST)]);
}

/** The events of a run at which hooks were considered, in order. */
export function firesOf({ lines }: Rollout): Fire[] {
  return lines.flatMap((line) =>
    line.type === "fired" ? [{ at: line.at, agent_id: line.agent_id, event: line.event, folded: line.folded }] : []
  );
}

/** The same for a file. If it cannot be read, as one of another release, `report` is called with the reason. */
export function firesIn(path: string, report: (why: string) => void = () => {}): Fire[] {
  try {
    return firesOf(readRollout(path));
  } catch (error) {
    report(`${rolloutId(path)} is left out: ${(error as Error).message}`);
    return [];
  }
}

const TEST = rolloutName("test");

/** Stores what a test fired, for `hooks explain`. */
export function keepTest(cwd: string, env: Environment, event: EventName, folded: Folded): void {
  const path = join(stateFolder(cwd, env, "tests"), TEST);
  removeState(path);
  const rollout = rolloutWriter(path, "test", Date.now);
  rollout.write({ type: "fired", agent_id: "test", event, folded });
  rollout.close();
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
