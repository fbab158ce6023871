import { basename, dirname } from "node:path";
import { hasState, removeState, replaceState, StateFile, stateFiles } from "../files/state.ts";
import { userSecret } from "../files/user-key.ts";
import { readLineLog, Seal } from "./line-log.ts";
import type { LogEntry } from "./entry.ts";
import { MAIN } from "./tape.ts";

/** How long logs are kept, how many of them, and how many more of runs that did not end with `done`. */
const [MOST_DAYS, MOST_LOGS, MOST_FAILED] = [30, 500, 100];

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

/** Removes the questions of a log with their answers, at once for all who look: an answer is never gone before its question. */
export function removeAnswers(log: string): void {
  const answers = answersOf(log);
  const over = `${answers}.over`;
  removeState(over); // left by a process that was killed here
  if (!hasState(answers)) return;
  replaceState(answers, over);
  removeState(over);
}

/** Removes a log with all that belongs to it. */
export function removeLog(path: string): void {
  removeAnswers(path);
  removeState(path);
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
  let [kept, failed] = [0, 0];
  for (const { path: log, at } of newest) {
    const isYoung = at >= oldest;
    if (isYoung && newest.length <= MOST_LOGS) continue;
    // Of a log that cannot be read, no seal holds.
    if (log === path || !(key ? Seal.of(partOf(log, 0), key, 1) : unsealed.has(log))) continue;
    if (isYoung && (++kept < MOST_LOGS || (!isDone(log) && ++failed <= MOST_FAILED))) continue;
    if (!hasState(`${log}.claim`)) removeLog(log);
  }
}

/** Whether the last run of a log ended well: then it is looked for least. */
function isDone(path: string): boolean {
  const text = partOf(path, -PART).toString();
  return text.lastIndexOf(`\n{"ended":"${MAIN}","ending":{"stop":"done"`) > text.lastIndexOf('\n{"begin":');
}

const PART = 2 ** 16;

/** The first or, from -PART, the last bytes of a log; nothing if it cannot be read. */
function partOf(path: string, from: number): Buffer {
  let file: StateFile | undefined;
  try {
    file = new StateFile(path, "read");
    const bytes = Buffer.alloc(Math.min(PART, file.size));
    return bytes.subarray(0, file.read(bytes, from < 0 ? file.size - bytes.length : from));
  } catch {
    return Buffer.alloc(0);
  } finally {
    file?.close();
  }
}
