import { readFileSync } from "node:fs";
import { agentsDir, appendEvent, isAgentId, readEvents } from "./log.ts";
import { type AgentEvent, nextState, promptTypeOf, stateOf } from "./state.ts";

/**
 * Notes what stdin tells of a watched agent and is gone: silent on every path, so that it can never stand in the
 * agent's way (S2.8). It is started for each event, so it loads next to nothing.
 */
export async function noteEvent(
  [name, id]: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): Promise<void> {
  try {
    if (!isAgentId(id)) return;
    const dir = agentsDir(env);
    const event = eventOf(name, readInput());
    if (!event) return;
    if (event.type !== "prompt") return appendEvent(dir, id, event);
    const before = stateOf(readEvents(dir, id));
    appendEvent(dir, id, event);
    const after = nextState(before, event);
    if (after.state !== "prompting" || after === before) return;
    const { act, onPromptOf } = await import("./escalate.ts");
    act(onPromptOf(dir, id), id, after);
  } catch { /* whatever it is, the agent goes on */ }
}

function readInput(): Record<string, unknown> {
  try {
    const input: unknown = JSON.parse(readFileSync(0, "utf8"));
    return typeof input === "object" && input !== null ? input as Record<string, unknown> : {};
  } catch {
    return {};
  }
}

function eventOf(name: string | undefined, input: Record<string, unknown>): AgentEvent | undefined {
  const at = new Date().toISOString();
  if (name === "stop") return { type: "turn_end", at };
  if (name === "notification") {
    const message = typeof input.message === "string" ? input.message : "";
    if (input.notification_type === "permission_prompt" || /permission/i.test(message)) {
      return { type: "prompt", prompt_type: "permission", message, at };
    }
    return input.notification_type === "idle_prompt" ? { type: "turn_end", at } : undefined;
  }
  const prompt_type = name === "pretooluse" ? promptTypeOf(input.tool_name) : undefined;
  return prompt_type && { type: "prompt", prompt_type, message: asked(input.tool_input), at };
}

/** What a person is asked, as far as the tool's input tells. */
export function asked(input: unknown): string {
  const { questions, plan } = (input ?? {}) as { questions?: { question?: unknown }[]; plan?: unknown };
  if (typeof plan === "string") return plan.split("\n", 1)[0]!.slice(0, 200);
  const question = Array.isArray(questions) ? questions[0]?.question : undefined;
  return typeof question === "string" ? question.slice(0, 200) : "";
}
