import { type AnyEvent, EVENTS } from "../core/events.ts";
import type { HookRecord } from "../core/hook.ts";
import { TOOL_ALIASES } from "../input/tool-table.ts";

const EXACT = /^[A-Za-z0-9_\-, |]*$/;

/** Compiles a matcher (U12): nothing, `""` or `*` is everything; else a list of names, or an expression. @throws {TypeError} */
export function compileMatcher(pattern: string | undefined): (value: string) => boolean {
  if (matchesAll(pattern)) return () => true;
  if (EXACT.test(pattern)) {
    const names = new Set(pattern.split(/[|,]/).map((n) => n.trim()).filter((n) => n !== ""));
    for (const name of [...names]) if (TOOL_ALIASES[name] !== undefined) names.add(TOOL_ALIASES[name]);
    return (value) => names.has(value);
  }
  const search = compileRegex(pattern);
  return (value) => search.test(value);
}

function matchesAll(pattern: string | undefined): pattern is undefined | "" | "*" {
  return pattern === undefined || pattern === "" || pattern === "*";
}

/** Without flags: a search must remember nothing of the one before. */
function compileRegex(pattern: string): RegExp {
  try {
    return new RegExp(pattern);
  } catch (error) {
    throw new TypeError(
      `Cannot use matcher '${pattern}' as it is not a regular expression: ${(error as Error).message}`,
    );
  }
}

/** The text of an event its matcher is compared with, or undefined if a matcher means nothing. */
function matchedText(event: AnyEvent): string | undefined {
  const field = EVENTS[event.event].match;
  // Only sub-agents have a kind: there is one root.
  if (field === null || (field === "agent_type" && event.parent_agent_id === undefined)) return undefined;
  // Of a file its name counts, by which Claude Code watches it.
  if (event.event === "file-changed") return event.file_path.slice(event.file_path.lastIndexOf("/") + 1);
  const value = (event as unknown as Record<string, unknown>)[field];
  return typeof value === "string" ? value : "";
}

/** The matcher of one pattern as a reason why not. */
export function missing(pattern: string | undefined, test: (value: string) => boolean): HookRecord["misses"] {
  if (matchesAll(pattern)) return undefined;
  return (event) => {
    const value = matchedText(event);
    return value === undefined || test(value) ? undefined : `matcher '${pattern}' does not match '${value}'`;
  };
}
