import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import type { Stop } from "../core/events.ts";
import { addUsage, type Message, NO_USAGE, type Usage } from "../core/messages.ts";
import type { RunEvent } from "../core/run-events.ts";
import { redactor } from "../tape/redact/redact.ts";
import { damageOf } from "./_damage.ts";
import { LineLog, readLines } from "./_line-log.ts";

/** The version of the lines; a reader refuses what it does not know. */
export const ROLLOUT_VERSION = 1;

/** One line of a rollout: a run's event with its time, or the header. */
export type RolloutLine =
  | { readonly type: "rollout"; readonly version: number; readonly id: string; readonly at: string }
  | (RunEvent & { readonly at: string });

/** What streams by and is in the messages anyway. */
const PASSING: ReadonlySet<RunEvent["type"]> = new Set(["text", "thinking", "tool_progress", "hook_output"]);

/**
 * The log of everything that happened: every message, call, hook with its ledger, input of a hook, warning and end,
 * one JSON object a line, appended as it happens. Transcript, usage and view can be made from it alone. Secrets stand
 * in it as placeholders (U16).
 */
export function rolloutWriter(
  path: string,
  id: string,
  now: () => number,
): { write(event: RunEvent, warn?: (message: string) => void): void; close(): void } {
  mkdirSync(dirname(path), { recursive: true });
  const log = new LineLog(path);
  const search = redactor();
  const clean = (line: object): object => {
    const text = JSON.stringify(line);
    return search.suspects(text) ? search.value(JSON.parse(text)) : line;
  };
  log.append([{ type: "rollout", version: ROLLOUT_VERSION, id, at: new Date(now()).toISOString() }], false);
  let over = false;
  return {
    write(event, warn) {
      if (over || PASSING.has(event.type)) return;
      try {
        // Synced once a run: the transcript is what must survive a power cut, and it is on the disk already.
        log.append([clean({ at: new Date(now()).toISOString(), ...event })], event.type === "end");
      } catch (error) {
        // A log with a gap could not be told again; a run that is paid for goes on without the rest of it.
        over = true;
        warn?.(`Cannot write the log ${path} as ${(error as Error).message}: it ends there, and the run goes on`);
      }
    },
    close: () => log.close(),
  };
}

/** Reads a rollout. @throws {Error} for a version or a file it does not know */
export function readRollout(path: string): { id: string; lines: (RunEvent & { at: string })[]; torn: number } {
  const read = readLines<RolloutLine>(path);
  if (!read) throw new Error(`Cannot read rollout ${path} as there is no such file`);
  const [head, ...rest] = read.values;
  if (head?.type !== "rollout") throw new Error(`Cannot read ${path} as its first line is no rollout header`);
  if (head.version !== ROLLOUT_VERSION) {
    throw new Error(
      `Cannot read ${path} as its version is ${head.version}: this release reads version ${ROLLOUT_VERSION}`,
    );
  }
  const lines = rest.filter((line): line is RunEvent & { at: string } => line?.type !== "rollout");
  return { id: head.id, lines, torn: read.torn };
}

/** What a rollout says of one agent. */
export interface Retold {
  readonly messages: Message[];
  usage: Usage;
  stop: Stop | undefined;
  model: string;
}

/** Tells a run again from its rollout alone: each agent's conversation, usage and end, by its id. */
export function retell(lines: Iterable<RunEvent>): Map<string, Retold> {
  const agents = new Map<string, Retold>();
  let number = 1; // the header is line 1
  for (const line of lines) {
    number++;
    const damage = damageOf(line, agents.get(line?.agent_id)?.messages.length ?? 0);
    if (damage) {
      throw new Error(`Cannot retell the run as line ${number} of its rollout ${damage}: it was changed from outside`);
    }
    let agent = agents.get(line.agent_id);
    if (!agent) agents.set(line.agent_id, agent = { messages: [], usage: NO_USAGE, stop: undefined, model: "" });
    if (line.type === "start") agent.model = line.model;
    else if (line.type === "message") agent.messages[line.index] = line.message;
    else if (line.type === "compact") agent.messages.splice(0, agent.messages.length, ...line.messages);
    else if (line.type === "usage") agent.usage = addUsage(agent.usage, line.usage);
    else if (line.type === "end") agent.stop = line.stop;
    else if (line.type === "model") agent.model = line.model;
  }
  return agents;
}
