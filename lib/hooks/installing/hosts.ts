import { join } from "node:path";
import { pascal } from "../../core/names.ts";
import { GEMINI_EVENTS, GEMINI_TOOLS, type Host } from "../serving/from-host.ts";

/** How another host is told of a hook. */
export interface HostSettings {
  /** The file, below the project or below home. */
  readonly file: string;
  /** The host's name of a moment, or undefined where it has none. */
  readonly eventOf: (event: string) => string | undefined;
  /** The host's names of tools, as one matcher; undefined where the hook itself has to look. */
  readonly toolsOf: (tools: readonly string[]) => string | undefined;
  /** A matcher that is no list of tools, as far as it is read there as here; undefined where the hook has to look. */
  readonly patternOf: (pattern: string) => string | undefined;
  /** What a second is there. */
  readonly second: number;
  readonly canAsync: boolean;
  /** Whether it can be told to take a hook that failed for one that refused. */
  readonly canBlock: boolean;
}

const CLAUDE_EVENTS = new Set([
  "SessionStart",
  "SessionEnd",
  "UserPromptSubmit",
  "SubagentStart",
  "PreToolUse",
  "PermissionRequest",
  "PostToolUse",
  "PostToolUseFailure",
  "Stop",
  "SubagentStop",
  "PreCompact",
  "PreModelSwitch",
  "Notification",
]);

/** Of those, what Codex does not have, or does not tell apart. */
const NOT_IN_CODEX = new Set(["PostToolUseFailure", "PreModelSwitch", "Notification"]);

/** Our names of moments that the host knows by another. */
const RENAMED: { readonly [event: string]: string } = {
  "agent-start": "SubagentStart",
  "model-switch": "PreModelSwitch",
};

/** Gemini's names of moments by ours. */
const IN_GEMINI: { readonly [event: string]: string } = {
  "session-start": "SessionStart",
  "session-end": "SessionEnd",
  "notification": "Notification",
  ...Object.fromEntries(Object.entries(GEMINI_EVENTS).map(([theirs, ours]) => [ours, theirs])),
  "post-tool-use-failure": "AfterTool",
};

function claudeEvent(event: string): string | undefined {
  const name = RENAMED[event] ?? pascal(event);
  return CLAUDE_EVENTS.has(name) ? name : undefined;
}

/** Codex reads an expression in another language, and runs no hook whose expression is none in that. */
const SHARED_WITH_CODEX = /^(?:[\w|.^$*+?()-]|\[\^?[\w-]+\])+$/;

const asNamed = (tools: readonly string[]) => tools.join("|");

function geminiTools(tools: readonly string[]): string | undefined {
  // How those of servers are called there has changed from version to version.
  if (tools.some((tool) => tool.startsWith("mcp__"))) return undefined;
  const theirs = tools.flatMap((tool) => {
    const names = Object.keys(GEMINI_TOOLS).filter((name) => GEMINI_TOOLS[name] === tool);
    return names.length > 0 ? names : [tool];
  });
  return `^(${theirs.join("|")})$`;
}

export const HOST_SETTINGS: { readonly [H in Host]: HostSettings } = {
  claude: {
    file: join(".claude", "settings.json"),
    eventOf: claudeEvent,
    toolsOf: asNamed,
    patternOf: (pattern) => pattern,
    second: 1,
    canAsync: true,
    canBlock: true,
  },
  codex: {
    file: join(".codex", "hooks.json"),
    eventOf: (event) => {
      const name = claudeEvent(event);
      return name === undefined || NOT_IN_CODEX.has(name) ? undefined : name;
    },
    toolsOf: asNamed,
    patternOf: (pattern) => SHARED_WITH_CODEX.test(pattern) && !/\(\?|^\*$/.test(pattern) ? pattern : undefined,
    second: 1,
    canAsync: true,
    canBlock: false,
  },
  gemini: {
    file: join(".gemini", "settings.json"),
    eventOf: (event) => IN_GEMINI[event],
    toolsOf: geminiTools,
    patternOf: () => undefined,
    second: 1000,
    canAsync: false,
    canBlock: false,
  },
};
