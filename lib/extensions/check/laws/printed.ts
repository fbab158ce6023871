import type { AnyEvent } from "../../../core/events.ts";
import { isObject, type JsonObject, parsed } from "../../../core/json.ts";
import { ownEvent } from "../../../core/names.ts";
import type { Opinion } from "../../../core/verdict.ts";
import { type HostName, HOSTS } from "../../../hooks/hosts/index.ts";
import { closing } from "../../../hooks/read-answer.ts";
import { ourEvents } from "../../../hooks/hosts/read-event.ts";
import { readCommand, readLate } from "../../../hooks/process/read-result.ts";
import type { RanCommand, Subject } from "../subject.ts";
import { TELLING } from "./answer-shape.ts";
import { canBlock } from "./judged.ts";
export type Printed =
  | { readonly form: "nothing" | "words" }
  | { readonly form: "answer"; readonly json: JsonObject }
  /** An answer with text before or after it: the host reads it as plain text, or not at all. */
  | { readonly form: "surrounded"; readonly json: JsonObject; readonly where: "before" | "after" }
  /** It looks like an answer and is not JSON. */
  | { readonly form: "broken" }
  /** A piece of the event: its author decides what it says. */
  | { readonly form: "echo" };

/** Reads output as hosts do, and sees what they ignore. */
export function readPrinted(text: string, event: JsonObject): Printed {
  const said = text.replace(/^\uFEFF/, "").trim();
  if (said === "") return { form: "nothing" };
  const whole = parsedObject(said);
  // Many files hold `{}`, which says nothing.
  if (whole) return said.length > 2 && isPiece(said, event) ? { form: "echo" } : { form: "answer", json: whole };
  if (said.startsWith("{")) {
    const first = leading(said);
    if (first && isPiece(said, event)) return { form: "echo" };
    // `{"async":true}` on the first line, the answer on the next.
    const rest = first && parsedObject(said.slice(first.text.length).trim());
    if (first?.json.async === true && rest) return { form: "answer", json: rest };
    if (first && isTelling(first.json)) return { form: "surrounded", json: first.json, where: "after" };
    // The same two signs by which a run takes it for an answer that is damaged.
    const isMeant = /^\{\s*["}]/.test(said) || said.endsWith("}");
    return isMeant && !isPiece(said, event) ? { form: "broken" } : { form: "words" };
  }
  // Where objects could begin; only a few are tried.
  for (const { index } of [...said.matchAll(/\{/g)].slice(0, 8)) {
    const found = leading(said.slice(index));
    if (found && isTelling(found.json) && !isPiece(found.text, event)) {
      return { form: "surrounded", json: found.json, where: "before" };
    }
  }
  return { form: "words" };
}

export function isTelling(json: JsonObject): boolean {
  return TELLING.some((key) => Object.hasOwn(json, key));
}

export function parsedObject(text: string): JsonObject | undefined {
  if (!text.startsWith("{") || !text.endsWith("}")) return undefined;
  const value = parsed(text);
  return isObject(value) ? value : undefined;
}

function leading(text: string): { readonly text: string; readonly json: JsonObject } | undefined {
  const found = text.slice(0, closing(text.slice(0, 100_000), 0) ?? 0);
  const json = parsedObject(found);
  return json && { text: found, json };
}

function isPiece(text: string, event: unknown): boolean {
  if (typeof event === "string") return event.includes(text);
  if (typeof event !== "object" || event === null) return false;
  return Object.values(event).some((value) => isPiece(text, value));
}

/** What a host makes of how a command ended; why, if that is not an answer. */
export function opinionOf(
  ran: RanCommand,
  event: JsonObject,
  { host, servedTo }: Subject,
): Omit<Opinion, "later"> | Error {
  if (servedTo === undefined && !HOSTS[host].likeClaude) return asOther(ran, event, host);
  const asked = ourEvent(event, host);
  const name = String(event.hook_event_name);
  try {
    return asked ? readLate(ran, asked, name) ?? readCommand(ran, asked, name).opinion : {};
  } catch (error) {
    return error as Error;
  }
}

/** An event of a host as ours, a call as it is; undefined if we have no such event. */
export function ourEvent(event: JsonObject, host: HostName): AnyEvent | undefined {
  const heard = ourEvents(event, HOSTS[host], ownEvent).at(-1);
  const { fired, toolNames: _, wireName: __, from: ___, isOwn: ____, ...ids } = heard ?? {};
  return fired && { ...fired, ...ids, event_id: "check:0", timestamp: "" } as unknown as AnyEvent;
}

function asOther({ code, stdout, stderr }: RanCommand, event: JsonObject, host: HostName): Opinion {
  const name = String(event.hook_event_name);
  if (code === 2) return canBlock(name) ? { decision: "deny", reason: stderr } : {};
  const printed = readPrinted(stdout, event);
  if (printed.form !== "answer") return {};
  const { decision, reason, hookSpecificOutput, continue: goOn, stopReason } = printed.json;
  const inside = (hookSpecificOutput ?? {}) as JsonObject;
  const text = (value: unknown) => typeof value === "string" ? value : "";
  const input = inside[HOSTS[host].commands!.newInput];
  const denied = decision === "block" || decision === "deny" || inside.permissionDecision === "deny";
  return {
    ...(denied && { decision: "deny" as const, reason: text(reason) || text(inside.permissionDecisionReason) }),
    ...(typeof inside.additionalContext === "string" && { contexts: [{ text: inside.additionalContext }] }),
    ...(input !== undefined && { value: { to: input } }),
    ...(goOn === false && { halt: text(stopReason) }),
  };
}
