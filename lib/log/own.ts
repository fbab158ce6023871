import { dirname } from "node:path";
import { hasState, removeState, stateFile, stateFiles, writeStateFile } from "../files/state.ts";
import { type Environment, realOr } from "../hooks/file/user-places.ts";

/** How long logs are kept, and how many of them. */
const [MOST_DAYS, MOST_LOGS] = [30, 500];

function noteOf(path: string, env: Environment): string {
  return stateFile("logs", realOr(path), env);
}

/** Notes that a log was written here: any other may come from anywhere, and what it names is not run. */
export function noteOwnLog(path: string, env: Environment): void {
  const note = noteOf(path, env);
  if (!hasState(note)) writeStateFile(note, `${JSON.stringify({ path: realOr(path) })}\n`);
}

export function isOwnLog(path: string, env: Environment): boolean {
  return hasState(noteOf(path, env));
}

/** Where the questions of a log wait for their answers. */
export function answersOf(log: string): string {
  return log.replace(/\.jsonl$/, ANSWERS);
}

export const ANSWERS = ".answers";

/** Removes a log with all that belongs to it. */
export function removeLog(path: string, env: Environment): void {
  for (const part of [noteOf(path, env), answersOf(path), path]) removeState(part);
}

/** Removes the oldest logs beside one that is written now. */
export function sweepLogs(path: string, env: Environment): void {
  const oldest = Date.now() - MOST_DAYS * 24 * 3600_000;
  const newest = stateFiles(dirname(path), ".jsonl").sort((a, b) => b.at - a.at);
  for (const [i, { path: log, at }] of newest.entries()) {
    if ((i >= MOST_LOGS || at < oldest) && log !== path && !hasState(`${log}.claim`)) removeLog(log, env);
  }
}
