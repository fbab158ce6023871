import { basename, join } from "node:path";
import { claim } from "../../files/lock.ts";
import { hasState, makeFolder, readStateFile, removeState, replaceState, stateFiles } from "../../files/state.ts";
import type { LogEntry } from "../entry.ts";
import type { SecretKind } from "../redact/secrets.ts";
import { LineLog, readLineLog } from "../line-log.ts";
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
  /** Called with each value that a log names as one that must not be shown. */
  onSecret?: (kind: SecretKind, name: string, value: string) => void;
}

/** Keeps each transcript as a file of JSON lines; exported through on-demand.ts. */
export function jsonlStore(dir: string, options: JsonlStoreOptions = {}): TranscriptStore {
  const logs = new Map<string, LineLog>();
  const fileOf = (id: string): string => {
    checkId(id);
    return join(dir, `${id}${ENDING}`);
  };
  const read = async (id: string): Promise<Transcript | undefined> => {
    const lines = readLineLog<Entry | LogEntry>(fileOf(id));
    if (!lines) return undefined;
    if (lines.torn > 0) options.onTorn?.(id, lines.torn);
    if (!isLog(lines.values)) return transcriptOf(lines.values as Entry[], fileOf(id));
    const log = new (await import("../read-log.ts")).Log(lines.values as LogEntry[], fileOf(id));
    for (const { secret, name, value } of log.secrets) options.onSecret?.(secret, name, value);
    return transcriptOf(log.transcript() ?? [], fileOf(id));
  };
  const forget = (id: string): void => {
    logs.get(id)?.close();
    logs.delete(id);
  };
  return {
    async save(id, messages, about) {
      const file = fileOf(id);
      const fresh = `${file}.new`;
      removeState(fresh);
      const log = new LineLog(fresh);
      try {
        log.append(entriesOf(messages, about));
      } finally {
        log.close();
      }
      forget(id);
      replaceState(fresh, file);
    },
    async load(id) {
      return await read(id) ?? await loadBelow(dir, id);
    },
    async append(id, entries) {
      let log = logs.get(id);
      if (!log) {
        const file = fileOf(id);
        if (isLog(readLineLog<Entry | LogEntry>(file)?.values)) {
          throw new Error(`${file} is the log of a run, which goes on without a store`);
        }
        logs.set(id, log = new LineLog(file));
      }
      log.append(entries);
      // The run is over: most sessions never write again, and open files are limited.
      if (entries.at(-1)?.type === "end") forget(id);
    },
    async list() {
      return await Promise.all(idsIn(dir).map((id) => listed(id, () => read(id))));
    },
    async delete(id) {
      const file = fileOf(id);
      forget(id);
      const was = hasState(file);
      removeState(file);
      return was;
    },
    pathOf: fileOf,
    async lock(id) {
      const file = `${fileOf(id)}.claim`;
      makeFolder(dir);
      const release = await claim(file, id);
      return async () => {
        forget(id);
        await release();
      };
    },
  };
}

/** The transcript of an agent that another started, in the log of that one; undefined if no log has it. */
async function loadBelow(dir: string, id: string): Promise<Transcript | undefined> {
  const path = logOf(dir, id);
  if (!hasState(path) || basename(path, ENDING) === id) return undefined;
  const entries = (await import("../read-log.ts")).readLog(path)?.transcript(id);
  return entries && { ...transcriptOf(entries, path), isElsewhere: true };
}

/** The file that has a session: its own, else the log of the agent that started it. */
export function logOf(dir: string, id: string): string {
  checkId(id);
  const own = join(dir, `${id}${ENDING}`);
  if (hasState(own) || !/^a[0-9a-f]{16}$/.test(id)) return own;
  const line = `","id":"${id}","about":`;
  return idsIn(dir).map((other) => join(dir, `${other}${ENDING}`))
    .find((path) => readStateFile(path)?.includes(line)) ?? own;
}

/** Whether these are the lines of a log, of which a transcript is a part. */
function isLog(lines: readonly object[] = []): boolean {
  return lines[0] !== undefined && "log" in lines[0];
}

function idsIn(dir: string): string[] {
  return stateFiles(dir, ENDING).map(({ path }) => basename(path, ENDING)).sort();
}
