import { type EventName, EVENTS } from "./events.ts";
import { isObject } from "./json.ts";
import { pascal, resolveEvent } from "./names.ts";
import { shown } from "./shown.ts";
import { fromAction, NO_OPINION, type Opinion, type Said, unusable } from "./verdict.ts";

/** Which spelling of a verdict a hook speaks. It belongs to the hook's kind, so no object ever means two things. */
export type Dialect = "native" | "claude" | "prompt" | "definition";

/** Reads a prompt hook's answer: `{ok, reason}`, or `{action, reason, modified_data}`. */
export function readPrompt(raw: unknown, event: EventName): Opinion {
  const answer = expectObject(raw, event);
  if (typeof answer.ok === "boolean") {
    return answer.ok ? NO_OPINION : fromAction(event, "deny", { reason: answer.reason ?? "A prompt hook said no" });
  }
  return readDefinition(answer, event);
}

/** Reads `{action, reason, modified_data}`: `modified_data` holds the subject under its key; without that key nothing changes. */
export function readDefinition(raw: unknown, event: EventName): Opinion {
  const answer = expectObject(raw, event);
  if (typeof answer.action !== "string") throw unusable(event, "it has no 'action'");
  const action = answer.action.toLowerCase();
  if (!["continue", "deny", "modify"].includes(action)) {
    throw unusable(event, `action '${answer.action}' is unknown: expected continue, deny or modify`);
  }
  if (action !== "modify") return fromAction(event, action, answer);
  const data = answer.modified_data ?? {};
  if (typeof data !== "object") throw unusable(event, "its 'modified_data' is not an object");
  const key = subjectKey(event, data as Record<string, unknown>);
  if (key === undefined) return fromAction(event, "continue", answer);
  return fromAction(event, "modify", { ...answer, value: (data as Record<string, unknown>)[key] });
}

function subjectKey(event: EventName, data: Record<string, unknown>): string | undefined {
  const subject = EVENTS[event].subject;
  if (subject === null) throw unusable(event, `nothing can be modified on ${pascal(event)}`);
  const spellings = subject === "input"
    ? ["args", "input", "tool_input"]
    : subject === "result"
    ? ["result", "tool_response"]
    : [subject];
  return spellings.find((key) => key in data);
}

/** The words a host uses when a hook gives none. */
const CLAUDE_NO_REASON = "Blocked by hook";

/**
 * Reads the JSON a Claude Code hook printed. Unknown keys are ignored; a known key of the wrong type makes the
 * whole object unusable, as it does there.
 */
export function readClaude(raw: unknown, event: EventName, wireName = pascal(event)): Opinion {
  const out = expectObject(raw, event);
  checkTypes(out, CLAUDE_TOP, event, "");
  const decision = out.decision as string | undefined;
  if (decision !== undefined && decision !== "approve" && decision !== "block") {
    throw unusable(event, `decision ${JSON.stringify(decision)} is not 'approve' or 'block'`);
  }
  const specific = readSpecific(out.hookSpecificOutput as Record<string, unknown> | undefined, event, wireName);
  // A permission is answered by `hookSpecificOutput.decision` alone.
  if (event === "permission-request") return { ...specific, ...beside(out) };
  const blocked = decision === "block" || specific.decision === "deny";
  const said = out.reason as string | undefined;
  const reason = decision === "block" ? said || specific.reason : specific.reason || said;
  const opinion: Opinion = {
    ...(blocked
      ? { decision: "deny" }
      : specific.decision
      ? { decision: specific.decision }
      : decision === "approve"
      ? { decision: "allow" }
      : {}),
    ...(reason ? { reason } : blocked ? { reason: CLAUDE_NO_REASON } : {}),
    ...(specific.value && { value: specific.value }),
    ...(specific.contexts && { contexts: specific.contexts }),
    ...(specific.halt !== undefined && { halt: specific.halt }),
    ...beside(out),
  };
  // There, context from a stop hook is a reason to go on, and needs no further words.
  if (event === "stop" && opinion.contexts && opinion.decision !== "deny") {
    return { ...opinion, decision: "deny", reason: opinion.contexts.map((c) => c.text).join("\n"), text: "" };
  }
  return opinion;
}

function beside(out: Record<string, unknown>): Opinion {
  return {
    ...(out.continue === false && { halt: (out.stopReason as string | undefined) ?? "" }),
    ...(out.systemMessage !== undefined && { systemMessage: out.systemMessage as string }),
  };
}

const CLAUDE_TOP: Record<string, string> = {
  continue: "boolean",
  stopReason: "string",
  suppressOutput: "boolean",
  systemMessage: "string",
  decision: "string",
  reason: "string",
  hookSpecificOutput: "object",
};

const CLAUDE_SPECIFIC: Record<string, string> = {
  hookEventName: "string",
  permissionDecision: "string",
  permissionDecisionReason: "string",
  updatedInput: "object",
  additionalContext: "string",
};

function readSpecific(specific: Record<string, unknown> | undefined, event: EventName, wireName: string): Opinion {
  if (specific === undefined) return NO_OPINION;
  checkTypes(specific, CLAUDE_SPECIFIC, event, "hookSpecificOutput.");
  if (specific.hookEventName === undefined) {
    throw unusable(event, `hookSpecificOutput is missing required field "hookEventName"`);
  }
  if (resolveEvent(specific.hookEventName as string)?.event !== event || specific.hookEventName !== wireName) {
    throw unusable(
      event,
      `Hook returned incorrect event name: expected '${wireName}' but got '${specific.hookEventName}'`,
    );
  }
  const contexts: Said[] = typeof specific.additionalContext === "string" && specific.additionalContext !== ""
    ? [{ text: specific.additionalContext }]
    : [];
  const found: Opinion = contexts.length > 0 ? { contexts } : NO_OPINION;
  if (event === "permission-request") return { ...found, ...readBehavior(specific.decision, event) };
  const value = event === "post-tool-use" && "updatedToolOutput" in specific
    ? { to: { response: specific.updatedToolOutput } }
    : specific.updatedInput !== undefined && EVENTS[event].subject === "input"
    ? { to: specific.updatedInput }
    : undefined;
  const permission = EVENTS[event].ask ? specific.permissionDecision as string | undefined : undefined;
  if (permission === undefined) return { ...found, ...(value && { value }) };
  if (!["allow", "deny", "ask", "defer"].includes(permission)) {
    throw unusable(event, `permissionDecision ${JSON.stringify(permission)} is not allow, deny, ask or defer`);
  }
  const reason = specific.permissionDecisionReason as string | undefined;
  return {
    ...found,
    ...(value && { value }),
    ...(reason !== undefined && { reason }),
    // `defer` puts the call off to a later process: here the run ends before the call, which is a halt with a refusal.
    ...(permission === "defer"
      ? { decision: "deny", halt: "deferred" }
      : { decision: permission as "allow" | "deny" | "ask" }),
  };
}

function readBehavior(decision: unknown, event: EventName): Opinion {
  if (decision === undefined) return NO_OPINION;
  const given = expectObject(decision, event);
  if (given.behavior === "allow") {
    return { decision: "allow", ...(given.updatedInput !== undefined && { value: { to: given.updatedInput } }) };
  }
  if (given.behavior !== "deny") {
    throw unusable(event, `behavior ${JSON.stringify(given.behavior)} is not 'allow' or 'deny'`);
  }
  const message = typeof given.message === "string" ? given.message : "Permission denied by hook";
  return { decision: "deny", reason: message, text: message, ...(given.interrupt === true && { abort: message }) };
}

function expectObject(raw: unknown, event: EventName): Record<string, unknown> {
  if (!isObject(raw)) throw unusable(event, "it is not a JSON object");
  return raw;
}

function checkTypes(
  object: Record<string, unknown>,
  types: Record<string, string>,
  event: EventName,
  prefix: string,
): void {
  for (const [key, type] of Object.entries(types)) {
    const value = object[key];
    if (value === undefined) continue;
    if (typeof value !== type || value === null) {
      throw unusable(event, `'${prefix}${key}' is ${shown(value)}, expected ${type}`);
    }
  }
}
