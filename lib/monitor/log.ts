import { appendFileSync, mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { logOf } from "./note.ts";
import { type AgentEvent, stateOf } from "./state.ts";

export { agentsDir, isAgentId } from "./note.ts";

/** Adds an event: one line, written in one go, so that writers need no lock and readers never see half of one. */
export function appendEvent(dir: string, id: string, event: AgentEvent): void {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  appendFileSync(logOf(dir, id).lines, `${JSON.stringify(event)}\n`, { mode: 0o600 });
}

/** Begins the log of an agent anew: one that is started again has a life before that has ended. */
export function beginLog(dir: string, id: string, event: AgentEvent): void {
  const { lines, notes } = logOf(dir, id);
  rmSync(lines, { force: true });
  rmSync(notes, { recursive: true, force: true });
  appendEvent(dir, id, event);
}

/** The events of an agent so far, in the order they happened; what cannot be read of one is passed over. */
export function readEvents(dir: string, id: string): AgentEvent[] {
  const { lines, notes } = logOf(dir, id);
  const told = (textOf(lines) ?? "").split("\n").flatMap(parsed);
  const noted = namesIn(notes).sort().flatMap((name) => parsed(textOf(`${notes}/${name}`) ?? ""));
  // By time, and in a tie as written: sorting keeps the order of what is equal.
  return noted.length === 0 ? told : [...told, ...noted].sort((a, b) => a.at < b.at ? -1 : a.at > b.at ? 1 : 0);
}

/** Whether a permission would be what the agent waits for: it never takes the place of a question or a plan. */
export function takesPermission(dir: string, id: string): boolean {
  const now = stateOf(readEvents(dir, id));
  const asks = now?.state === "prompting" && now.prompt_type !== "permission";
  return !asks && now?.state !== "stopped" && now?.state !== "failed";
}

/** The ids of all agents that were ever watched here. */
export function agentIds(dir: string): string[] {
  const ids = namesIn(dir).flatMap((name) => /^(.+)\.(?:jsonl|notes)$/.exec(name)?.[1] ?? []);
  return [...new Set(ids)].sort();
}

function parsed(line: string): AgentEvent[] {
  try {
    return line === "" ? [] : [JSON.parse(line) as AgentEvent];
  } catch {
    return [];
  }
}

function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}

function namesIn(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}
