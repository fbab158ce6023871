import { systemClock } from "../../../core/clock.ts";
import type { AnyEvent } from "../../../core/events.ts";
import { Context, type HookEnv } from "../../../core/hook.ts";
import type { Opinion } from "../../../core/verdict.ts";
import { answerOf, listeningTo } from "../../../hooks/process/answer.ts";
import { fromHost, type Host } from "../../../hooks/serving/from-host.ts";
import { canBlock } from "./judged.ts";
import { type Json, readPrinted } from "./_printed.ts";
import type { RanCommand } from "../asking/probe.ts";

/** What a host makes of how a command ended; nothing where that is no answer. */
export function opinionOf(ran: RanCommand, event: Json, host: Host, outputDir: string): Omit<Opinion, "later"> {
  return host === "claude" ? asClaude(ran, event, outputDir) : asOther(ran, event, host);
}

function asClaude(ran: RanCommand, event: Json, outputDir: string): Opinion {
  const heard = fromHost(event, "claude");
  if (!heard) return {};
  const { fired, session_id, agent_id, parent_agent_id, agent_type, turn_id, cwd, wireName } = heard;
  const env: HookEnv = {
    ...{ session_id, agent_id, parent_agent_id, agent_type, turn_id, cwd },
    sequence: { next: 0 },
    clock: systemClock,
    values: new Map(),
    signal: new AbortController().signal,
  };
  const ids = { event_id: "check:0", timestamp: "", session_id, agent_id, turn_id };
  const about = {
    ...fired,
    ...ids,
    ...(parent_agent_id !== undefined && { parent_agent_id, agent_type }),
  } as unknown as AnyEvent;
  const called = { command: "hook", registered: wireName };
  const host = { projectDir: cwd, env: {}, outputDir: () => outputDir };
  try {
    return answerOf(ran, listeningTo(about, called, new Context(env, "hook"), host));
  } catch {
    return {};
  }
}

function asOther({ code, stdout, stderr }: RanCommand, event: Json, host: Host): Opinion {
  const name = String(event.hook_event_name);
  if (code === 2) return canBlock(name) ? { decision: "deny", reason: stderr } : {};
  const printed = readPrinted(stdout, event);
  if (printed.form !== "answer") return {};
  const { decision, reason, hookSpecificOutput, continue: goOn, stopReason } = printed.json;
  const inside = (hookSpecificOutput ?? {}) as Json;
  const text = (value: unknown) => typeof value === "string" ? value : "";
  const input = host === "gemini" ? inside.tool_input : inside.updatedInput;
  const denied = decision === "block" || decision === "deny" || inside.permissionDecision === "deny";
  return {
    ...(denied && { decision: "deny" as const, reason: text(reason) || text(inside.permissionDecisionReason) }),
    ...(typeof inside.additionalContext === "string" && { contexts: [{ text: inside.additionalContext }] }),
    ...(input !== undefined && { value: { to: input } }),
    ...(goOn === false && { halt: text(stopReason) }),
  };
}
