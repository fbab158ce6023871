import { basename } from "node:path";
import type { RunEvent } from "../core/run-events.ts";
import type { LogEntry } from "../log/entry.ts";
import { secretsOf } from "../log/promote.ts";
import { Log } from "../log/read-log.ts";
import { redactor } from "../replay/redact/redact.ts";
import { readStateFile } from "../files/state.ts";
import { jsonLines, LineLog } from "./line-log.ts";

const VERSION = 1;

/** One line of a rollout: an event of the run with its time. */
export type RolloutLine = RunEvent & { readonly at: string };

interface RolloutHeader {
  readonly type: "rollout";
  readonly version: number;
  readonly id: string;
  readonly at: string;
}

/** Events that are not logged: the messages repeat what they stream. */
const STREAMED: ReadonlySet<RunEvent["type"]> = new Set(["text", "thinking", "tool_progress", "hook_output"]);

/**
 * The log of a run: every message, call, hook with its ledger, HookInput, warning and end, one JSON object per line,
 * appended as it happens. Transcript, usage and view can be made from it alone. Secrets are replaced by placeholders
 * (U16).
 */
export function rolloutWriter(
  path: string,
  id: string,
  now: () => number,
): { write(event: RunEvent, warn?: (message: string) => void): void; close(): void } {
  const log = new LineLog(path);
  const search = redactor();
  const clean = (line: object): object => {
    const text = JSON.stringify(line);
    return search.suspects(text) ? search.value(JSON.parse(text)) : line;
  };
  log.append([{ type: "rollout", version: VERSION, id, at: new Date(now()).toISOString() }], false);
  let over = false;
  return {
    write(event, warn) {
      if (over || STREAMED.has(event.type)) return;
      try {
        // Synced once per run: only the transcript must survive a power cut, and it is on the disk already.
        log.append([clean({ at: new Date(now()).toISOString(), ...event })], event.type === "end");
      } catch (error) {
        // A log with a gap is misleading, so it ends here; the run, which costs money, goes on.
        over = true;
        warn?.(`Cannot write the log ${path} as ${(error as Error).message}: it ends there, and the run goes on`);
      }
    },
    close: () => log.close(),
  };
}

/** A run as its log has it. */
export interface Rollout {
  readonly id: string;
  readonly lines: readonly RolloutLine[];
  /** What is missing from the log, in sentences. */
  readonly notes: readonly string[];
}

/**
 * Reads a rollout as far as it can be read: a log that a crash or an editor damaged is often read because of that. What
 * was left out is in the notes.
 *
 * @throws {Error} if there is no such file, no line can be read, or its version is unknown
 */
export function readRollout(path: string): Rollout {
  const { values, bad } = jsonLines<unknown>(readText(path));
  if (isLog(values)) return runOf(values as LogEntry[], path, bad);
  const lines = values.filter(isEvent);
  const header = values.find(isHeader);
  if (lines.length === 0 && header === undefined) {
    throw new Error(`Cannot read ${path} as no line of it is a rollout's: 'crochet run --rollout FILE' writes one`);
  }
  if (header !== undefined && header.version !== VERSION) {
    throw new Error(`Cannot read ${path} as its version is ${header.version}: this release reads version ${VERSION}`);
  }
  const unknown = values.filter((value) => !isEvent(value) && !isHeader(value)).length;
  const few = bad.length > 5 ? `${bad.slice(0, 5).join(", ")} …` : bad.join(", ");
  const notes = [
    ...(header === undefined ? ["The log has no header: its beginning is missing"] : []),
    ...(bad.length > 0 ? [`Lines left out because they are not JSON: ${few} (${bad.length} in all)`] : []),
    ...(unknown > 0 ? [`Lines left out because they are not events of a run: ${unknown}`] : []),
  ];
  return { id: header?.id ?? basename(path, ".jsonl"), lines, notes };
}

function isLog([first]: readonly unknown[]): boolean {
  return (first as { log?: unknown } | undefined)?.log !== undefined;
}

/** What a log says of its run, without the secrets that it shows. */
function runOf(entries: readonly LogEntry[], path: string, bad: readonly number[]): Rollout {
  const log = new Log(entries, path);
  const search = secretsOf(log);
  const lines = log.events.map((event) => search.suspects(JSON.stringify(event)) ? search.value(event) : event);
  const isCut = log.begins.length > log.ends.length;
  return {
    id: log.header.id,
    lines,
    notes: [
      ...(bad.length > 0 ? ["Its last line is cut off"] : []),
      ...(isCut ? [`Its last run has not ended: crochet run --resume ${log.header.id} continues it`] : []),
    ],
  };
}

function readText(path: string): string {
  const text = readStateFile(path);
  if (text !== undefined) return text;
  throw new Error(
    `Cannot read ${path} as there is no such file: 'crochet transcripts ls' lists the runs of this project`,
  );
}

function isHeader(value: unknown): value is RolloutHeader {
  return (value as { type?: unknown } | null)?.type === "rollout";
}

function isEvent(value: unknown): value is RolloutLine {
  const { type, agent_id } = (value ?? {}) as { type?: unknown; agent_id?: unknown };
  return typeof type === "string" && type !== "rollout" && typeof agent_id === "string";
}
