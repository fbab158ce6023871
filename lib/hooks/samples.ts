import { type EventFields, type EventName, EVENTS, type Fired } from "../core/events.ts";
import { type AboutCall, type EventField, isAboutCall, plainFields } from "./event-fields.ts";
import type { JsonObject } from "../core/json.ts";
import { toolRow } from "../input/tool-table.ts";

/** What a call of a tool looks like, and what the model reads of its result. */
function sampleCall(tool: string): { readonly input: JsonObject; readonly text: string } {
  const { fields = ["query"], sample, text = "an example" } = toolRow(tool) ?? {};
  const examples = fields.flatMap((field) => field.endsWith("?") ? [] : [[field, "example"]]);
  return { input: sample ?? Object.fromEntries(examples), text };
}

/** The result of a call as hooks read it, in the form of Claude Code; a text for a tool that is not known. */
export function sampleResponse(tool: string, input: JsonObject, text: string): unknown {
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

const USAGE = { input_tokens: 1200, output_tokens: 80, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 };

function call(tool: string, cwd: string): EventFields["pre-tool-use"] {
  const { input } = sampleCall(tool);
  const { file_path } = input;
  const given = typeof file_path === "string" ? { ...input, file_path: `${cwd}/${file_path}` } : input;
  return { tool_name: tool, input: given, original_input: given, tool_use_id: "toolu_sample" };
}

function after(tool: string, cwd: string, failed: boolean): EventFields["post-tool-use"] {
  const { text } = sampleCall(tool);
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

/** Where a sample is, and the tool it is about, if it is about one. */
interface Sampled {
  readonly cwd: string;
  readonly tool?: string | undefined;
  readonly failed?: boolean;
}

/** A typical event, for trying a hook on it. */
export function sampleEvent(event: EventName, { cwd, tool = "Bash", failed = false }: Sampled): Fired<EventName> {
  if (!Object.hasOwn(EVENTS, event)) throw new TypeError(`Unknown event '${event}'`);
  const made = isAboutCall(event)
    ? aboutCall(event, tool, cwd, failed)
    : Object.fromEntries(plainFields(event)!.map(([name, field]) => [name, sampleOf(field, cwd, tool)]));
  return { event, ...made } as unknown as Fired<EventName>;
}

function sampleOf({ kind, values, nullable }: EventField, cwd: string, tool: string): unknown {
  if (nullable === "often") return null;
  switch (kind) {
    case "path":
      return `${cwd}/${values[0]}`;
    case "cwd":
      return cwd;
    case "tool":
      return tool;
    case "usage":
      return USAGE;
    case "messages":
      return [];
    case "view":
      return { system: "", messages: [] };
    default:
      return values[0];
  }
}

function aboutCall(event: AboutCall, tool: string, cwd: string, failed: boolean): object {
  switch (event) {
    case "pre-tool-use":
      return call(tool, cwd);
    case "permission-request":
      return { ...call(tool, cwd), reason: `${tool} needs a yes`, permission_suggestions: [] };
    case "tool-denied":
      return { ...call(tool, cwd), reason: "Not here", denied_by: "guard" };
    case "post-tool-use":
      return after(tool, cwd, failed);
    case "post-tool-batch": {
      const { tool_name, input, tool_use_id } = call(tool, cwd);
      const response = sampleCall(tool).text;
      return { tool_calls: [{ tool_name, input, tool_use_id, response, is_error: false }] };
    }
  }
}
