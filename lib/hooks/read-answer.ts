import { type EventName, EVENTS } from "../core/events.ts";
import { isObject, type JsonObject, parsed } from "../core/json.ts";
import { pascal } from "../core/names.ts";
import { expectObject, fromAction, NO_OPINION, type Opinion, unusable } from "../core/verdict.ts";

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
  const { subject } = EVENTS[event];
  if (subject === null) throw unusable(event, `nothing can be modified on ${pascal(event)}`);
  return namesOf(subject).find((key) => key in data);
}

/** What rules and answers may call the field that `modify` replaces: the same as in the event's projection. */
export function namesOf(subject: string): readonly string[] {
  if (subject === "input") return ["args", "input", "tool_input"];
  return subject === "result" ? ["result", "tool_response"] : [subject];
}

/** More characters than an answer has; what looks through text must end soon whatever the text is. */
const MOST_STEPS = 5_000_000;

/** The JSON objects of a text that `wanted` accepts, in order, alone, in fences or among words; none of those inside one. */
export function jsonInText(text: string, wanted: (object: JsonObject) => boolean): JsonObject[] {
  const found: JsonObject[] = [];
  let steps = 0;
  for (let start = text.indexOf("{"); start >= 0 && steps < MOST_STEPS;) {
    const end = closing(text, start);
    steps += (end ?? text.length) - start;
    const object = end === undefined ? undefined : parsed(text.slice(start, end));
    const taken = isObject(object) && wanted(object);
    if (taken) found.push(object);
    start = text.indexOf("{", taken ? end : start + 1);
  }
  return found;
}

/** The index after the bracket of JSON that closes the one at `start`; brackets in strings do not count. */
export function closing(text: string, start: number): number | undefined {
  let depth = 0;
  let quoted = false;
  for (let i = start; i < text.length; i++) {
    const c = text[i];
    if (quoted) {
      if (c === "\\") i++;
      else if (c === '"') quoted = false;
    } else if (c === '"') quoted = true;
    else if (c === "{" || c === "[") depth++;
    else if ((c === "}" || c === "]") && --depth === 0) return i + 1;
  }
  return undefined;
}
