import { renameSync, rmSync } from "node:fs";
import { basename } from "node:path";
import { MAIN } from "../replay/tape.ts";
import { LineLog, readLineLog } from "../transcript/line-log.ts";
import type { Entry as Said } from "../transcript/store.ts";
import type { LogEntry } from "./entry.ts";
import { Log, LOG_VERSION } from "./read-log.ts";

/** Opens a log to go on with; a transcript of crochet 0.2 becomes one. */
export function openLog(path: string): Log | undefined {
  const lines = readLineLog<LogEntry | Said>(path);
  if (!lines || lines.values.length === 0) return undefined;
  if (!isTranscript(lines.values)) return new Log(lines.values as LogEntry[], path);
  const entries = logOf(lines.values as Said[], basename(path, ".jsonl"));
  const draft = `${path}.new`;
  rmSync(draft, { force: true });
  const file = new LineLog(draft);
  try {
    file.append(entries);
  } finally {
    file.close();
  }
  renameSync(draft, path);
  return new Log(entries, path);
}

/** Whether these are the lines of a transcript of crochet 0.2. */
function isTranscript([first]: readonly unknown[]): boolean {
  return typeof (first as { type?: unknown } | undefined)?.type === "string";
}

function logOf(said: readonly Said[], id: string): LogEntry[] {
  const about = said.find((one) => one.type === "about")?.about;
  const entries: LogEntry[] = [{
    log: LOG_VERSION,
    id,
    cwd: about?.cwd ?? process.cwd(),
    at: about?.created ?? new Date(0).toISOString(),
    seed: id,
    versions: { crochet: "0.2" },
  }];
  return [...entries, ...said.map((one) => entryOf(one, id))];
}

/** A fact of a transcript as a line of the log of its session. */
export function entryOf(one: Said, id: string): LogEntry {
  const at = 0;
  if (one.type === "about") return { agent: MAIN, id, about: one.about };
  if (one.type === "message") {
    const { role, content } = one.message;
    return { message: one.index, lane: MAIN, role, content: content as never, at };
  }
  if (one.type !== "end") return { note: { agent_id: id, ...one } as never, at };
  const { type: _, ...ending } = one;
  return { ended: MAIN, ending, at };
}
