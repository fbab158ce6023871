import { join } from "node:path";
import type { EventName } from "../../core/events.ts";
import type { Folded } from "../../core/fold.ts";
import type { HookRun } from "../../core/hook.ts";
import type { Environment } from "../../hooks/file/user-places.ts";
import { type LoggedRun, readLoggedRun } from "../../log/logged-run.ts";
import type { LogEntry } from "../../log/entry.ts";
import { LOG_VERSION } from "../../log/read-log.ts";
import { redactor } from "../../log/redact/redact.ts";
import { MAIN } from "../../log/tape.ts";
import { stateFolder, statePath, writeStateFile } from "../../files/state.ts";
import { logsOf, newestFirst, runId } from "./project.ts";

/** One event of a run with everything that was decided at it. */
export interface Fire {
  readonly at: string;
  readonly agent_id: string;
  readonly event: EventName;
  readonly folded: Folded;
}

/** The logs of a project and what `hooks test` fired last, newest first. */
export function ledgers(cwd: string, env: Environment): string[] {
  return newestFirst([...logsOf(cwd, env), statePath(cwd, env, "tests", TEST)]);
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

const TEST = "test.jsonl";

/** Stores what a test fired as a log, for `hooks explain`. */
export function keepTest(cwd: string, env: Environment, event: EventName, folded: Folded): void {
  const log: LogEntry[] = [
    { log: LOG_VERSION, id: "test", cwd, at: new Date().toISOString(), seed: "", versions: {} },
    { hook: "1", lane: MAIN, event, folded: redactor().value(folded), left: { next: 0 }, at: 0 },
  ];
  const lines = log.map((entry) => `${JSON.stringify(entry)}\n`);
  writeStateFile(join(stateFolder(cwd, env, "tests"), TEST), lines.join(""));
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
