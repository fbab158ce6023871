import { type EventName, EVENTS } from "../../core/events.ts";
import { compileMatcher } from "../match.ts";
import { runaway } from "../../regex/runaway.ts";

/**
 * The matcher of a file: as in code, but one that could search for ever is refused when it is loaded.
 *
 * @throws {TypeError} that says why it cannot be used
 */
export function matcherOf(pattern: string | undefined): (value: string) => boolean {
  const test = compileMatcher(pattern);
  if (pattern === undefined || !/[*+{]/.test(pattern) || pattern === "*") return test;
  const why = runaway(new RegExp(pattern));
  if (why !== undefined) throw new TypeError(`Cannot use matcher '${pattern}' as ${why}`);
  return test;
}

/** Whether an event is matched with the name of a tool. */
export function isAboutTool(event: EventName): boolean {
  const { match } = EVENTS[event];
  return match === "tool_name" || match === "tool";
}

/** The names a matcher lists; none if it is a regular expression. */
export function listedNames(pattern: string | undefined): string[] {
  if (pattern === undefined || !/^[\w\-, |]+$/.test(pattern)) return [];
  return pattern.split(/[|,]/).map((name) => name.trim()).filter((name) => name !== "");
}
