import { CONTEXT, LISTS, TOP } from "./claude.ts";
import { named } from "./channel.ts";
import type { Host, WireEvent } from "./host.ts";
import { resultText, theirNames } from "./keys.ts";

const events: Host["events"] = {
  SessionStart: { ours: ["session-start"], can: ["context"], output: CONTEXT },
  SessionEnd: { ours: ["session-end"], output: [] },
  Notification: { ours: ["notification"], output: [] },
  BeforeAgent: { ours: ["user-prompt-submit"], can: ["deny", "context", "halt"], output: CONTEXT, blocks: true },
  BeforeTool: {
    ours: ["pre-tool-use"],
    can: ["deny", "ask", "allow", "modify", "halt"],
    output: ["tool_input"],
    blocks: true,
  },
  AfterTool: {
    ours: ["post-tool-use", "post-tool-use-failure"],
    can: ["deny", "modify", "context", "halt"],
    output: [...CONTEXT, "tailToolCallRequest"],
    blocks: true,
  },
  AfterAgent: { ours: ["stop"], can: ["deny", "halt"], output: ["clearContext"], blocks: true },
  // It fires before every model call, whether or not anything is compressed.
  PreCompress: { output: [] },
  BeforeModel: { ours: ["iteration"], can: [], output: ["llm_request", "llm_response"], blocks: true },
  BeforeToolSelection: { output: ["toolConfig"] },
  AfterModel: { output: ["llm_response"], blocks: true },
};

const channels = named({
  run_shell_command: "Bash",
  write_file: "Write",
  replace: "Edit",
  read_file: "Read",
  glob: "Glob",
  grep_search: "Grep",
  search_file_content: "Grep",
});

/** Its names of the tools. How tools of MCP servers are called has changed between versions. */
function toolMatcher(names: readonly string[]): string | undefined {
  return names.some((name) => name.startsWith("mcp__")) ? undefined : theirNames(channels)(names);
}

export const gemini: Host = {
  name: "gemini",
  title: "Gemini CLI",
  events,
  tried: { version: "0.61.0", unseen: ["Notification"] },
  channels,
  likeClaude: false,
  settings: {
    files: [".gemini/settings.json"],
    // Without braces it puts a path in quotes there, which ends our own quotes.
    lists: { ...LISTS, project: { root: "${GEMINI_PROJECT_DIR}" } },
    // Seen with 0.61.0.
    afterInstall: "Gemini CLI runs hooks only in a folder that a person has trusted: with --skip-trust it runs none",
    second: 1000,
    named: true,
    toolMatcher,
  },
  answers: { mergesInput: true, hidesResult: true, asksAtTerminal: true },
  decided: (folded, event) => {
    const { decision, reason, modified, value } = folded;
    if (event.event === "post-tool-use") {
      // The reason of a refusal is what the model reads in place of the result.
      return modified && value !== null ? { top: { decision: "deny", reason: resultText(value) } } : {};
    }
    // A person who is asked reads the message to the user alone.
    const question = decision === "ask" && {
      systemMessage: [reason, ...folded.systemMessages.map(({ text }) => text)].filter(Boolean).join("\n"),
    };
    return {
      top: decision === "continue" ? {} : { decision, ...(decision !== "allow" && { reason }), ...question },
      specific: event.event === "pre-tool-use" && modified ? { tool_input: value } : {},
    };
  },
  newResult: resultText,
  commands: {
    sessionVariable: "GEMINI_SESSION_ID",
    timeout: () => 60,
    top: TOP,
    decisions: ["allow", "deny", "block", "ask"],
    permissions: [],
    newInput: "tool_input",
    written: (claude, { minute }) => {
      const { session_id, transcript_path, cwd, hook_event_name, tool_name, tool_input, ...rest } = claude;
      const base = {
        ...{ session_id, transcript_path, cwd, hook_event_name: nameOf(hook_event_name) },
        timestamp: new Date(Date.UTC(2026, 0, 1) + minute * 60_000).toISOString(),
      };
      if (tool_name !== undefined) return { ...base, tool_name, tool_input, ...responded(rest, hook_event_name) };
      if (hook_event_name === "Stop") {
        const { stop_hook_active, last_assistant_message = "" } = rest;
        return { ...base, prompt: "Fix the failing test", prompt_response: last_assistant_message, stop_hook_active };
      }
      const { prompt_id: _, permission_mode: __, effort: ___, custom_instructions: ____, ...own } = rest;
      return { ...base, ...own };
    },
  },
};

function nameOf(claude: string): string {
  const ours = claude.replace(/([a-z])([A-Z])/g, "$1-$2").toLowerCase();
  return Object.keys(events).find((name) => events[name]!.ours?.includes(ours)) ?? claude;
}

function responded({ tool_response, error }: Partial<WireEvent>, claude: string): object {
  if (claude === "PreToolUse") return {};
  const shown = typeof tool_response === "string" ? tool_response : JSON.stringify(tool_response ?? "");
  const failure = claude === "PostToolUseFailure" ? { error: { message: error } } : {};
  return { tool_response: { llmContent: shown, returnDisplay: shown, ...failure } };
}
