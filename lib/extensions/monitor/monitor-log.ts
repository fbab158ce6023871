import { appendStateFile, namesIn, readStateFile, removeState } from "../../files/state.ts";
import { jsonLines } from "../../log/line-log.ts";
import { quietly } from "../../core/json.ts";

/** The file of an agent's events, and the folder where processes that must be quick write one file per event. */
export interface MonitorLog {
  readonly lines: string;
  readonly notes: string;
}

/** Adds an event as one line in one write, so that writers need no lock and readers never see half a line. */
export function appendEvent({ lines }: MonitorLog, event: AgentEvent): void {
  appendStateFile(lines, `${JSON.stringify(event)}\n`);
}

/** Starts a new log for an agent. If the agent ran before, its old log is over. */
export function beginLog(log: MonitorLog, event: AgentEvent): void {
  removeState(log.lines);
  removeState(log.notes);
  appendEvent(log, event);
}

/** The events of an agent so far, in order; lines that cannot be read are left out. */
export function readEvents({ lines, notes }: MonitorLog): AgentEvent[] {
  const paths = [lines, ...namesIn(notes).sort().map((name) => `${notes}/${name}`)];
  const texts = paths.map((path) => quietly(() => readStateFile(path)) ?? ""); // it may be no file of ours
  // By time; events of the same time stay in the order they were written.
  return jsonLines<AgentEvent>(texts.join("\n")).values.filter((event) => event?.at !== undefined).sort((a, b) =>
    a.at < b.at ? -1 : a.at > b.at ? 1 : 0
  );
}

/** Whether a prompt would change what the agent waits for: a person hears of it once, and of no prompt after its end. */
export function isNews(log: MonitorLog, prompt: AgentEvent): boolean {
  const now = stateOf(readEvents(log));
  return nextState(now, prompt) !== now;
}

export function agentIds(dir: string): string[] {
  const ids = namesIn(dir).flatMap((name) => /^(.+)\.(?:jsonl|notes)$/.exec(name)?.[1] ?? []);
  return [...new Set(ids)].sort();
}

/** What a person must decide for an agent. */
export type PromptType = "plan_approval" | "question" | "permission";

export type AgentEvent =
  & { readonly at: string }
  & (
    /** `owner` is its process, if known; `name` is what a person calls it. */
    | { readonly type: "start"; readonly workspace?: string; readonly name?: string; readonly owner?: string }
    | { readonly type: "prompt"; readonly prompt_type: PromptType; readonly message: string }
    /** It did something, so its question was answered. */
    | { readonly type: "activity" }
    /** It ended its turn and waits for a person. */
    | { readonly type: "turn_end" }
    /** It waits for a person, and a question of its stays open even if its process ends. */
    | { readonly type: "left" }
    | { readonly type: "end"; readonly failed?: boolean }
  );

/** The state of a watched agent. At most one decision is pending. */
export type AgentState =
  & { readonly since: string }
  & (
    | { readonly state: "working" | "waiting" | "stopped" | "failed" }
    | { readonly state: "prompting"; readonly prompt_type: PromptType; readonly message: string }
  );

/** The state after an event (U14): activity dismisses what is pending, and an agent that has ended stays ended. */
export function nextState(now: AgentState | undefined, event: AgentEvent): AgentState {
  if (now?.state === "stopped" || now?.state === "failed") return now;
  switch (event.type) {
    case "prompt":
      if (now?.state === "prompting") {
        const isSame = now.prompt_type === event.prompt_type && now.message === event.message;
        // A permission prompt never replaces a question or a plan.
        if (isSame || (event.prompt_type === "permission" && now.prompt_type !== "permission")) return now;
      }
      return { state: "prompting", prompt_type: event.prompt_type, message: event.message, since: event.at };
    case "start":
    case "activity":
      return now?.state === "working" ? now : { state: "working", since: event.at };
    case "left":
      return now?.state === "prompting" ? now : { state: "waiting", since: event.at };
    case "turn_end":
      return now?.state === "waiting" ? now : { state: "waiting", since: event.at };
    case "end":
      return { state: event.failed ? "failed" : "stopped", since: event.at };
  }
}

export function stateOf(events: readonly AgentEvent[]): AgentState | undefined {
  return events.reduce<AgentState | undefined>(nextState, undefined);
}
