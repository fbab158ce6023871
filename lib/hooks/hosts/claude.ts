import type { AnyEvent, EventOf } from "../../core/events.ts";
import type { Folded } from "../../core/fold.ts";
import { named, NOTEBOOK } from "./channel.ts";
import type { Host } from "./host.ts";
import { alsoIn } from "./keys.ts";

export const CONTEXT = ["additionalContext"];
export const PERMISSION = ["permissionDecision", "permissionDecisionReason"];

/** The keys at the top of an answer that all hosts know. */
export const TOP = [
  ...["continue", "stopReason", "suppressOutput", "systemMessage", "decision", "reason", "hookSpecificOutput"],
];

type Decided = ReturnType<Host["decided"]>;

export function claudeDecision(folded: Folded, event: AnyEvent, { interrupts = false } = {}): Decided {
  const { decision, reason } = folded;
  const value = folded.modified ? folded.value : undefined;
  const top = decision === "deny" ? { decision: "block", reason } : {};
  switch (event.event) {
    case "pre-tool-use":
    case "model-switch":
      return {
        specific: {
          ...(decision !== "continue" && { permissionDecision: decision }),
          ...(decision !== "continue" && reason !== undefined && { permissionDecisionReason: reason }),
          ...(value !== undefined && { updatedInput: value }),
        },
      };
    case "permission-request": {
      if (decision === "deny") {
        const interrupt = interrupts && (folded.abort ?? folded.halt) !== undefined;
        const specific = { decision: { behavior: "deny", message: reason, ...(interrupt && { interrupt }) } };
        return { specific, ends: interrupt };
      }
      const updated = value !== undefined && { updatedInput: value };
      return decision === "allow" ? { specific: { decision: { behavior: "allow", ...updated } } } : {};
    }
    case "post-tool-use":
      return value === undefined || value === null
        ? { top }
        : { top, specific: { updatedToolOutput: claudeResult(value, event) } };
    case "message-display":
      return value === undefined ? {} : { specific: { displayContent: value } };
    default:
      return { top };
  }
}

/** A new result in the form the tool's results have. */
export function claudeResult(value: unknown, event: EventOf<"post-tool-use">): unknown {
  const given = typeof value === "object" && value !== null ? value as { response?: unknown } : {};
  if (given.response !== undefined) return given.response;
  if (typeof value !== "string") return undefined;
  const { response } = event.result;
  if (typeof response === "string") return value;
  const shell = typeof response === "object" && response !== null && "stdout" in response;
  return shell ? { ...response, stdout: value, stderr: "" } : undefined;
}

/** What Claude Code and hosts like it ask of commands. */
export const commands: NonNullable<Host["commands"]> = {
  written: (event) => event,
  timeout: (event) => event === "SessionEnd" ? 1.5 : event === "UserPromptSubmit" ? 30 : 600,
  top: [...TOP, "terminalSequence", "async", "asyncTimeout"],
  decisions: ["approve", "block"],
  permissions: ["allow", "deny", "ask", "defer"],
  newInput: "updatedInput",
  namesEvent: true,
};

/** The lists of hosts like it. */
export const LISTS = { at: "hooks", absent: (systemMessage: string): object => ({ systemMessage }) };

/** Its tools that ours are made after. */
const SAME = Object.fromEntries(
  ["Bash", "Edit", "Write", "Read", "Glob", "Grep", "Agent", "WebFetch", "WebSearch"].map((tool) => [tool, tool]),
);

export const claude: Host = {
  name: "claude",
  title: "Claude Code",
  events: {
    SessionStart: {
      ours: ["session-start"],
      can: ["context"],
      output: [...CONTEXT, "initialUserMessage", "sessionTitle", "watchPaths", "reloadSkills"],
    },
    SessionEnd: { ours: ["session-end"], can: ["halt"], output: [] },
    UserPromptSubmit: {
      ours: ["user-prompt-submit"],
      can: ["deny", "context", "halt"],
      output: [...CONTEXT, "sessionTitle", "suppressOriginalPrompt"],
      blocks: true,
    },
    SubagentStart: { ours: ["subagent-start", "agent-start"], can: ["context"], output: CONTEXT },
    PreToolUse: {
      ours: ["pre-tool-use"],
      can: ["deny", "ask", "allow", "modify", "context", "halt"],
      output: [...PERMISSION, "updatedInput", ...CONTEXT],
      blocks: true,
    },
    PermissionRequest: { ours: ["permission-request"], can: ["deny", "allow", "modify", "halt"], output: ["decision"] },
    PostToolUse: {
      ours: ["post-tool-use"],
      can: ["deny", "modify", "context", "halt"],
      output: [...CONTEXT, "updatedToolOutput", "updatedMCPToolOutput", "classifierContext"],
      blocks: true,
    },
    PostToolUseFailure: { ours: ["post-tool-use-failure"], output: CONTEXT, blocks: true },
    PostToolBatch: { ours: ["post-tool-batch"], can: ["deny", "context", "halt"], output: CONTEXT, blocks: true },
    PermissionDenied: { ours: ["permission-denied", "tool-denied"], can: [], output: ["retry"] },
    Stop: { ours: ["stop"], can: ["deny", "halt"], output: CONTEXT, blocks: true },
    SubagentStop: { ours: ["subagent-stop"], output: CONTEXT, blocks: true },
    StopFailure: { ours: ["stop-failure"], can: [], output: [] },
    PreCompact: { ours: ["pre-compact"], can: ["deny", "halt"], output: [], blocks: true },
    PostCompact: { ours: ["post-compact"], can: [], output: [] },
    PreModelSwitch: {
      ours: ["pre-model-switch", "model-switch"],
      can: ["deny", "ask", "allow"],
      output: PERMISSION,
      blocks: true,
    },
    PostModelSwitch: { ours: ["post-model-switch"], can: ["context"], output: CONTEXT },
    CwdChanged: { ours: ["cwd-changed"], can: [], output: ["watchPaths"] },
    InstructionsLoaded: { ours: ["instructions-loaded"], can: [], output: [] },
    Notification: { ours: ["notification"], can: ["context", "halt"], output: CONTEXT },
    Setup: { ours: ["setup"], can: ["context"], output: CONTEXT },
    UserPromptExpansion: {
      ours: ["user-prompt-expansion"],
      can: ["deny", "context", "halt"],
      output: [...CONTEXT, "suppressOriginalPrompt"],
      blocks: true,
    },
    MessageDisplay: { ours: ["message-display"], can: ["modify"], output: ["displayContent"] },
    TeammateIdle: { ours: ["teammate-idle"], can: ["deny", "halt"], refusesBy: 2 },
    TaskCreated: { ours: ["task-created"], can: ["deny"], blocks: true },
    TaskCompleted: { ours: ["task-completed"], can: ["deny", "halt"], refusesBy: 2 },
    Elicitation: { ours: ["elicitation"], can: ["deny"], output: ["action", "content"], refusesBy: 2 },
    ElicitationResult: { ours: ["elicitation-result"], can: ["deny"], output: ["action", "content"], refusesBy: 2 },
    ConfigChange: { ours: ["config-change"], can: ["deny"], blocks: true },
    FileChanged: { ours: ["file-changed"], can: [], output: ["watchPaths"] },
    DirectoryAdded: { ours: ["directory-added"], can: [] },
    WorktreeCreate: {
      ours: ["worktree-create"],
      can: ["deny", "modify"],
      output: ["worktreePath"],
      refusesBy: 2,
      prints: true,
    },
    WorktreeRemove: { ours: ["worktree-remove"], can: [] },
  },
  tried: { version: "2.1.325", unseen: ["TeammateIdle", "DirectoryAdded"] },
  channels: { ...named(SAME), NotebookEdit: NOTEBOOK },
  unseen: {
    "a skill": "a command that it runs as it is read (!`…`)",
    "a slash command": "a command that it runs as it is read (!`…`)",
  },
  likeClaude: true,
  settings: {
    files: [".claude/settings.json", ".claude/settings.local.json"],
    local: ".claude/settings.local.json",
    plugins: ".claude/skills",
    isOurs: true,
    lists: {
      ...LISTS,
      project: { root: "$CLAUDE_PROJECT_DIR", worktreeOf: "${CLAUDE_PROJECT_DIR%/.claude/worktrees/*}" },
    },
    second: 1,
    async: true,
    onFailure: true,
    toolMatcher: (tools) => alsoIn(claude.channels, tools).join("|"),
    patternMatcher: (pattern) => pattern,
  },
  answers: { asClaude: true },
  decided: (folded, event) => claudeDecision(folded, event, { interrupts: true }),
  newResult: claudeResult,
  commands: { ...commands, resolvesPaths: true, dropsFile: true },
};
