import { isObject, type JsonObject } from "../../../core/json.ts";
import { nearest } from "../../../input/nearest.ts";
import { toolRow } from "../../../input/tool-table.ts";
import { CLAUDE_SPECIFIC, CLAUDE_TOP } from "../../../hooks/process/read-result.ts";
import { type HostName, HOSTS } from "../../../hooks/hosts/index.ts";
import type { Violation } from "../check-report.ts";
import { violationsOf } from "./judged.ts";
const { fault, warning } = violationsOf("protocol", "protocol");

const DROPPED = "the whole answer is dropped";

/** What is wrong with an object as an answer to an event of a host: the first fault, else the first warning. */
export function answerShape(json: JsonObject, given: JsonObject, event: string, host: HostName): Violation[] {
  const inside = isObject(json.hookSpecificOutput) ? json.hookSpecificOutput : undefined;
  const found = [
    ...types(json, ""),
    ...(inside ? types(inside, "hookSpecificOutput.") : []),
    ...topKeys(json, given, event, host),
    ...(inside ? specific(inside, event, host) : []),
    ...decision(json, event, host),
    ...(inside ? permission(inside, event, host) : []),
    ...(inside ? replaced(inside, given, event) : []),
    ...unsupported(json, inside, event, host),
  ];
  return [found.find((one) => one.severity === "fault") ?? found[0]].filter((one) => one !== undefined);
}

function types(object: JsonObject, at: string): Violation[] {
  return Object.entries(object).flatMap(([key, value]) => {
    const type = Object.hasOwn(TYPES, key) ? TYPES[key]! : undefined;
    if (type === undefined || (typeof value === type && value !== null)) return [];
    const message = `Its '${at}${key}' is ${JSON.stringify(value)}, not a ${type}: ${DROPPED}`;
    return [fault("wrong-value", message, `make it a ${type}, or leave it out`)];
  });
}

const INSIDE = [...Object.keys(CLAUDE_SPECIFIC), "updatedToolOutput"];

function topKeys(json: JsonObject, given: JsonObject, event: string, host: HostName): Violation[] {
  const { top, strict } = HOSTS[host].commands!;
  return Object.keys(json).filter((key) => !top.includes(key)).flatMap((key): Violation[] => {
    if (Object.hasOwn(given, key) && !strict) return [];
    const camel = key.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
    if (INSIDE.includes(camel)) {
      const fix = `put it into hookSpecificOutput as ${camel}, beside "hookEventName": "${event}"`;
      return [fault("misplaced-key", `Its '${key}' is at the top, where ${host} does not read it`, fix)];
    }
    const meant = nearest(camel, top, 2);
    const message = `${host} does not know its key '${key}'${strict ? " and drops the whole answer" : ""}`;
    const fix = meant === undefined ? "leave it out" : `did you mean ${meant}?`;
    // Some host reads such a key: the author expects it to do something.
    const isMeant = strict || meant !== undefined || TELLING.includes(key);
    return [(isMeant ? fault : warning)("unknown-key", message, fix)];
  });
}

function specific(inside: JsonObject, event: string, host: HostName): Violation[] {
  const { events, commands } = HOSTS[host];
  const known = Object.hasOwn(events, event) ? events[event]!.output : undefined;
  const { hookEventName: named } = inside;
  const found: Violation[] = [];
  if (named === undefined && commands!.namesEvent) {
    const message = `Its hookSpecificOutput has no "hookEventName": ${DROPPED}`;
    found.push(fault("wrong-event-name", message, `add "hookEventName": "${event}"`));
  } else if (typeof named === "string" && named !== event) {
    const message = `Its hookEventName is '${named}', but the event is ${event}: ${DROPPED}`;
    found.push(fault("wrong-event-name", message, "repeat the hook_event_name of the input"));
  }
  for (const key of known === undefined ? [] : Object.keys(inside)) {
    if (key === "hookEventName" || known!.includes(key)) continue;
    const others = Object.keys(events).filter((name) => events[name]!.output?.includes(key));
    const misplaced = `Its '${key}' is for ${others.slice(0, 3).join(", ")} and does nothing at ${event}`;
    const unknown = `${host} does not know its key 'hookSpecificOutput.${key}'`;
    found.push(
      others.length > 0
        ? fault("misplaced-key", misplaced, insteadAt(event, key, known!))
        : fault("unknown-key", unknown, `known there: ${known!.join(", ") || "nothing"}`),
    );
  }
  return found;
}

function insteadAt(event: string, key: string, known: readonly string[]): string {
  if (event === "PermissionRequest") {
    return 'use "decision": {"behavior": "allow"} or {"behavior": "deny", "message": "…"}';
  }
  if (key.startsWith("permissionDecision")) return 'use "decision": "block" with a "reason" at the top';
  return known.length > 0 ? `use ${known.join(", ")}` : "leave it out";
}

function decision({ decision: given, reason }: JsonObject, event: string, host: HostName): Violation[] {
  if (given === undefined) return [];
  const { events } = HOSTS[host];
  const { decisions } = HOSTS[host].commands!;
  if (!decisions.includes(given as string)) {
    const message = `Its decision ${JSON.stringify(given)} is not one of ${decisions.join(", ")}: ${DROPPED}`;
    return [fault("wrong-value", message, `write one of ${decisions.join(", ")}, or leave it out`)];
  }
  if (given === "approve" && event !== "PermissionRequest" || given === "allow") return [];
  if (Object.hasOwn(events, event) && !events[event]!.blocks && events[event]!.output !== undefined) {
    const request = event === "PermissionRequest";
    const fix = request ? 'use hookSpecificOutput.decision: {"behavior": "deny"}' : "leave it out";
    return [fault("no-effect", `Its decision '${given}' does nothing at ${event}`, fix)];
  }
  if (typeof reason === "string" && reason.trim() !== "") return [];
  return [
    HOSTS[host].commands?.wantsReason
      ? fault("no-reason", `It blocks without a reason, which ${host} treats as a failure`, "give a reason")
      : warning("no-reason", "It blocks without a reason: the model reads 'Blocked by hook'", "give a reason"),
  ];
}

function permission(inside: JsonObject, event: string, host: HostName): Violation[] {
  const { permissions } = HOSTS[host].commands!;
  const { permissionDecision: given, decision: behavior } = inside;
  if (given !== undefined && permissions.length > 0 && !permissions.includes(given as string)) {
    const known = permissions.join(", ");
    const message = `Its permissionDecision ${JSON.stringify(given)} is not one of ${known}: ${DROPPED}`;
    return [fault("wrong-value", message, `write one of ${known}`)];
  }
  if (event === "PermissionRequest" && behavior !== undefined) {
    const said = (behavior as { behavior?: unknown } | null)?.behavior;
    if (said !== "allow" && said !== "deny") {
      const message = `Its decision ${JSON.stringify(behavior)} has no behavior 'allow' or 'deny'`;
      return [fault("wrong-value", message, 'write "decision": {"behavior": "deny", "message": "…"}')];
    }
  }
  if (given !== "deny" || inside.permissionDecisionReason) return [];
  const message = "It denies without a reason: the model reads 'Blocked by hook'";
  return [warning("no-reason", message, "give permissionDecisionReason")];
}

/** A new input replaces the whole old one; a new output must have the type of the old one. */
function replaced(
  { updatedInput, updatedToolOutput: output }: JsonObject,
  given: JsonObject,
  event: string,
): Violation[] {
  if (isObject(updatedInput) && event === "PreToolUse") {
    const { fields = [] } = toolRow(String(given.tool_name)) ?? {};
    const gone = fields.find((field) => !field.endsWith("?") && !Object.hasOwn(updatedInput, field));
    if (gone !== undefined) {
      const message = `Its updatedInput lacks '${gone}': it replaces the whole input, so the call fails`;
      return [fault("incomplete-input", message, "return all of tool_input with the change in it")];
    }
  }
  const kind = (value: unknown) => Array.isArray(value) ? "list" : value === null ? "null" : typeof value;
  const [was, is] = [kind(given.tool_response), kind(output)];
  if (output === undefined || given.tool_response === undefined || is === was) return [];
  const message = `Its updatedToolOutput is a ${is}, but ${given.tool_name} returns a ${was}: it is ignored`;
  return [fault("wrong-output-type", message, "change the tool_response it was given, and return that")];
}

function unsupported(json: JsonObject, inside: JsonObject | undefined, event: string, host: HostName): Violation[] {
  const { allowsWithInput, newInput } = HOSTS[host].commands!;
  if (allowsWithInput && inside?.permissionDecision === "allow" && inside[newInput] === undefined) {
    const message = `${host} treats permissionDecision 'allow' without ${newInput} as a failure`;
    return [fault("wrong-value", message, "print nothing to let the call through")];
  }
  const isSaid = (key: string) => key === "continue" ? json[key] === false : json[key] !== undefined;
  return (HOSTS[host].events[event]?.refusesKeys ?? []).filter(isSaid).map((key) =>
    fault("no-effect", `${host} does not support '${key}' at ${event}`, "deny with a reason instead")
  );
}

const { decision: _, ...top } = CLAUDE_TOP;

/** The types of the keys that have one, wherever they stand. */
const TYPES: Readonly<Record<string, string>> = {
  ...{ ...top, ...CLAUDE_SPECIFIC },
  ...{ sessionTitle: "string", initialUserMessage: "string" },
};

/** Keys that say something in an answer: an object with one of them was meant as one. */
export const TELLING: readonly string[] = [
  ...["decision", "hookSpecificOutput", "continue", "permissionDecision", "additionalContext", "systemMessage"],
  ...["stopReason", "permission", "block", "action", "updatedInput", "additional_context", "modified_data"],
];
