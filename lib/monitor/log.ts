import { appendFileSync, mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import type { AgentEvent } from "./state.ts";

/** Where the logs of watched agents lie: `CROCHET_HOME`, else `.crochet` in the home of whoever runs us. */
export function agentsDir(env: Readonly<Record<string, string | undefined>>): string {
  if (env.CROCHET_HOME?.startsWith("/")) return `${env.CROCHET_HOME}/agents`;
  return `${env.HOME || process.getBuiltinModule("node:os").homedir()}/.crochet/agents`;
}

/** Refuses an id that could name anything but a log. */
export function isAgentId(id: unknown): id is string {
  return typeof id === "string" && /^[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}$/.test(id) && !id.includes("..");
}

/** Adds an event: one line, written in one go, so that writers need no lock and readers never see half of one. */
export function appendEvent(dir: string, id: string, event: AgentEvent): void {
  mkdirSync(dir, { recursive: true });
  appendFileSync(`${dir}/${id}.jsonl`, `${JSON.stringify(event)}\n`, { mode: 0o600 });
}

/** Begins the log of an agent anew: a session that goes on has a life before that has ended. */
export function beginLog(dir: string, id: string, event: AgentEvent): void {
  rmSync(`${dir}/${id}.jsonl`, { force: true });
  appendEvent(dir, id, event);
}

/** The events of an agent so far; what cannot be read of a line is passed over. */
export function readEvents(dir: string, id: string): AgentEvent[] {
  let text: string;
  try {
    text = readFileSync(`${dir}/${id}.jsonl`, "utf8");
  } catch {
    return [];
  }
  return text.split("\n").flatMap((line) => {
    try {
      return line === "" ? [] : [JSON.parse(line) as AgentEvent];
    } catch {
      return [];
    }
  });
}

/** The ids of all agents that were ever watched here. */
export function agentIds(dir: string): string[] {
  try {
    return readdirSync(dir).filter((name) => name.endsWith(".jsonl")).map((name) => name.slice(0, -".jsonl".length))
      .sort();
  } catch {
    return [];
  }
}
