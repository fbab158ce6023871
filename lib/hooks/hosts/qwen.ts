import { named, NOTEBOOK } from "./channel.ts";
import { claude, commands, CONTEXT, LISTS, PERMISSION } from "./claude.ts";
import { gemini } from "./gemini.ts";
import type { Host } from "./host.ts";
import { theirNames } from "./keys.ts";

/** Its events of Claude Code: the others are not in its own list. */
const SHARED = [
  ...["SessionStart", "SessionEnd", "UserPromptSubmit", "SubagentStart", "PermissionRequest", "PostToolUseFailure"],
  ...["PostToolBatch", "PermissionDenied", "Stop", "SubagentStop", "StopFailure", "PreCompact", "PostCompact"],
  ...["InstructionsLoaded", "Notification", "UserPromptExpansion"],
];

const { unseen: _, ...asClaude } = claude;
const { replace: __, ...shared } = gemini.channels;
const channels: Host["channels"] = {
  ...shared,
  ...named({ edit: "Edit", list_directory: "LS", monitor: "Bash" }),
  notebook_edit: NOTEBOOK,
};

/** Qwen Code: most events of Claude Code with the tools of Gemini CLI. */
export const qwen: Host = {
  ...asClaude,
  name: "qwen",
  title: "Qwen Code",
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
  channels,
  read: (input) => {
    // It asks prompt hooks again after each tool, without a prompt.
    if (input.hook_event_name === "UserPromptSubmit" && input.prompt === "") return undefined;
    const { displayed_text: delta, is_final: final, ...rest } = input;
    return delta === undefined ? input : { ...rest, delta, final };
  },
  settings: {
    files: [".qwen/settings.json"],
    lists: { ...LISTS, project: { root: "$CLAUDE_PROJECT_DIR" } },
    second: 1000,
    toolMatcher: theirNames(channels),
  },
  answers: { hidesResult: true },
  decided: (folded, event) => event.event === "post-tool-use" ? {} : claude.decided(folded, event),
  newResult: () => undefined,
  commands,
};
