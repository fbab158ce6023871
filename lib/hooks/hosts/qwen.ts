import { claude, commands, CONTEXT, PERMISSION } from "./claude.ts";
import { gemini } from "./gemini.ts";
import type { Host } from "./host.ts";

const { PostToolUse, PermissionRequest: _, PreModelSwitch: __, ...events } = claude.events;
const { local: ___, patternMatcher: ____, ...settings } = claude.settings;

/** Qwen Code: the events of Claude Code with the tools of Gemini CLI. It says stop_hook_active at the first Stop already. */
export const qwen: Host = {
  ...claude,
  name: "qwen",
  events: {
    ...events,
    PreToolUse: { ours: ["pre-tool-use"], can: ["deny", "ask", "allow"], output: PERMISSION, blocks: true },
    PostToolUse: { ...PostToolUse!, can: ["deny", "context"], output: CONTEXT, blocks: false },
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
