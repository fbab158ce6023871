import { isObject } from "../../../core/json.ts";
import { nearest } from "../../../core/names.ts";
import type { Host } from "../../../hooks/serving/from-host.ts";
import { type Violation, violationsOf } from "./judged.ts";
import type { Json } from "./_printed.ts";
import { BLOCKABLE, REQUIRED, SHAPES, TYPES } from "./shapes.ts";

const { fault, warning } = violationsOf("lawful");

/** What is wrong with an object as an answer to an event of a host: the first thing that makes it no answer. */
export function answerShape(json: Json, given: Json, event: string, host: Host): Violation[] {
  const inside = specificOf(json);
  const found = [
    ...types(json, ""),
    ...(inside ? types(inside, "hookSpecificOutput.") : []),
    ...topKeys(json, given, event, host),
    ...(inside ? specific(inside, event, host) : []),
    ...decision(json, event, host),
    ...(inside ? permission(inside, event, host) : []),
    ...(inside ? replaced(inside, given, event) : []),
    ...(host === "codex" ? codexOnly(json, inside, event) : []),
  ];
  const faults = found.filter((one) => one.severity === "fault");
  return (faults.length > 0 ? faults : found).slice(0, 1);
}

function specificOf({ hookSpecificOutput: given }: Json): Json | undefined {
  return isObject(given) ? given : undefined;
}

function types(object: Json, at: string): Violation[] {
  return Object.entries(object).flatMap(([key, value]) => {
    const type = Object.hasOwn(TYPES, key) ? TYPES[key]! : undefined;
    if (type === undefined || (typeof value === type && value !== null)) return [];
    return [
      fault(
        "value",
        `Its '${at}${key}' is ${JSON.stringify(value)}, and a ${type} is expected: the whole answer is dropped`,
        `make it a ${type}, or leave it out`,
      ),
    ];
  });
}

/** Where each key belongs that is often put elsewhere. */
const INSIDE = [
  "additionalContext",
  "permissionDecision",
  "permissionDecisionReason",
  "updatedInput",
  "updatedToolOutput",
  "hookEventName",
];
/** What other hosts call it. */
const FOREIGN: { readonly [key: string]: string } = {
  additional_context: "hookSpecificOutput.additionalContext",
  permission: "hookSpecificOutput.permissionDecision",
  updated_input: "hookSpecificOutput.updatedInput",
  modifiedArgs: "hookSpecificOutput.updatedInput",
  user_message: "systemMessage",
  agent_message: "reason",
  followup_message: 'decision "block" with a reason',
  message: "reason",
  action: "decision",
  ok: "decision",
  allow: "hookSpecificOutput.permissionDecision",
  block: "decision",
  blocked: "decision",
  approve: "decision",
  error: "reason",
  feedback: "reason",
  context: "hookSpecificOutput.additionalContext",
  stop_reason: "stopReason",
  system_message: "systemMessage",
  suppress_output: "suppressOutput",
};

function topKeys(json: Json, given: Json, event: string, host: Host): Violation[] {
  const { top, strict } = SHAPES[host];
  return Object.keys(json).filter((key) => !top.includes(key)).flatMap((key): Violation[] => {
    if (Object.hasOwn(given, key) && !strict) return [];
    if (INSIDE.includes(key)) {
      const code = key === "additionalContext" ? "top-level-context" : "top-level";
      return [
        fault(
          code,
          `Its '${key}' stands at the top, where ${host} does not read it`,
          `put it into hookSpecificOutput, beside "hookEventName": "${event}"`,
        ),
      ];
    }
    if (strict) {
      return [
        fault(
          "unknown-key",
          `Its key '${key}' is unknown to ${host}, which drops the whole answer for it`,
          "leave it out",
        ),
      ];
    }
    const meant = Object.hasOwn(FOREIGN, key) ? FOREIGN[key]! : near(key, top);
    if (key === "additional_context") {
      return [fault("top-level-context", `'${key}' is not read by ${host}`, `use ${meant}`)];
    }
    return [
      meant === undefined
        ? warning("unknown-key", `Its key '${key}' is not read by ${host}`, "leave it out")
        : fault("unknown-key", `Its key '${key}' is not read by ${host}`, `did you mean ${meant}?`),
    ];
  });
}

function near(key: string, known: readonly string[]): string | undefined {
  const plain = (text: string) => text.replaceAll(/[_-]/g, "").toLowerCase();
  const same = known.find((one) => plain(one) === plain(key));
  if (same !== undefined) return same;
  const candidate = nearest(key, known)!;
  return key.length > 4 && plain(candidate).slice(0, 4) === plain(key).slice(0, 4) ? candidate : undefined;
}

function specific(inside: Json, event: string, host: Host): Violation[] {
  const { specific: table, namesEvent } = SHAPES[host];
  const known = Object.hasOwn(table, event) ? table[event]! : undefined;
  const found: Violation[] = [];
  const { hookEventName: named } = inside;
  if (named === undefined && namesEvent) {
    found.push(
      fault(
        "event-name",
        'Its hookSpecificOutput has no "hookEventName": the whole answer is dropped',
        `add "hookEventName": "${event}"`,
      ),
    );
  } else if (named !== undefined && named !== event && typeof named === "string") {
    found.push(
      fault(
        "event-name",
        `Its hookEventName is '${named}', and the event is ${event}: the whole answer is dropped`,
        "repeat the hook_event_name of the input",
      ),
    );
  }
  if (known === undefined) return found;
  for (const key of Object.keys(inside)) {
    if (key === "hookEventName" || known.includes(key)) continue;
    const others = Object.keys(table).filter((name) => table[name]!.includes(key));
    found.push(
      others.length > 0
        ? fault(
          "wrong-event",
          `Its '${key}' is for ${others.slice(0, 3).join(", ")}, not for ${event}: it does nothing`,
          wrongEventMend(event, key, known),
        )
        : fault(
          "unknown-key",
          `Its key 'hookSpecificOutput.${key}' is unknown to ${host}`,
          `known there: ${known.join(", ") || "nothing"}`,
        ),
    );
  }
  return found;
}

function wrongEventMend(event: string, key: string, known: readonly string[]): string {
  if (event === "PermissionRequest") {
    return 'use "decision": {"behavior": "allow"} or {"behavior": "deny", "message": "…"}';
  }
  if (key.startsWith("permissionDecision")) return 'use "decision": "block" with a "reason" at the top';
  return known.length > 0 ? `use ${known.join(", ")}` : "leave it out";
}

function decision({ decision: given, reason }: Json, event: string, host: Host): Violation[] {
  if (given === undefined) return [];
  const { decisions } = SHAPES[host];
  if (!decisions.includes(given as string)) {
    return [
      fault(
        "value",
        `Its decision ${JSON.stringify(given)} is not ${
          decisions.map((d) => `'${d}'`).join(" or ")
        }: the whole answer is dropped`,
        `write one of ${decisions.join(", ")}, or leave it out`,
      ),
    ];
  }
  if (given === "approve" && event !== "PermissionRequest" || given === "allow") return [];
  if (!BLOCKABLE[host].includes(event) && Object.hasOwn(SHAPES[host].specific, event)) {
    return [
      fault(
        "no-effect",
        `Its decision '${given}' does nothing at ${event}`,
        event === "PermissionRequest" ? 'use hookSpecificOutput.decision: {"behavior": "deny"}' : "leave it out",
      ),
    ];
  }
  return typeof reason === "string" && reason.trim() !== "" ? [] : [
    host === "codex"
      ? fault("no-reason", "It blocks without a reason, which codex takes for a failure", "give a reason")
      : warning("no-reason", "It blocks without a reason: the model reads 'Blocked by hook'", "give a reason"),
  ];
}

function permission(inside: Json, event: string, host: Host): Violation[] {
  const { permissions } = SHAPES[host];
  const { permissionDecision: given, decision: behavior } = inside;
  if (given !== undefined && permissions.length > 0 && !permissions.includes(given as string)) {
    return [
      fault(
        "value",
        `Its permissionDecision ${JSON.stringify(given)} is none of ${
          permissions.join(", ")
        }: the whole answer is dropped`,
        `write one of ${permissions.join(", ")}`,
      ),
    ];
  }
  if (event === "PermissionRequest" && behavior !== undefined) {
    const said = (behavior as { behavior?: unknown } | null)?.behavior;
    if (said !== "allow" && said !== "deny") {
      return [
        fault(
          "value",
          `Its decision ${JSON.stringify(behavior)} has no behavior 'allow' or 'deny'`,
          'write "decision": {"behavior": "deny", "message": "…"}',
        ),
      ];
    }
  }
  if (given === "deny" && !inside.permissionDecisionReason) {
    return [
      warning(
        "no-reason",
        "It denies without a reason: the model reads 'Blocked by hook'",
        "give permissionDecisionReason",
      ),
    ];
  }
  return [];
}

/** A new input replaces the whole old one, a new output must be of the old one's kind. */
function replaced({ updatedInput, updatedToolOutput: output }: Json, given: Json, event: string): Violation[] {
  if (typeof updatedInput === "object" && updatedInput !== null && event === "PreToolUse") {
    const needed = REQUIRED[String(given.tool_name)] ?? [];
    const gone = needed.filter((key) => !Object.hasOwn(updatedInput, key));
    if (gone.length > 0) {
      return [
        fault(
          "updated-input",
          `Its updatedInput lacks '${gone[0]}': it replaces the whole input, and the call fails`,
          "give back all of tool_input with the change in it",
        ),
      ];
    }
  }
  const kind = (value: unknown) => Array.isArray(value) ? "list" : value === null ? "null" : typeof value;
  if (output !== undefined && given.tool_response !== undefined && kind(output) !== kind(given.tool_response)) {
    return [
      fault(
        "tool-output",
        `Its updatedToolOutput is a ${kind(output)}, and ${given.tool_name} gives a ${
          kind(given.tool_response)
        }: it is ignored`,
        "change the tool_response it was given, and give that back",
      ),
    ];
  }
  return [];
}

function codexOnly(json: Json, inside: Json | undefined, event: string): Violation[] {
  if (event === "PreToolUse" && inside?.permissionDecision === "allow" && inside.updatedInput === undefined) {
    return [
      fault(
        "value",
        "Its permissionDecision 'allow' without updatedInput is a failure to codex",
        "print nothing to let the call through",
      ),
    ];
  }
  if (event === "PreToolUse" && (json.continue === false || json.suppressOutput !== undefined)) {
    return [
      fault(
        "no-effect",
        "codex takes neither 'continue' nor 'suppressOutput' at PreToolUse",
        "deny with a reason instead",
      ),
    ];
  }
  return [];
}
