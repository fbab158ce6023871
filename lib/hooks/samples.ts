import { type EventFields, type EventName, EVENTS, type Fired } from "../core/events.ts";

type Input = { readonly [field: string]: unknown };

/** What a call of each tool looks like, and what the model reads of its result. */
const CALLS: { readonly [tool: string]: { readonly input: Input; readonly text: string } } = {
  Bash: { input: { command: "npm test", description: "Run the tests" }, text: "12 passing" },
  Read: { input: { file_path: "src/app.ts" }, text: "1\texport {};\n" },
  Edit: {
    input: { file_path: "src/app.ts", old_string: "alpha", new_string: "beta", replace_all: false },
    text: "The file src/app.ts has been updated successfully.",
  },
  Write: {
    input: { file_path: "src/new.ts", content: "export const answer = 42;\n" },
    text: "File created successfully at: src/new.ts",
  },
  Agent: {
    input: { description: "look around", prompt: "Find the entry point", subagent_type: "general-purpose" },
    text: "It is src/app.ts",
  },
};

const OTHER: (typeof CALLS)[string] = { input: { query: "example" }, text: "an example" };

/** The result of a call as hooks read it, in the form of Claude Code; a text for a tool that is not known. */
export function sampleResponse(tool: string, input: Input, text: string): unknown {
  const { file_path: filePath, content } = input;
  switch (tool) {
    case "Bash":
      return { stdout: text, stderr: "", interrupted: false, isImage: false, noOutputExpected: false };
    case "Read":
      return { type: "text", file: { filePath, content: text, numLines: 1, startLine: 1, totalLines: 1 } };
    case "Edit": {
      const { old_string: oldString, new_string: newString, replace_all: replaceAll = false } = input;
      const hunk = { oldStart: 1, oldLines: 1, newStart: 1, newLines: 1, lines: [`-${oldString}`, `+${newString}`] };
      const changed = { filePath, oldString, newString, originalFile: `${oldString}\n` };
      return { ...changed, structuredPatch: [hunk], userModified: false, replaceAll };
    }
    case "Write":
      return { type: "create", filePath, content, structuredPatch: [], originalFile: null, userModified: false };
    case "Agent":
      return { status: "completed", prompt: input.prompt, content: [{ type: "text", text }] };
    default:
      return text;
  }
}

const SWITCHED: EventFields["post-model-switch"] = {
  old_model: "claude-sonnet-4-5",
  new_model: "claude-opus-4-5",
  reason: null,
  triggered_by: "user",
};

const USAGE = { input_tokens: 1200, output_tokens: 80, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 };

function call(tool: string, cwd: string): EventFields["pre-tool-use"] {
  const { input } = CALLS[tool] ?? OTHER;
  const { file_path } = input;
  const given = typeof file_path === "string" ? { ...input, file_path: `${cwd}/${file_path}` } : input;
  return { tool_name: tool, input: given, original_input: given, tool_use_id: "toolu_sample" };
}

function after(tool: string, cwd: string, failed: boolean): EventFields["post-tool-use"] {
  const { text } = CALLS[tool] ?? OTHER;
  const error = "Exit code 1\n3 failing";
  const called = call(tool, cwd);
  const response = sampleResponse(tool, called.input, text);
  return {
    ...called,
    result: { content: failed ? error : text, is_error: failed, response: failed ? error : response },
    outcome: failed ? "failure" : "success",
    failed,
    error: failed ? error : null,
    duration_ms: 42,
  };
}

/** A typical event, for trying a hook on it. `tool` is the tool it is about, if it is about one. */
export function sampleEvent(
  event: EventName,
  { cwd, tool = "Bash", failed = false }: { cwd: string; tool?: string | undefined; failed?: boolean },
): Fired<EventName> {
  const last_assistant_message = "I changed the parser and all is done.";
  const fields: { readonly [N in EventName]: () => EventFields[N] } = {
    "session-start": () => ({ source: "startup", model: "claude-sonnet-4-5", profile: null, config: null }),
    "user-prompt-submit": () => ({ prompt: "Fix the failing test" }),
    "agent-start": () => ({ task: "Fix the failing test", agent_type: "general-purpose" }),
    "turn-start": () => ({ trigger: "user", prompt: "Fix the failing test", turn: { system: "", messages: [] } }),
    "iteration": () => ({ iteration: 0, total_iterations: 0, usage: USAGE, request: { system: "", messages: [] } }),
    "pre-tool-use": () => call(tool, cwd),
    "permission-request": () => ({ ...call(tool, cwd), reason: `${tool} needs a yes`, permission_suggestions: [] }),
    "tool-denied": () => ({ ...call(tool, cwd), reason: "Not here", denied_by: "guard" }),
    "post-tool-use": () => after(tool, cwd, failed),
    "post-tool-batch": () => {
      const { tool_name, input, tool_use_id } = call(tool, cwd);
      return {
        tool_calls: [{ tool_name, input, tool_use_id, response: (CALLS[tool] ?? OTHER).text, is_error: false }],
      };
    },
    "stop": () => ({
      last_assistant_message,
      messages: [],
      usage: USAGE,
      stop_hook_active: false,
      continuations: 0,
      stalled: 0,
      remaining: 8,
      agent_type: "general-purpose",
    }),
    "stop-failure": () => ({ error: "overloaded_error", error_details: "Overloaded", last_assistant_message: "" }),
    "turn-end": () => ({ trigger: "user", stop: "done", last_assistant_message, messages: [], usage: USAGE }),
    "agent-stop": () => ({ stop: "done", result: last_assistant_message, agent_type: "general-purpose" }),
    "session-end": () => ({ reason: "other", duration_ms: 61_000 }),
    "model-switch": () => ({ ...SWITCHED, profile: null }),
    "post-model-switch": () => SWITCHED,
    "error": () => ({
      error_type: "TypeError",
      error_message: "Cannot read properties of undefined",
      tool,
      stack_trace: null,
      severity: "error",
      retry: false,
    }),
    "pre-compact": () => ({ trigger: "auto", instructions: "" }),
    "post-compact": () => ({ trigger: "auto", summary: "The parser is changed, its test is left." }),
    "notification": () => ({ message: "Waiting for you", notification_type: "permission_prompt", title: null }),
    "checkpoint": () => ({
      checkpoint_id: "checkpoint-1",
      checkpoint_type: "auto",
      message_count: 12,
      duration_since_last_ms: 90_000,
      storage_path: null,
    }),
    "memory-update": () => ({
      file_path: `${cwd}/AGENTS.md`,
      update_type: "modified",
      content_size: 512,
      previous_hash: null,
      new_hash: null,
    }),
    "agent-prompt": () => ({ prompt_type: "question", message: "Which database?" }),
    "cwd-changed": () => ({ old_cwd: cwd, new_cwd: `${cwd}/src` }),
    "instructions-loaded": () => ({
      file_path: `${cwd}/AGENTS.md`,
      memory_type: "Project",
      load_reason: "session_start",
    }),
  };
  if (!Object.hasOwn(EVENTS, event)) throw new TypeError(`Unknown event '${event}'`);
  return { event, ...fields[event]() } as unknown as Fired<EventName>;
}
