import { appendFileSync, mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { jsonLines } from "../transcript/line-log.ts";
import { type AgentEvent, stateOf } from "./state.ts";

/** The file of an agent's events, and the folder where processes that must be quick write one file per event. */
export interface AgentLog {
  readonly lines: string;
  readonly notes: string;
}

/** Adds an event as one line in one write, so that writers need no lock and readers never see half a line. */
export function appendEvent({ lines }: AgentLog, event: AgentEvent): void {
  mkdirSync(dirname(lines), { recursive: true, mode: 0o700 });
  appendFileSync(lines, `${JSON.stringify(event)}\n`, { mode: 0o600 });
}

/** Starts a new log for an agent. If the agent ran before, its old log is over. */
export function beginLog(log: AgentLog, event: AgentEvent): void {
  rmSync(log.lines, { force: true });
  rmSync(log.notes, { recursive: true, force: true });
  appendEvent(log, event);
}

/** The events of an agent so far, in order; lines that cannot be read are left out. */
export function readEvents({ lines, notes }: AgentLog): AgentEvent[] {
  const texts = [lines, ...namesIn(notes).sort().map((name) => `${notes}/${name}`)].map(textOf);
  // By time; events of the same time stay in the order they were written.
  return jsonLines<AgentEvent>(texts.join("\n")).values.filter((event) => event?.at !== undefined).sort((a, b) =>
    a.at < b.at ? -1 : a.at > b.at ? 1 : 0
  );
}

/** Whether a permission prompt would become what the agent waits for: it never replaces a question or a plan. */
export function takesPermission(log: AgentLog): boolean {
  const now = stateOf(readEvents(log));
  const asks = now?.state === "prompting" && now.prompt_type !== "permission";
  return !asks && now?.state !== "stopped" && now?.state !== "failed";
}

/** The ids of all agents with a log. */
export function agentIds(dir: string): string[] {
  const ids = namesIn(dir).flatMap((name) => /^(.+)\.(?:jsonl|notes)$/.exec(name)?.[1] ?? []);
  return [...new Set(ids)].sort();
}

function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return ""; // not there yet
  }
}

function namesIn(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}
