import { named } from "./channel.ts";
import type { Host } from "./host.ts";
import { theirNames } from "./keys.ts";

const channels = named({ Shell: "Bash", Write: "Write", Read: "Read" });

/** Cursor, as its documentation describes it. */
export const cursor: Host = {
  name: "cursor",
  title: "Cursor",
  events: {
    sessionStart: { ours: ["session-start"], can: ["context"] },
    sessionEnd: { ours: ["session-end"], can: [] },
    beforeSubmitPrompt: { ours: ["user-prompt-submit"], can: ["deny"] },
    preToolUse: { ours: ["pre-tool-use"], can: ["deny", "ask", "allow", "modify"] },
    postToolUse: { ours: ["post-tool-use"], can: ["deny", "context"] },
    postToolUseFailure: { ours: ["post-tool-use-failure"], can: ["context"] },
    stop: { ours: ["stop"], can: ["deny"] },
    subagentStart: { ours: ["subagent-start", "agent-start"], can: [] },
    subagentStop: { ours: ["subagent-stop"], can: ["deny"] },
    preCompact: { ours: ["pre-compact"], can: [] },
  },
  channels,
  likeClaude: false,
  read: (input) => ({
    ...input,
    session_id: input.session_id ?? input.conversation_id,
    turn_id: input.generation_id,
    cwd: input.cwd ?? (input.workspace_roots as readonly unknown[] | undefined)?.[0],
    ...(input.tool_output !== undefined && { tool_response: input.tool_output }),
    ...(input.error_message !== undefined && { error: input.error_message }),
    ...(typeof input.loop_count === "number" && { stop_hook_active: input.loop_count > 0 }),
  }),
  settings: {
    files: [".cursor/hooks.json"],
    lists: {
      ...{ at: "hooks", version: 1, project: { root: "$CURSOR_PROJECT_DIR" } },
      entry: { command: "command", timeout: "timeout", failClosed: "failClosed" },
      absent: (systemMessage) => ({ systemMessage }),
    },
    second: 1,
    onFailure: true,
    toolMatcher: theirNames(channels),
  },
  answers: { hidesResult: true, contextAtTop: "additional_context" },
  decided: ({ decision, reason, modified, value }, { event }) => {
    switch (event) {
      case "pre-tool-use":
        return {
          top: {
            ...(decision !== "continue" && { permission: decision }),
            ...(decision !== "continue" && reason !== undefined && { user_message: reason, agent_message: reason }),
            ...(modified && { updated_input: value }),
          },
        };
      case "user-prompt-submit":
        return decision === "deny" ? { top: { continue: false, user_message: reason } } : {};
      case "stop":
        return decision === "deny" ? { top: { followup_message: reason } } : {};
      default:
        return {};
    }
  },
  newResult: () => undefined,
};
