import type { Host } from "./host.ts";
import { inverse } from "./keys.ts";

const tools = { Shell: "Bash" };

/** Cursor, as its documentation describes it. */
export const cursor: Host = {
  name: "cursor",
  events: {
    sessionStart: { ours: ["session-start"], can: ["context"], output: [] },
    sessionEnd: { ours: ["session-end"], can: [], output: [] },
    beforeSubmitPrompt: { ours: ["user-prompt-submit"], can: ["deny"], output: [] },
    preToolUse: { ours: ["pre-tool-use"], can: ["deny", "ask", "allow", "modify"], output: [] },
    postToolUse: { ours: ["post-tool-use"], can: ["deny", "context"], output: [] },
    postToolUseFailure: { ours: ["post-tool-use-failure"], can: ["context"], output: [] },
    stop: { ours: ["stop"], can: ["deny"], output: [] },
    subagentStart: { ours: ["subagent-start", "agent-start"], can: [], output: [] },
    subagentStop: { ours: ["subagent-stop"], can: ["deny"], output: [] },
    preCompact: { ours: ["pre-compact"], can: [], output: [] },
  },
  tools,
  toolAliases: {},
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
    project: { root: "$CURSOR_PROJECT_DIR" },
    flat: { command: "command", timeout: "timeout", always: {} },
    second: 1,
    timeout: () => 60,
    named: false,
    async: false,
    onFailure: true,
    toolMatcher: (names) => `^(${names.map((name) => inverse(tools)[name] ?? name).join("|")})$`,
    patternMatcher: () => undefined,
  },
  answers: {
    top: [
      "permission",
      "user_message",
      "agent_message",
      "updated_input",
      "continue",
      "additional_context",
      "followup_message",
    ],
    decisions: [],
    permissions: [],
    newInput: "updated_input",
    strict: false,
    namesEvent: false,
    mergesInput: false,
    hidesResult: true,
    contextAtTop: "additional_context",
  },
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
  process: { lineFeed: true },
  written: ({ hook_event_name, session_id, tool_name, tool_response, stop_hook_active, ...rest }) => ({
    ...rest,
    hook_event_name: hook_event_name === "UserPromptSubmit"
      ? "beforeSubmitPrompt"
      : `${hook_event_name[0]!.toLowerCase()}${hook_event_name.slice(1)}`,
    conversation_id: session_id,
    generation_id: session_id,
    session_id,
    ...(tool_name !== undefined && { tool_name: inverse(tools)[String(tool_name)] ?? tool_name }),
    ...(tool_response !== undefined && { tool_output: JSON.stringify(tool_response) }),
    ...(stop_hook_active !== undefined && { status: "completed", loop_count: stop_hook_active ? 1 : 0 }),
  }),
};
