import { EVENTS } from "../../core/events.ts";
import { compileMatcher } from "../../hooks/hook-matcher.ts";
import { resolveEvent } from "../../core/names.ts";
import { HOSTS } from "../../hooks/hosts/index.ts";
import { HOST_TOOLS as TOOLS, type Misnamed, nearTool } from "../../hooks/known-names.ts";
import { violationsOf } from "./laws/judged.ts";
import { isHostTool, isProjectTool } from "./project-tools.ts";
import type { Violation } from "./check-report.ts";
import type { Subject } from "./subject.ts";

const { fault, warning } = violationsOf("protocol", "protocol");

/** What a matcher of SessionStart is compared with. */
export const SOURCES = ["startup", "resume", "clear", "compact", "fork"];

/** What is wrong with a matcher: it cannot be read, it misspells a tool, or its event has nothing to match. */
export function matcherMistake(
  event: string,
  matcher: string | undefined,
  { host, project }: Pick<Subject, "host" | "project">,
): readonly Violation[] {
  if (matcher === undefined) return [];
  try {
    compileMatcher(matcher);
  } catch (error) {
    return [neverMatches(matcher, (error as Error).message, MATCHER_FIX)];
  }
  if (!HOSTS[host].settings.isOurs) return [];
  return mistakesOf(event, matcher, project).map((found) => ({ ...found, event }));
}

export const MATCHER_FIX = "write names with | between them, or a regular expression";

function mistakesOf(event: string, matcher: string, project: string): readonly Violation[] {
  const on = resolveEvent(event);
  if (!on) return [];
  const field = EVENTS[on.event].match;
  if (field === null || on.event === "stop" && on.scope === "root") {
    const message = `Its matcher '${matcher}' is ignored: ${event} has nothing to match`;
    return [warning("matcher-ignored", message, "leave the matcher out, and decide in the hook")];
  }
  if (on.event === "session-start" && !SOURCES.some(compileMatcher(matcher))) {
    const why = `a run starts by ${SOURCES.join(", ")}`;
    return [neverMatches(matcher, why, "write one of these, or leave the matcher out")];
  }
  if (field !== "tool_name") return [];
  if (!/^[\w\- ,|]+$/.test(matcher)) return ruleMistake(matcher);
  const names = matcher.split(/[|,]/).map((part) => part.trim());
  return names.flatMap((name) => nameMistake(name, event, project) ?? []).slice(0, 1);
}

function ruleMistake(matcher: string): readonly Violation[] {
  const tool = /^(\w+)\(.*\)$/.exec(matcher)?.[1];
  if (tool === undefined || !TOOLS.includes(tool) || compileMatcher(matcher)(tool)) return [];
  const fix = `match ${tool}, and look at its input in the hook, or in settings by "if"`;
  return [neverMatches(matcher, "it is a permission rule, and a matcher is compared with names of tools", fix)];
}

export function unknownName(
  { name, of, message }: Misnamed,
  event: string | undefined,
  project: string,
): Violation | undefined {
  if (of === "tool" && isProjectTool(name, project)) return undefined;
  const as = of === "tool" && !isHostTool(name) ? fault : warning;
  return { ...as("unknown-name", message, "correct the name"), declared: name, ...(event !== undefined && { event }) };
}

export function neverMatches(matcher: string, why: string, fix: string): Violation {
  return {
    ...fault("matcher-never-matches", `Its matcher '${matcher}' never matches: ${why}`, fix),
    declared: matcher,
  };
}

function nameMistake(name: string, event: string, project: string): Violation | undefined {
  const meant = TOOLS.find((tool) => tool.toLowerCase() === name.toLowerCase());
  if (meant === name) return undefined;
  if (meant !== undefined) {
    return neverMatches(name, `names are compared exactly, and the tool is called ${meant}`, `write ${meant}`);
  }
  if (/^mcp__[^_]+(?:__)?$/.test(name)) {
    const fix = `write ${name.replace(/_*$/, "")}__.*`;
    return neverMatches(name, "the tools of a server are called mcp__<server>__<tool>", fix);
  }
  if (name !== "Notification" && resolveEvent(name)) {
    const fix = `put the hook under "${name}", or name the tools it is for`;
    return neverMatches(name, `it is an event, and ${event} is matched with names of tools`, fix);
  }
  const near = nearTool(name);
  if (near === undefined || isProjectTool(name, project)) return undefined;
  const message = `Its matcher names '${name}', which is not a tool`;
  return { ...fault("unknown-tool", message, `did you mean ${near}?`), declared: name };
}
