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

/** A call that has ended, as events tell of it. */
export interface EndedCall {
  readonly tool_name: string;
  readonly input: JsonObject;
  readonly tool_use_id: string;
  /** The tool's structured result, in the form its host gives it, and the same as the model reads it. */
  readonly response: unknown;
  readonly text: string;
  /** What the model reads instead, if it has failed. */
  readonly error: string | null;
}

function sampleEnd(tool_name: string, cwd: string, failed: boolean): EndedCall {
  const { input: usual, text } = sampleCall(tool_name);
  const { file_path } = usual;
  const input = typeof file_path === "string" ? { ...usual, file_path: `${cwd}/${file_path}` } : usual;
  const response = sampleResponse(tool_name, input, text);
  return {
    tool_name,
    input,
    tool_use_id: "toolu_sample",
    response,
    text,
    error: failed ? "Exit code 1\n3 failing" : null,
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
    ? aboutCalls(event, [sampleEnd(tool, cwd, failed)], {
      reason: event === "tool-denied" ? "Not here" : `${tool} needs a yes`,
      ...{ denied_by: "guard", permission_suggestions: [], duration_ms: 42 },
    })
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

type Beside =
  & Pick<EventFields["permission-request"], "permission_suggestions">
  & Pick<EventFields["tool-denied"], "reason" | "denied_by">
  & Pick<EventFields["post-tool-use"], "duration_ms">;

/** The fields of an event about calls: of the first, or of several. */
export function aboutCalls(event: AboutCall, calls: readonly EndedCall[], beside: Beside): object {
  const { tool_name, input, tool_use_id, response, text, error } = calls[0]!;
  const { reason, denied_by, permission_suggestions, duration_ms } = beside;
  const call: EventFields["pre-tool-use"] = { tool_name, input, original_input: input, tool_use_id };
  switch (event) {
    case "pre-tool-use":
      return call;
    case "permission-request":
      return { ...call, reason, permission_suggestions };
    case "tool-denied":
      return { ...call, reason, denied_by };
    case "post-tool-use": {
      const failed = error !== null;
      const result = { content: error ?? text, is_error: failed, response: error ?? response };
      return { ...call, result, outcome: failed ? "failure" : "success", failed, error, duration_ms };
    }
    case "post-tool-batch":
      return {
        tool_calls: calls.map(({ tool_name, input, tool_use_id, text, error }) => {
          return { tool_name, input, tool_use_id, response: error ?? text, is_error: error !== null };
        }),
      };
  }
}
