import type { Engine } from "./engine.ts";
import type { RunEvent } from "../core/run-events.ts";
import type { PermissionAsker, PermissionReply } from "../permissions/gate.ts";

/**
 * Who is asked on an engine. A person who is there answers once: the answer is a step. Where nobody is there, the
 * engine waits, for as long as it takes, for an answer from elsewhere.
 */
export function askerOn(
  engine: Engine,
  ask: PermissionAsker | undefined,
  emit: (event: RunEvent) => void,
): PermissionAsker | undefined {
  if (ask) return (question, signal) => engine.step(question.key!, () => ask(question, signal));
  if (!engine.wait) return undefined;
  return ({ key, agent_id = "", tool_name, input, reason }) =>
    engine.wait!<PermissionReply>(key!, async (token) => {
      emit({ agent_id, type: "question", token, tool_name, input, reason });
    }, { agent_id, tool_name, input, reason });
}
