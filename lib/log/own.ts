import { existsSync, readdirSync, rmSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { writeWhole } from "../files/drafts.ts";
import { type Environment, realOr, stateFile } from "../hooks/file/user-places.ts";

/** How long logs are kept, and how many of them. */
const [MOST_DAYS, MOST_LOGS] = [30, 500];

function noteOf(path: string, env: Environment): string {
  return stateFile("logs", realOr(path), env);
}

/** Notes that a log was written here: any other may come from anywhere, and what it names is not run. */
export function noteOwnLog(path: string, env: Environment): void {
  const note = noteOf(path, env);
  if (!existsSync(note)) writeWhole(note, `${JSON.stringify({ path: realOr(path) })}\n`, { mode: 0o600 });
}

export function isOwnLog(path: string, env: Environment): boolean {
  return existsSync(noteOf(path, env));
}

/** Where the questions of a log wait for their answers. */
export function answersOf(log: string): string {
  return log.replace(/\.jsonl$/, ANSWERS);
}

export const ANSWERS = ".answers";

/** Removes a log with all that belongs to it. */
export function removeLog(path: string, env: Environment): void {
  rmSync(noteOf(path, env), { force: true });
  rmSync(answersOf(path), { recursive: true, force: true });
  rmSync(path, { force: true });
}

/** Removes the oldest logs beside one that is written now. */
export function sweepLogs(path: string, env: Environment): void {
  const folder = dirname(path);
  const logs = readdirSync(folder).filter((name) => name.endsWith(".jsonl")).map((name) => join(folder, name));
  const oldest = Date.now() - MOST_DAYS * 24 * 3600_000;
  const dated = logs.map((log) => ({ log, at: statSync(log, { throwIfNoEntry: false })?.mtimeMs ?? 0 }));
  const newest = dated.sort((a, b) => b.at - a.at);
  for (const [i, { log, at }] of newest.entries()) {
    if ((i >= MOST_LOGS || at < oldest) && log !== path && !existsSync(`${log}.claim`)) removeLog(log, env);
  }
}
