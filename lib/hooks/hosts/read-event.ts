import type { EventFields, EventName, Fired } from "../../core/events.ts";
import type { Host } from "./host.ts";
import { type EventField, OWN_EVENTS, plainFields } from "../event-fields.ts";
import type { JsonObject } from "../../core/json.ts";

export interface HostEvent {
  readonly fired: Fired<EventName>;
  /** What a hook file may call it instead: `permission-denied` for `tool-denied`. */
  readonly name: string;
  /** The host's own name for it, which the answer has to repeat. */
  readonly wireName: string;
  /** The tool's name as ours, its aliases, and its name in the host. */
  readonly toolNames: readonly string[];
  readonly session_id: string;
  readonly agent_id: string;
  readonly parent_agent_id: string | undefined;
  readonly agent_type: string | undefined;
  readonly turn_id: string;
  readonly cwd: string;
  /** The path of the transcript; empty if the host gives no path. */
  readonly transcript: string;
}

/** Reads what a host wrote to a hook's stdin, in Claude Code's names of fields; undefined for an event that no hook file can have. */
export function readEvent(input: JsonObject, host: Host): HostEvent | undefined {
  const { events, tools, toolAliases, inputKeys } = host;
  const wireName = text(input.hook_event_name);
  const name = events[wireName]?.ours?.[0] ?? kebab(wireName);
  const tool = text(input.tool_name);
  const ours = tools[tool] ?? mcpName(input.mcp_context) ?? tool;
  const fired = eventOf(
    name,
    ours,
    inputKeys ? { ...input, tool_input: renamed(input.tool_input, keysFor(ours, host)) } : input,
  );
  if (!fired) return undefined;
  const session = text(input.session_id);
  const agent = text(input.agent_id);
  return {
    fired,
    name,
    wireName,
    toolNames: tool === "" ? [] : [ours, ...toolAliases[tool] ?? [], tool],
    session_id: session,
    agent_id: agent || session,
    parent_agent_id: agent === "" ? undefined : session,
    agent_type: agent === "" ? undefined : text(input.agent_type),
    turn_id: text(input.turn_id) || text(input.prompt_id),
    cwd: text(input.cwd),
    transcript: text(agent === "" ? input.transcript_path : input.agent_transcript_path),
  };
}

/** Only Gemini sends `mcp_context`: its names for tools of MCP servers differ between versions. */
function mcpName(context: unknown): string | undefined {
  const { server_name, tool_name } = (context ?? {}) as JsonObject;
  return text(server_name) && text(tool_name) ? `mcp__${server_name}__${tool_name}` : undefined;
}

function eventOf(name: string, tool: string, input: JsonObject): Fired<EventName> | undefined {
  switch (name) {
    case "subagent-start":
      return made("agent-start", { task: "", agent_type: text(input.agent_type) });
    case "pre-tool-use":
      return made(name, call(tool, input));
    case "permission-request":
      return made(name, {
        ...call(tool, input),
        reason: "",
        permission_suggestions: (input.permission_suggestions ?? []) as [],
      });
    case "post-tool-use":
    case "post-tool-use-failure":
      return made("post-tool-use", afterCall(name, tool, input));
    case "stop":
    case "subagent-stop":
      return made("stop", atStop(input));
    case "pre-model-switch":
      return made("model-switch", { ...switched(input), profile: null });
    case "post-model-switch":
      return made(name, switched(input));
    case "post-tool-batch":
      return made(name, { tool_calls: ((input.tool_calls ?? []) as readonly JsonObject[]).map(batched) });
    case "tool-denied":
    case "permission-denied":
      return made("tool-denied", {
        ...call(tool, input),
        reason: text(input.reason),
        denied_by: text(input.denied_by),
      });
    default: {
      if (OWN_EVENTS[name]) return made(OWN_EVENTS[name], ownFields(input) as never);
      const fields = plainFields(name)?.map(([field, known]) => [field, valueOf(input[known.wire ?? field], known)]);
      return fields && made(name as EventName, Object.fromEntries(fields));
    }
  }
}

/** What a host wrote for a field; what it left out is null, or as little as there can be. */
function valueOf(given: unknown, { kind, nullable }: EventField): unknown {
  if (kind === "count") return typeof given === "number" ? given : nullable ? null : 0;
  if (kind === "flag") return given === true;
  if (kind === "data") return given ?? null;
  return text(given) || (nullable ? null : "");
}

/** Fields that every event has on the wire, and no event of ours has. */
const WIRE_FIELDS = [
  "session_id",
  "transcript_path",
  "cwd",
  "prompt_id",
  "permission_mode",
  "effort",
  "hook_event_name",
];

function ownFields(input: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(input).filter(([field]) => !WIRE_FIELDS.includes(field)));
}

function made<N extends EventName>(event: N, fields: EventFields[N]): Fired<EventName> {
  return { event, ...fields } as unknown as Fired<EventName>;
}

function call(tool_name: string, input: JsonObject): EventFields["pre-tool-use"] {
  const given = (input.tool_input ?? {}) as JsonObject;
  return { tool_name, input: given, original_input: given, tool_use_id: text(input.tool_use_id) };
}

/** Hosts do not say which of the calls failed. */
function batched(one: JsonObject): EventFields["post-tool-batch"]["tool_calls"][number] {
  const { tool_name, input, tool_use_id } = call(text(one.tool_name), one);
  return { tool_name, input, tool_use_id, response: shown(one.tool_response), is_error: false };
}

function switched({ from_model, to_model, source }: JsonObject): EventFields["post-model-switch"] {
  const triggered_by = source === "command" || source === "picker" ? "user" : "automatic";
  return { old_model: text(from_model) || null, new_model: text(to_model), reason: null, triggered_by };
}

function afterCall(name: string, tool: string, input: JsonObject): EventFields["post-tool-use"] {
  const response = input.tool_response;
  const inside = (typeof response === "object" && response !== null ? response : {}) as JsonObject;
  const error = name === "post-tool-use-failure" ? text(input.error) : shown(inside.error) || null;
  return {
    ...call(tool, input),
    result: { content: error ?? content(response, inside), is_error: error !== null, response: response ?? error },
    outcome: error === null ? "success" : "failure",
    failed: error !== null,
    error,
    duration_ms: typeof input.duration_ms === "number" ? input.duration_ms : 0,
  };
}

/** A result as the model reads it, as far as its structured form shows it. */
function content(response: unknown, inside: JsonObject): string {
  if (typeof response === "string") return response;
  if (typeof inside.stdout === "string") return [inside.stdout, text(inside.stderr)].filter((t) => t !== "").join("\n");
  return shown(inside.llmContent ?? response);
}

/** Hosts do not say how often the agent was sent back, or how often it still can be. */
function atStop(input: JsonObject): EventFields["stop"] {
  const active = input.stop_hook_active === true;
  return {
    last_assistant_message: text(input.last_assistant_message) || text(input.prompt_response),
    messages: [],
    usage: { input_tokens: 0, output_tokens: 0, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 },
    stop_hook_active: active,
    continuations: active ? 1 : 0,
    stalled: active ? 1 : 0,
    remaining: null,
    agent_type: text(input.agent_type),
  };
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function shown(value: unknown): string {
  return typeof value === "string" ? value : value === undefined || value === null ? "" : JSON.stringify(value);
}

/** As `kebab` of core, without loading the table of events: this file is loaded for every served event. */
function kebab(name: string): string {
  return name.replace(/([a-z0-9])([A-Z])/g, "$1-$2").toLowerCase();
}

/** An input with other names of its fields. */
export function renamed(input: unknown, keys: { readonly [from: string]: string } = {}): unknown {
  if (typeof input !== "object" || input === null || Array.isArray(input)) return input;
  return Object.fromEntries(Object.entries(input).map(([key, value]) => [keys[key] ?? key, value]));
}

/** The same names in the other direction. */
export function inverse(keys: { readonly [from: string]: string } = {}): { readonly [to: string]: string } {
  return Object.fromEntries(Object.entries(keys).map(([from, to]) => [to, from]));
}

/** The names of fields by ours for one of our tools: searches call their folder `path` in every host. */
export function keysFor(tool: string, { inputKeys }: Pick<Host, "inputKeys">): { readonly [theirs: string]: string } {
  return /^(Glob|Grep|LS)$/.test(tool) ? {} : inputKeys ?? {};
}
