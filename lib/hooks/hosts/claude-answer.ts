import { type EventName, EVENTS } from "../../core/events.ts";
import { isObject, type JsonObject, parsed } from "../../core/json.ts";
import { pascal, resolveEvent } from "../../core/names.ts";
import { shown } from "../../core/shown.ts";
import { type HookText, NO_OPINION, type Opinion, unusable, UnusableAnswer } from "../../core/verdict.ts";
type Printed = { readonly json: JsonObject } | { readonly plain: string };

/**
 * Tells an answer from plain words. What looks like an answer and cannot be read as one is a failure: taken for
 * words, a denial with a stray line beside it would count as consent.
 *
 * @throws {UnusableAnswer}
 */
export function readStdout(stdout: string): Printed {
  const text = stdout.trim();
  if (!text.startsWith("{")) {
    if (holdsVerdict(text)) throw unreadable("there is other text before its JSON object", text);
    return { plain: text };
  }
  const json = parsed(text);
  if (isObject(json)) return { json };
  if (!/^\{\s*["}]/.test(text) && !text.endsWith("}")) return { plain: text };
  throw unreadable("it looks like a JSON object and is not valid JSON", text);
}

/** Whether words end in an object that would have decided something by itself. */
function holdsVerdict(text: string): boolean {
  const [first, last] = [text.indexOf("\n{"), text.lastIndexOf("\n{")];
  if (first < 0) return false;
  const json = parsed(text.slice(first + 1)) ?? (last === first ? undefined : parsed(text.slice(last + 1)));
  return isObject(json) && ["decision", "hookSpecificOutput", "continue"].some((key) => Object.hasOwn(json, key));
}

function unreadable(why: string, text: string): UnusableAnswer {
  const shown = JSON.stringify(text.length > 120 ? `${text.slice(0, 117)}...` : text);
  return new UnusableAnswer(`Cannot use the hook's output as ${why}: print one object and nothing else, not ${shown}`);
}

/** A first line that sends the hook into the background, and for how many milliseconds at most. */
export function asyncLine(line: string): { readonly timeout: number | undefined } | undefined {
  if (!line.trimStart().startsWith("{")) return undefined;
  const json = parsed(line);
  if (!isObject(json) || json.async !== true) return undefined;
  return { timeout: typeof json.asyncTimeout === "number" ? json.asyncTimeout : undefined };
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

/** The keys of an answer and their types; those of `hookSpecificOutput` below. */
export const CLAUDE_TOP: Record<string, string> = {
  continue: "boolean",
  stopReason: "string",
  suppressOutput: "boolean",
  systemMessage: "string",
  decision: "string",
  reason: "string",
  hookSpecificOutput: "object",
};

export const CLAUDE_SPECIFIC: Record<string, string> = {
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
  const contexts: HookText[] = typeof specific.additionalContext === "string" && specific.additionalContext !== ""
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
