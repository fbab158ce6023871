import { claude, commands, CONTEXT, PERMISSION } from "./claude.ts";
import { gemini } from "./gemini.ts";
import type { Host } from "./host.ts";

const { local: _, patternMatcher: __, ...settings } = claude.settings;

/** Its events of Claude Code: the others are not in its own list. */
const SHARED = [
  ...["SessionStart", "SessionEnd", "UserPromptSubmit", "SubagentStart", "PermissionRequest", "PostToolUseFailure"],
  ...["PostToolBatch", "PermissionDenied", "Stop", "SubagentStop", "StopFailure", "PreCompact", "PostCompact"],
  ...["InstructionsLoaded", "Notification", "UserPromptExpansion", "MessageDisplay"],
];

/** Qwen Code: most events of Claude Code with the tools of Gemini CLI. */
export const qwen: Host = {
  ...claude,
  name: "qwen",
  events: {
    ...Object.fromEntries(SHARED.map((name) => [name, claude.events[name]!])),
    PreToolUse: { ours: ["pre-tool-use"], can: ["deny", "ask", "allow"], output: PERMISSION, blocks: true },
    PostToolUse: { ...claude.events.PostToolUse!, can: ["deny", "context"], output: CONTEXT, blocks: false },
    TodoCreated: { blocks: true, exitBlocks: true },
    TodoCompleted: { blocks: true, exitBlocks: true },
    SessionDelete: {},
  },
  // SessionEnd: in three of three runs without a terminal it did not fire.
  tried: {
    package: "@qwen-code/qwen-code",
    version: "0.24.4",
    unseen: [
      ...["SessionEnd", "PermissionRequest", "PermissionDenied", "StopFailure", "PreCompact", "PostCompact"],
      ...["UserPromptExpansion", "TodoCreated", "TodoCompleted", "SessionDelete"],
    ],
  },
  tools: { ...gemini.tools, edit: "Edit", list_directory: "LS" },
  // It asks prompt hooks again after each tool, without a prompt.
  read: (input) => input.hook_event_name === "UserPromptSubmit" && input.prompt === "" ? undefined : input,
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
