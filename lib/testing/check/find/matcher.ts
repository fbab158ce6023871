import { EVENTS } from "../../../core/events.ts";
import { compileMatcher } from "../../../core/match.ts";
import { nearest, resolveEvent } from "../../../core/names.ts";
import type { Host } from "../../../hooks/serving/from-host.ts";
import { type Violation, violationsOf } from "../laws/judged.ts";

const { fault, warning } = violationsOf("lawful");

/** Tools of Claude Code, as their names are written. */
export const TOOLS = [
  ...["Bash", "BashOutput", "KillShell", "Read", "Write", "Edit", "MultiEdit", "NotebookEdit", "Glob", "Grep", "Task"],
  ...["Agent", "WebFetch", "WebSearch", "TodoWrite", "ExitPlanMode", "EnterPlanMode", "AskUserQuestion", "Skill"],
  ...["TaskCreate", "TaskUpdate", "TaskList", "TaskGet", "LS"],
];

/** How a session starts: what a matcher of SessionStart is held against. */
export const SOURCES = ["startup", "resume", "clear", "compact", "fork"];

/** What is wrong with a matcher that compiles: it names a tool in another spelling, or stands where none is read. */
export function matcherMistake(event: string, matcher: string, host: Host): readonly Violation[] {
  if (host !== "claude") return [];
  const on = resolveEvent(event);
  if (!on) return [];
  const field = EVENTS[on.event].match;
  if (field === null || on.event === "stop" && on.scope === "root") {
    const message = `Its matcher '${matcher}' is not read: ${event} has nothing to match`;
    return [warning("matcher-ignored", message, "leave the matcher out, and decide in the hook")];
  }
  if (on.event === "session-start" && !SOURCES.some(compileMatcher(matcher))) {
    const why = `a session starts by ${SOURCES.join(", ")}`;
    return [neverMatches(matcher, why, "write one of these, or leave the matcher out")];
  }
  if (field !== "tool_name") return [];
  if (!/^[\w\- ,|]+$/.test(matcher)) return ruleMistake(matcher);
  const names = matcher.split(/[|,]/).map((part) => part.trim());
  return names.flatMap((name) => nameMistake(name, event) ?? []).slice(0, 1);
}

/** A rule of permissions where an expression for names is read. */
function ruleMistake(matcher: string): readonly Violation[] {
  const tool = /^(\w+)\(.*\)$/.exec(matcher)?.[1];
  if (tool === undefined || !TOOLS.includes(tool) || compileMatcher(matcher)(tool)) return [];
  const mend = `match ${tool}, and look at its input in the hook, or in settings by "if"`;
  return [neverMatches(matcher, "it is a rule of permissions, and here names of tools are matched", mend)];
}

export function neverMatches(matcher: string, why: string, mend: string): Violation {
  return fault("matcher", `Its matcher '${matcher}' never matches: ${why}`, mend);
}

/** What is wrong with one name where a tool's is expected. */
function nameMistake(name: string, event: string): Violation | undefined {
  const meant = TOOLS.find((tool) => tool.toLowerCase() === name.toLowerCase());
  if (meant === name) return undefined;
  if (meant !== undefined) {
    return neverMatches(name, `names are compared exactly, and the tool is called ${meant}`, `write ${meant}`);
  }
  if (/^mcp__[^_]+(?:__)?$/.test(name)) {
    const mend = `write ${name.replace(/_*$/, "")}__.*`;
    return neverMatches(name, "the tools of a server are called mcp__<server>__<tool>", mend);
  }
  if (name !== "Notification" && resolveEvent(name)) {
    const mend = `put the hook under "${name}", or name the tools it is for`;
    return neverMatches(name, `it is an event, and ${event} is matched with names of tools`, mend);
  }
  const near = nearest(name, TOOLS)!;
  if (name.startsWith("mcp__") || name.length <= 3 || !oneOff(name, near)) return undefined;
  return warning(
    "matcher-unknown",
    `Its matcher names '${name}', which is no tool of the host`,
    `did you mean ${near}?`,
  );
}

/** Whether one letter more, less or another makes them the same. */
function oneOff(a: string, b: string): boolean {
  const [short, long] = a.length < b.length ? [a, b] : [b, a];
  if (long.length - short.length > 1) return false;
  let i = 0;
  while (i < short.length && short[i] === long[i]) i++;
  return short.slice(i) === long.slice(i + 1) || short.slice(i + 1) === long.slice(i + 1);
}
