import { like, named } from "./channel.ts";
import type { Host } from "./host.ts";
import { resultText, theirNames } from "./keys.ts";
import { endOf } from "../serving/last-error.ts";
import { type JsonObject, parsed } from "../../core/json.ts";

const channels = {
  ...named(
    { view: "Read", create: "Write", edit: "Edit" },
    { path: "file_path", file_text: "content", old_str: "old_string", new_str: "new_string" },
  ),
  ...named({ bash: "Bash", grep: "Grep", glob: "Glob" }),
  // It starts none without a name, which ours have not.
  task: like("Agent", { agent_type: "subagent_type" }, {
    write: ([call]) => {
      const { subagent_type: agent_type, ...input } = call!.input;
      return { name: "agent", agent_type, ...input };
    },
  }),
};

/** Its own entries are not given the name of their event: each event has a field that no other has. */
function eventOf(input: JsonObject): string | undefined {
  if (input.hookName !== undefined) return String(input.hookName);
  if (input.toolResult !== undefined) return "postToolUse";
  if (input.toolName !== undefined) return input.error === undefined ? "preToolUse" : "postToolUseFailure";
  if (input.stopReason !== undefined) return input.agentName === undefined ? "agentStop" : "subagentStop";
  if (input.transformedPrompt !== undefined) return undefined;
  if (input.prompt !== undefined) return "userPromptSubmitted";
  if (input.agentName !== undefined) return "subagentStart";
  if (input.trigger !== undefined) return "preCompact";
  if (input.source !== undefined) return "sessionStart";
  if (input.reason !== undefined) return "sessionEnd";
  throw new TypeError("No event of Copilot has these fields");
}

/** Its names of events in entries for Claude Code. */
const CLAUDE_NAMES: { readonly [name: string]: string } = {
  UserPromptSubmit: "userPromptSubmitted",
  Stop: "agentStop",
};

/** Both forms in which it writes: its own, and that of entries for Claude Code. */
function read(input: JsonObject): JsonObject | undefined {
  const claude = typeof input.hook_event_name === "string" ? input.hook_event_name : undefined;
  const name = claude === undefined
    ? eventOf(input)
    : CLAUDE_NAMES[claude] ?? `${claude[0]!.toLowerCase()}${claude.slice(1)}`;
  if (name === undefined) return undefined;
  const path = input.transcript_path ?? input.transcriptPath;
  const result = (input.tool_result ?? input.toolResult) as JsonObject | undefined;
  const words = result?.text_result_for_llm ?? result?.textResultForLlm;
  const failed = /fail|deni|reject/.test(String(result?.result_type ?? result?.resultType ?? ""));
  return {
    ...input,
    hook_event_name: name,
    session_id: input.session_id ?? input.sessionId,
    transcript_path: path,
    tool_name: input.tool_name ?? input.toolName,
    tool_input: input.tool_input ?? input.toolArgs ?? input.toolInput,
    ...(result && { tool_response: failed ? { error: words } : words }),
    agent_id: input.agent_id ?? input.agentId ?? input.agentName,
    agent_type: input.agent_type ?? input.agentType ?? input.agentName,
    parent_agent_id: input.parent_agent_id ?? input.parentAgentId,
    ...(/Stop$/.test(name) && { last_assistant_message: lastMessage(String(path ?? "")) }),
  };
}

/** The model's last words, which it writes to its log of the session alone. */
function lastMessage(path: string): string {
  const last = endOf(path).split("\n").findLast((line) => line.includes('"assistant.message"'));
  const { data } = (parsed(last ?? "") ?? {}) as { readonly data?: { readonly content?: unknown } };
  return typeof data?.content === "string" ? data.content : "";
}

/** GitHub Copilot CLI. */
export const copilot: Host = {
  name: "copilot",
  title: "Copilot CLI",
  events: {
    sessionStart: { ours: ["session-start"], can: ["context"] },
    sessionEnd: { ours: ["session-end"], can: [] },
    userPromptSubmitted: { ours: ["user-prompt-submit"], can: ["deny", "modify", "context"] },
    preToolUse: { ours: ["pre-tool-use"], can: ["deny", "ask", "allow", "modify", "context"] },
    permissionRequest: { ours: ["permission-request"], can: ["deny", "allow"] },
    postToolUse: { ours: ["post-tool-use"], can: ["deny", "modify", "context"] },
    postToolUseFailure: { ours: ["post-tool-use-failure"], can: ["context"] },
    agentStop: { ours: ["stop"], can: ["deny"] },
    subagentStart: { ours: ["subagent-start", "agent-start"], can: ["context"] },
    subagentStop: { ours: ["subagent-stop"], can: ["deny"] },
    preCompact: { ours: ["pre-compact"], can: [] },
  },
  tried: { version: "1.0.102", unseen: ["subagentStart", "subagentStop", "preCompact"] },
  channels,
  read,
  likeClaude: false,
  settings: {
    files: [".github/hooks/crochet.json"],
    lists: {
      ...{ at: "hooks", version: 1, project: { root: "$COPILOT_PROJECT_DIR" } },
      entry: { command: "bash", timeout: "timeoutSec", always: { type: "command" } },
      absent: (systemMessage) => ({ systemMessage }),
    },
    afterInstall: "Copilot runs hooks of a folder only once a person trusts it: answer its question, or --trust-folder",
    second: 1,
    toolMatcher: theirNames(channels),
  },
  answers: { hidesResult: true, contextAtTop: "additionalContext" },
  decided: ({ decision, reason, modified, value }, { event }) => {
    const why = reason !== undefined && { permissionDecisionReason: reason };
    switch (event) {
      case "pre-tool-use": {
        const permission = decision !== "continue" && { permissionDecision: decision, ...why };
        // Entries of its own settings read the top, those for Claude Code what is inside.
        return {
          top: { ...permission, ...(modified && { modifiedArgs: value }) },
          specific: { ...permission, ...(modified && { updatedInput: value }) },
        };
      }
      case "permission-request":
        return decision === "deny" || decision === "allow"
          ? { top: { behavior: decision, ...(reason !== undefined && { message: reason }) } }
          : {};
      case "post-tool-use":
        return modified && value !== null ? { top: { modifiedResult: newResult(value) } } : {};
      case "user-prompt-submit":
        if (modified) return { top: { modifiedPrompt: value } };
        break;
    }
    return { top: decision === "deny" ? { decision: "block", reason } : {} };
  },
  newResult,
};

function newResult(value: unknown): unknown {
  const words = resultText(value);
  return words === undefined ? undefined : { resultType: "success", textResultForLlm: words };
}
