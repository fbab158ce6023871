import type { Host } from "../../../hooks/serving/from-host.ts";

/** What an answer to one event may hold inside `hookSpecificOutput`, beside `hookEventName`. */
type Specific = { readonly [event: string]: readonly string[] };

interface Shape {
  readonly top: readonly string[];
  readonly specific: Specific;
  /** What `decision` may be. */
  readonly decisions: readonly string[];
  /** What `permissionDecision` may be. */
  readonly permissions: readonly string[];
  /** Whether a key it does not know makes the host drop the whole answer. */
  readonly strict: boolean;
  readonly namesEvent: boolean;
}

const CONTEXT = ["additionalContext"];
const PERMISSION = ["permissionDecision", "permissionDecisionReason"];

const CLAUDE: Specific = {
  PreToolUse: [...PERMISSION, "updatedInput", ...CONTEXT],
  PostToolUse: [...CONTEXT, "updatedToolOutput", "updatedMCPToolOutput", "classifierContext"],
  PostToolUseFailure: CONTEXT,
  PostToolBatch: CONTEXT,
  PermissionRequest: ["decision"],
  PermissionDenied: ["retry"],
  UserPromptSubmit: [...CONTEXT, "sessionTitle", "suppressOriginalPrompt"],
  UserPromptExpansion: [...CONTEXT, "suppressOriginalPrompt"],
  SessionStart: [...CONTEXT, "initialUserMessage", "sessionTitle", "watchPaths", "reloadSkills"],
  SessionEnd: [],
  Setup: CONTEXT,
  Stop: CONTEXT,
  SubagentStop: CONTEXT,
  SubagentStart: CONTEXT,
  PreCompact: [],
  PostCompact: [],
  PreModelSwitch: PERMISSION,
  PostModelSwitch: CONTEXT,
  Notification: CONTEXT,
  MessageDisplay: ["displayContent"],
  Elicitation: ["action", "content"],
  ElicitationResult: ["action", "content"],
  CwdChanged: ["watchPaths"],
  FileChanged: ["watchPaths"],
  WorktreeCreate: ["worktreePath"],
};

const CODEX: Specific = {
  PreToolUse: [...PERMISSION, "updatedInput", ...CONTEXT],
  PermissionRequest: ["decision"],
  PostToolUse: CONTEXT,
  UserPromptSubmit: CONTEXT,
  SessionStart: CONTEXT,
  SubagentStart: CONTEXT,
  Stop: [],
  SubagentStop: [],
  PreCompact: [],
  PostCompact: [],
  SessionEnd: [],
};

const GEMINI: Specific = {
  BeforeTool: ["tool_input"],
  AfterTool: [...CONTEXT, "tailToolCallRequest"],
  BeforeAgent: CONTEXT,
  AfterAgent: ["clearContext"],
  BeforeModel: ["llm_request", "llm_response"],
  BeforeToolSelection: ["toolConfig"],
  AfterModel: ["llm_response"],
  SessionStart: CONTEXT,
  SessionEnd: [],
  Notification: [],
  PreCompress: [],
};

const TOP = ["continue", "stopReason", "suppressOutput", "systemMessage", "decision", "reason", "hookSpecificOutput"];

/** What each host takes for an answer. */
export const SHAPES: { readonly [H in Host]: Shape } = {
  claude: {
    top: [...TOP, "terminalSequence", "async", "asyncTimeout"],
    specific: CLAUDE,
    decisions: ["approve", "block"],
    permissions: ["allow", "deny", "ask", "defer"],
    strict: false,
    namesEvent: true,
  },
  codex: {
    top: TOP,
    specific: CODEX,
    decisions: ["block"],
    permissions: ["allow", "deny"],
    strict: true,
    namesEvent: true,
  },
  gemini: {
    top: TOP,
    specific: GEMINI,
    decisions: ["allow", "deny", "block"],
    permissions: [],
    strict: false,
    namesEvent: false,
  },
};

/** The types of the keys that have one, wherever they stand. */
export const TYPES: { readonly [key: string]: "string" | "boolean" | "object" | "number" } = {
  continue: "boolean",
  stopReason: "string",
  suppressOutput: "boolean",
  systemMessage: "string",
  reason: "string",
  hookSpecificOutput: "object",
  hookEventName: "string",
  permissionDecision: "string",
  permissionDecisionReason: "string",
  updatedInput: "object",
  additionalContext: "string",
  sessionTitle: "string",
  initialUserMessage: "string",
};

/** What a call of a tool cannot be without. */
export const REQUIRED: { readonly [tool: string]: readonly string[] } = {
  Bash: ["command"],
  Read: ["file_path"],
  Write: ["file_path", "content"],
  Edit: ["file_path", "old_string", "new_string"],
  MultiEdit: ["file_path", "edits"],
  Glob: ["pattern"],
  Grep: ["pattern"],
  WebFetch: ["url"],
  WebSearch: ["query"],
};

/** Keys that say something in an answer: an object with one of them was meant as one. */
export const TELLING: readonly string[] = [
  ...["decision", "hookSpecificOutput", "continue", "permissionDecision", "additionalContext", "systemMessage"],
  ...["stopReason", "permission", "block", "updatedInput", "additional_context", "modified_data"],
];

/** Events at which `decision: "block"` does something. */
export const BLOCKABLE: { readonly [H in Host]: readonly string[] } = {
  claude: [
    ...["PreToolUse", "PostToolUse", "PostToolUseFailure", "PostToolBatch", "UserPromptSubmit", "UserPromptExpansion"],
    ...["Stop", "SubagentStop", "PreCompact", "ConfigChange", "TaskCreated", "PreModelSwitch"],
  ],
  codex: ["PreToolUse", "PostToolUse", "UserPromptSubmit", "Stop", "SubagentStop"],
  gemini: ["BeforeTool", "AfterTool", "BeforeAgent", "AfterAgent", "BeforeModel", "AfterModel"],
};
