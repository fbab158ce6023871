import { type AnyEvent, type EventName, EVENTS } from "../../core/events.ts";
import { isObject } from "../../core/json.ts";

type Fields = { readonly [key: string]: unknown };

/** Other names of a subject: the same as in the event's projection. */
const SPELLINGS: { readonly [subject: string]: readonly string[] } = {
  input: ["args", "input", "tool_input"],
  result: ["result", "tool_response"],
};

/**
 * How `modify` sets one field of an event: the function gives the changed subject and leaves the event alone.
 * A text in place of the function says why it cannot be set there.
 */
export function subjectSetter(
  event: EventName,
  field: string,
  value: unknown,
): ((event: AnyEvent) => unknown) | string {
  const subject = EVENTS[event].subject;
  if (subject === null) return `nothing can be modified on ${event}`;
  const roots = SPELLINGS[subject] ?? [subject];
  const [root, ...rest] = field.split(".") as [string, ...string[]];
  if (!roots.includes(root)) {
    return `'${field}' is not inside what ${event} can modify: expected ${example(event, roots[0]!)}`;
  }
  const whole = rest.length === 0;
  const expected = (what: string) => `'${field}' is ${what} and cannot be set to ${JSON.stringify(value)}`;
  switch (subject) {
    case "input":
      if (whole && !isObject(value)) return expected("the tool's whole input, an object,");
      return (fired) => put((fired as unknown as Fields).input, rest, value);
    case "result":
      if (whole && !isResult(value)) return expected("a result, a text or an object with 'content',");
      return (fired) => whole ? structuredClone(value) : { response: put(responseOf(fired), rest, value) };
    case "turn":
    case "request":
      if (rest.length !== 1 || !(rest[0] === "system" || (rest[0] === "append" && subject === "request"))) {
        return `'${field}' cannot be set by a rule: expected ${example(event, roots[0]!)}`;
      }
      if (typeof value !== "string") return expected("a text");
      return () => ({ [rest[0]!]: value });
    case "retry":
      if (!whole || typeof value !== "boolean") return expected("true or false");
      return () => value;
    default:
      if (!whole || typeof value !== "string") return expected("a text");
      return () => value;
  }
}

function example(event: EventName, root: string): string {
  return EVENTS[event].subject === "turn" || EVENTS[event].subject === "request"
    ? `${root}.system`
    : EVENTS[event].subject === "input" || EVENTS[event].subject === "result"
    ? `${root} or a field of it, such as ${root}.name`
    : root;
}

/** A copy with one field set; what cannot hold the field gives way to an object that can. */
function put(given: unknown, path: readonly string[], value: unknown): unknown {
  const [key, ...rest] = path;
  if (key === undefined) return structuredClone(value);
  if (Array.isArray(given) && /^\d+$/.test(key) && Number(key) <= given.length) {
    const copy = [...given];
    copy[Number(key)] = put(copy[Number(key)], rest, value);
    return copy;
  }
  const copy: { [key: string]: unknown } = isObject(given) ? { ...given } : {};
  copy[key] = put(Object.hasOwn(copy, key) ? copy[key] : undefined, rest, value);
  return copy;
}

function responseOf(event: AnyEvent): unknown {
  return event.event === "post-tool-use" ? event.result?.response : undefined;
}

function isResult(value: unknown): boolean {
  return typeof value === "string" || value === null ||
    (isObject(value) && ("content" in value || "response" in value));
}
