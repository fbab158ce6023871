import type { RunEvent } from "../core/run-events.ts";
import type { LogEntry } from "./entry.ts";
import { readLineLog } from "./line-log.ts";
import { Log } from "./read-log.ts";
import { type Redactor, redactor } from "./redact/redact.ts";

export type TimedEvent = RunEvent & { readonly at: string };

export interface LoggedRun {
  readonly id: string;
  readonly events: readonly TimedEvent[];
  /** What is missing from the log, in sentences. */
  readonly notes: readonly string[];
}

/** @throws {Error} if there is no such file, or a line of it is not a log's */
export function readLoggedRun(path: string): LoggedRun {
  const lines = readLineLog<LogEntry>(path);
  if (!lines) {
    throw new Error(
      `Cannot read ${path} as there is no such file: 'crochet runs' lists the runs of this project`,
    );
  }
  const log = new Log(lines.values, path);
  const { header: { id }, begins, ends } = log;
  const search = secretsOf(log);
  return {
    id,
    events: log.events.map((event) => search.suspects(JSON.stringify(event)) ? search.value(event) : event),
    notes: [
      ...(lines.torn > 0 ? ["Its last line is cut off"] : []),
      ...(begins.length > ends.length ? [`Its last run has not ended: crochet run --resume ${id} continues it`] : []),
    ],
  };
}

/** Finds the secrets of a log: those of here and now, and those that it names itself. */
export function secretsOf({ header: { seed, cwd }, secrets }: Log): Redactor {
  const search = redactor({ seed, root: cwd, learns: true });
  for (const { secret, name, value } of secrets) search.learn(secret, name, value);
  return search;
}
