import { claude, commands, CONTEXT, PERMISSION } from "./claude.ts";
import { gemini } from "./gemini.ts";
import type { Host } from "./host.ts";

const { local: _, patternMatcher: __, ...settings } = claude.settings;

/** Its events of Claude Code: the others are not in its own list. */
const SHARED = [
  ...["SessionStart", "SessionEnd", "UserPromptSubmit", "SubagentStart", "PermissionRequest", "PostToolUseFailure"],
  ...["PostToolBatch", "PermissionDenied", "Stop", "SubagentStop", "StopFailure", "PreCompact", "PostCompact"],
  ...["InstructionsLoaded", "Notification", "UserPromptExpansion"],
];

/** Qwen Code: most events of Claude Code with the tools of Gemini CLI. */
export const qwen: Host = {
  ...claude,
  name: "qwen",
  events: {
    ...Object.fromEntries(SHARED.map((name) => [name, claude.events[name]!])),
    PreToolUse: { ours: ["pre-tool-use"], can: ["deny", "ask", "allow"], output: PERMISSION, blocks: true },
    PostToolUse: { ...claude.events.PostToolUse!, can: ["deny", "context"], output: CONTEXT, blocks: false },
    MessageDisplay: { ours: ["message-display"], can: [] },
    TodoCreated: { ours: ["todo-created"], can: ["deny"], blocks: true },
    TodoCompleted: { ours: ["todo-completed"], can: ["deny"], blocks: true },
    SessionDelete: { ours: ["session-delete"], can: [] },
  },
  // SessionEnd: in three of three runs without a terminal it did not fire.
  tried: {
    version: "0.24.4",
    unseen: [
      ...["SessionEnd", "PermissionRequest", "PermissionDenied", "StopFailure", "PreCompact", "PostCompact"],
      ...["UserPromptExpansion", "TodoCreated", "TodoCompleted", "SessionDelete"],
    ],
  },
  tools: { ...gemini.tools, edit: "Edit", list_directory: "LS" },
  read: (input) => {
    // It asks prompt hooks again after each tool, without a prompt.
    if (input.hook_event_name === "UserPromptSubmit" && input.prompt === "") return undefined;
    const { displayed_text: delta, is_final: final, ...rest } = input;
    return delta === undefined ? input : { ...rest, delta, final };
  },
  settings: {
    ...settings,
    files: [".qwen/settings.json"],
    project: { root: "$CLAUDE_PROJECT_DIR" },
    second: 1000,
    onFailure: false,
    async: false,
    toolMatcher: gemini.settings.toolMatcher,
  },
  answers: { hidesResult: true },
  decided: (folded, event) => event.event === "post-tool-use" ? {} : claude.decided(folded, event),
  newResult: () => undefined,
  commands: {
    ...commands,
    written: (event) => {
      const tool = Object.keys(gemini.tools).find((name) => gemini.tools[name] === event.tool_name);
      return tool === undefined ? event : { ...event, tool_name: tool };
    },
  },
};
