import { basename, dirname } from "node:path";
import { hasState, removeState, StateFile, stateFiles } from "../files/state.ts";
import { userSecret } from "../files/user-key.ts";
import { readLineLog, Seal } from "../transcript/line-log.ts";
import type { LogEntry } from "./entry.ts";

/** How long logs are kept, and how many of them. */
const [MOST_DAYS, MOST_LOGS] = [30, 500];

/** The user's key; undefined if there is none. */
export function userKey(): Uint8Array | undefined {
  const key = userSecret(process.env);
  return typeof key === "string" ? undefined : key;
}

/** What a new log is sealed with, or in words why it is not. */
export function newSeal(): Seal | string {
  const key = userSecret(process.env);
  return typeof key === "string" ? key : new Seal(key);
}

/**
 * Reads a log of which something reaches a model, decides or runs; undefined if there is none. One that others wrote, or
 * changed, has no seal to go on with: it stays theirs, whatever is appended.
 *
 * @throws {TypeError} if it was not written here, by this user, and is not trusted
 */
export function readOwn(
  path: string,
  verb: string,
  trust = false,
): { readonly entries: readonly LogEntry[]; readonly seal: Seal | undefined } | undefined {
  const lines = readLineLog<LogEntry>(path, userKey());
  if (!lines || (lines.values.length === 0 && lines.torn === 0)) return undefined;
  if (!lines.seal && !trust) {
    const how = `look at it with 'crochet view ${path}', then add --trust (in code: trust: true)`;
    throw new TypeError(`Cannot ${verb} ${basename(path, ".jsonl")} as its log was not written here: ${how}`);
  }
  return { entries: lines.values, seal: lines.seal };
}

/** Where the questions of a log wait for their answers. */
export function answersOf(log: string): string {
  return log.replace(/\.jsonl$/, ANSWERS);
}

export const ANSWERS = ".answers";

/** Removes a log with all that belongs to it. */
export function removeLog(path: string): void {
  for (const part of [answersOf(path), path]) removeState(part);
}

/** The logs that this process wrote without a key. */
const unsealed = new Set<string>();

let sessions = 0;

/** Removes the oldest of the user's own logs beside one that is written now: for each hundredth, as it looks at every log. */
export function sweepLogs(path: string, seal: Seal | undefined): void {
  if (!seal) unsealed.add(path);
  if (sessions++ % 100 !== 0) return;
  const key = userKey();
  const oldest = Date.now() - MOST_DAYS * 24 * 3600_000;
  const newest = stateFiles(dirname(path), ".jsonl").sort((a, b) => b.at - a.at);
  for (const [i, { path: log, at }] of newest.entries()) {
    const isOld = (i >= MOST_LOGS || at < oldest) && log !== path && !hasState(`${log}.claim`);
    if (isOld && (key ? isSealed(log, key) : unsealed.has(log))) removeLog(log);
  }
}

/** Whether the first seal of a log holds; of one that cannot be read, none does. */
function isSealed(path: string, key: Uint8Array): boolean {
  let file: StateFile | undefined;
  try {
    file = new StateFile(path, "read");
    const bytes = Buffer.alloc(Math.min(2 ** 16, file.size));
    return Seal.of(bytes.subarray(0, file.read(bytes, 0)), key, 1) !== undefined;
  } catch {
    return false;
  } finally {
    file?.close();
  }
}
