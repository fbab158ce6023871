import { closeSync, existsSync, mkdirSync, openSync, readdirSync, readSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { claim } from "../files/lock.ts";
import type { LogEntry } from "../log/entry.ts";
import { LineLog, readLineLog } from "./line-log.ts";
import {
  checkId,
  entriesOf,
  type Entry,
  listed,
  type Transcript,
  transcriptOf,
  type TranscriptStore,
} from "./store.ts";

const ENDING = ".jsonl";

export interface JsonlStoreOptions {
  /** Called if the last line of a transcript is incomplete after a crash and was left out. */
  onTorn?: (id: string, bytes: number) => void;
}

/** Keeps each transcript as a file of JSON lines; exported through on-demand.ts. */
export function jsonlStore(dir: string, options: JsonlStoreOptions = {}): TranscriptStore {
  const logs = new Map<string, LineLog>();
  /** Sessions that were logged: what is added to their transcripts becomes lines of their logs. */
  const partsOfLogs = new Set<string>();
  const fileOf = (id: string): string => {
    checkId(id);
    return join(dir, `${id}${ENDING}`);
  };
  const read = async (id: string): Promise<Transcript | undefined> => {
    const lines = readLineLog<Entry | LogEntry>(fileOf(id));
    if (!lines) return undefined;
    if (lines.torn > 0) options.onTorn?.(id, lines.torn);
    const isLog = lines.values[0] !== undefined && "log" in lines.values[0];
    const entries = isLog
      ? new (await import("../log/read-log.ts")).Log(lines.values as LogEntry[], fileOf(id)).transcript() ?? []
      : lines.values as Entry[];
    return transcriptOf(entries, fileOf(id));
  };
  const forget = (id: string): void => {
    logs.get(id)?.close();
    logs.delete(id);
  };
  return {
    async save(id, messages, about) {
      const file = fileOf(id);
      mkdirSync(dir, { recursive: true });
      const fresh = `${file}.new`;
      rmSync(fresh, { force: true });
      const log = new LineLog(fresh);
      try {
        log.append(entriesOf(messages, about));
      } finally {
        log.close();
      }
      forget(id);
      renameSync(fresh, file);
    },
    async load(id) {
      return await read(id);
    },
    async append(id, entries) {
      let log = logs.get(id);
      if (!log) {
        const file = fileOf(id);
        mkdirSync(dir, { recursive: true });
        if (isLogAt(file)) partsOfLogs.add(id);
        logs.set(id, log = new LineLog(file));
      }
      const { entryOf } = partsOfLogs.has(id) ? await import("../log/convert.ts") : {};
      log.append(entryOf ? entries.map((entry) => entryOf(entry, id)) : entries);
      // The run is over: most sessions never write again, and open files are limited.
      if (entries.at(-1)?.type === "end") forget(id);
    },
    async list() {
      return await Promise.all(idsIn(dir).map((id) => listed(id, () => read(id))));
    },
    async delete(id) {
      const file = fileOf(id);
      forget(id);
      const was = readLineLog(file) !== undefined;
      rmSync(file, { force: true });
      return was;
    },
    pathOf: fileOf,
    async lock(id) {
      const file = `${fileOf(id)}.claim`;
      mkdirSync(dir, { recursive: true });
      const release = await claim(file, id);
      return async () => {
        forget(id);
        await release();
      };
    },
  };
}

/** Whether a file is a log, of which a transcript is a part. */
function isLogAt(path: string): boolean {
  if (!existsSync(path)) return false;
  const file = openSync(path, "r");
  const start = Buffer.alloc(7);
  readSync(file, start, 0, 7, 0);
  closeSync(file);
  return start.toString() === '{"log":';
}

function idsIn(dir: string): string[] {
  try {
    return readdirSync(dir)
      .filter((name) => name.endsWith(ENDING) && !name.endsWith(`.rollout${ENDING}`))
      .map((name) => name.slice(0, -ENDING.length)).sort();
  } catch (error) {
    if ((error as { code?: string }).code === "ENOENT") return [];
    throw error;
  }
}
