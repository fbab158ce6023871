import type { Stop } from "../core/events.ts";
import type { Spawned } from "../core/tool.ts";

/** Why an agent ended that was not done. */
const EARLY: { readonly [stop in Stop]?: string } = {
  max_iterations: "it reached its limit of model calls",
  max_continuations: "a hook kept it going until its limit of continuations",
  stop_hook_stalled: "a hook kept it going though it did nothing more",
  budget: "the budget is spent",
  truncated: "its last reply was cut off by the output limit",
  refused: "the model refused to go on",
  halted: "a hook ended it",
  waiting: "it waits for an answer, which the prompt may give",
};

/** What an agent said in the end, as the one that started it reads it: marked, as a user's message may carry it too. */
export function reportOf({ agent_id, type, text, stop }: Spawned): string {
  // It never began, or its turn was refused: these are the words of a hook, and there is nothing to resume.
  if (stop === "denied") return text;
  const why = stop && EARLY[stop];
  const early = why === undefined ? "" : `, who ended before the task was done as ${why}`;
  const words = text === "" ? "(no words)" : text;
  return `${words}\n\n${marked({ agent_id, type }, early)}`;
}

/** What the agent that started one reads if it failed: with its id, so that it can be resumed. */
export function failureOf(agent: Pick<Spawned, "agent_id" | "type">, message: string): string {
  return `The agent ended with an error: ${message}\n\n${marked(agent)}`;
}

function marked({ agent_id, type }: Pick<Spawned, "agent_id" | "type">, early = ""): string {
  return `[Report of agent ${agent_id} (${type}), not of the user${early}; resume it with resume_agent_id]`;
}
