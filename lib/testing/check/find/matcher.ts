import { EVENTS } from "../../../core/events.ts";
import { compileMatcher } from "../../../core/match.ts";
import { nearest, resolveEvent } from "../../../core/names.ts";
import type { Host } from "../../../hooks/serving/from-host.ts";
import type { Subject } from "../subject.ts";

/** Tools of Claude Code, as their names are written. */
export const TOOLS = [
  ...["Bash", "BashOutput", "KillShell", "Read", "Write", "Edit", "MultiEdit", "NotebookEdit", "Glob", "Grep", "Task"],
  ...["Agent", "WebFetch", "WebSearch", "TodoWrite", "ExitPlanMode", "EnterPlanMode", "AskUserQuestion", "Skill"],
  ...["TaskCreate", "TaskUpdate", "TaskList", "TaskGet", "LS"],
];

/** How a session starts: what a matcher of SessionStart is held against. */
export const SOURCES = ["startup", "resume", "clear", "compact", "fork"];

/** What is wrong with a matcher that compiles: it names a tool in another spelling, or stands where none is read. */
export function matcherMistake(event: string, matcher: string, host: Host): Subject["seen"] {
  if (host !== "claude") return [];
  const on = resolveEvent(event);
  if (!on) return [];
  const field = EVENTS[on.event].match;
  if (field === null || on.event === "stop" && on.scope === "root") {
    return [{
      law: "lawful",
      code: "lawful.matcher-ignored",
      severity: "warning",
      message: `Its matcher '${matcher}' is not read: ${event} has nothing to match`,
      mend: "leave the matcher out, and decide in the hook",
    }];
  }
  if (on.event === "session-start" && !SOURCES.some(compileMatcher(matcher))) {
    return [{
      law: "lawful",
      code: "lawful.matcher",
      severity: "fault",
      message: `Its matcher '${matcher}' never matches: a session starts by ${SOURCES.join(", ")}`,
      mend: "write one of these, or leave the matcher out",
    }];
  }
  if (field !== "tool_name" || !/^[\w\- ,|]+$/.test(matcher)) return [];
  for (const name of matcher.split(/[|,]/).map((part) => part.trim())) {
    const meant = TOOLS.find((tool) => tool.toLowerCase() === name.toLowerCase());
    if (meant !== undefined && meant !== name) {
      return [{
        law: "lawful",
        code: "lawful.matcher",
        severity: "fault",
        message: `Its matcher '${name}' never matches: names are compared exactly, and the tool is called ${meant}`,
        mend: `write ${meant}`,
      }];
    }
    if (/^mcp__[^_]+(?:__)?$/.test(name)) {
      return [{
        law: "lawful",
        code: "lawful.matcher",
        severity: "fault",
        message: `Its matcher '${name}' never matches: the tools of a server are called mcp__<server>__<tool>`,
        mend: `write ${name.replace(/_*$/, "")}__.*`,
      }];
    }
    if (name !== "Notification" && resolveEvent(name) && !TOOLS.includes(name)) {
      return [{
        law: "lawful",
        code: "lawful.matcher",
        severity: "fault",
        message: `Its matcher '${name}' never matches: it is an event, and ${event} is matched with names of tools`,
        mend: `put the hook under "${name}", or name the tools it is for`,
      }];
    }
    const near = nearest(name, TOOLS)!;
    if (meant === undefined && !name.startsWith("mcp__") && name.length > 3 && oneOff(name, near)) {
      return [{
        law: "lawful",
        code: "lawful.matcher-unknown",
        severity: "warning",
        message: `Its matcher names '${name}', which is no tool of the host`,
        mend: `did you mean ${near}?`,
      }];
    }
  }
  return [];
}

function oneOff(a: string, b: string): boolean {
  const [short, long] = a.length < b.length ? [a, b] : [b, a];
  if (long.length - short.length > 1) return false;
  let i = 0;
  while (i < short.length && short[i] === long[i]) i++;
  return short.slice(i) === long.slice(i + 1) || short.slice(i + 1) === long.slice(i + 1);
}
