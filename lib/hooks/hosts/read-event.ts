import type { EventFields, EventName, Fired, NameOf } from "../../core/events.ts";
import type { HookEnv } from "../../core/hook.ts";
import { channelOf, type ToolUse } from "./channel.ts";
import type { Host } from "./host.ts";
import { type AboutCall, type EventField, plainFields } from "../event-fields.ts";
import { isObject, type JsonObject } from "../../core/json.ts";
import { NO_USAGE } from "../../core/messages.ts";

/** Whose event it is, and where. */
type Place = "session_id" | "agent_id" | "parent_agent_id" | "agent_type" | "turn_id" | "cwd";

export interface HostEvent extends Required<Pick<HookEnv, Place>> {
  readonly fired: Fired<EventName>;
  /** What a hook file may call it instead: `permission-denied` for `tool-denied`. */
  readonly name: string;
  /** The host's own name for it, which the answer has to repeat. */
  readonly wireName: string;
  /** The names by which a matcher means the tool of the call. */
  readonly toolNames: readonly string[];
  /** The host's own call, if this is read of one. */
  readonly from?: ToolUse;
  /** Whether it is that call itself, for hooks that name the host's tool, and not one in it. Absent: there is no such choice. */
  readonly isOwn?: boolean;
  /** The path of the transcript; empty if the host gives no path. */
  readonly transcript: string;
}

/** `ownEvent` of core, which few need. */
type OwnEvent = (name: string) => EventName | undefined;

/** Reads an event of a host, in Claude Code's names of fields, as each call of ours in it and as it is; `own` knows unlisted ones. */
export function ourEvents(input: JsonObject, host: Host, own?: OwnEvent): readonly HostEvent[] {
  const { tool_name, tool_input, tool_calls } = input;
  if (Array.isArray(tool_calls)) {
    const all = tool_calls.flatMap((one: JsonObject) =>
      callsIn(one, host, input.cwd)?.map((call) => ({ ...one, tool_name: call.tool, tool_input: call.input })) ?? [one]
    );
    return eventsOf({ ...input, tool_calls: all }, host, [], own);
  }
  const tool = text(tool_name);
  if (tool === "") return eventsOf(input, host, [], own);
  const calls = callsIn(input, host, input.cwd);
  if (!calls) {
    const name = mcpName(input.mcp_context) ?? tool;
    const toolNames = [...new Set([name, tool, ...channelOf(host.channels, tool)?.ours ?? []])];
    return eventsOf({ ...input, tool_name: name }, host, toolNames, own);
  }
  const from = { tool, input: tool_input as JsonObject };
  const events = calls.flatMap((call) =>
    eventsOf({ ...input, tool_name: call.tool, tool_input: call.input }, host, [call.tool], own)
      .map((event) => ({ ...event, from }))
  );
  if (calls.some((call) => call.tool === tool)) return events;
  const itself = eventsOf(input, host, [tool], own).map((event) => ({ ...event, from, isOwn: true }));
  return [...events.map((event) => ({ ...event, isOwn: false })), ...itself];
}

/** The calls of ours in one of a host's; undefined if it is none that can be read. */
function callsIn(
  { tool_name, tool_input }: JsonObject,
  { channels }: Host,
  cwd: unknown,
): readonly ToolUse[] | undefined {
  return isObject(tool_input) ? channelOf(channels, text(tool_name))?.read(tool_input, text(cwd)) : undefined;
}

/** The event of one call, if any. */
function eventsOf(
  input: JsonObject,
  { events }: Host,
  toolNames: readonly string[],
  own: OwnEvent | undefined,
): readonly HostEvent[] {
  const wireName = text(input.hook_event_name);
  const name = events[wireName]?.ours?.[0] ?? kebab(wireName);
  const fired = eventOf(name, text(input.tool_name), input, Object.hasOwn(events, wireName) ? undefined : own);
  if (!fired) return [];
  const session = text(input.session_id);
  const agent = text(input.agent_id);
  return [{
    fired,
    name,
    wireName,
    toolNames,
    session_id: session,
    agent_id: agent || session,
    parent_agent_id: agent === "" ? undefined : text(input.parent_agent_id) || session,
    agent_type: agent === "" ? undefined : text(input.agent_type),
    turn_id: text(input.turn_id) || text(input.prompt_id),
    cwd: text(input.cwd),
    transcript: text(agent === "" ? input.transcript_path : input.agent_transcript_path),
  }];
}

/** Only Gemini sends `mcp_context`: its names for tools of MCP servers differ between versions. */
function mcpName(context: unknown): string | undefined {
  const { server_name, tool_name } = (context ?? {}) as JsonObject;
  return text(server_name) && text(tool_name) ? `mcp__${server_name}__${tool_name}` : undefined;
}

/** What is read of a call, by all names of events about calls: what has no row here would not be asked about. */
const CALLS: { readonly [N in NameOf<AboutCall>]: (tool: string, input: JsonObject) => Fired<EventName> } = {
  "pre-tool-use": (tool, input) => made("pre-tool-use", call(tool, input)),
  "permission-request": (tool, input) =>
    made("permission-request", {
      ...call(tool, input),
      reason: "",
      permission_suggestions: (input.permission_suggestions ?? []) as [],
    }),
  "post-tool-use": (tool, input) => made("post-tool-use", afterCall(tool, input)),
  "post-tool-use-failure": (tool, input) => made("post-tool-use", afterCall(tool, input, text(input.error))),
  "post-tool-batch": (_, input) =>
    made("post-tool-batch", { tool_calls: ((input.tool_calls ?? []) as readonly JsonObject[]).map(batched) }),
  "tool-denied": denied,
  "permission-denied": denied,
};

function eventOf(name: string, tool: string, input: JsonObject, own?: OwnEvent): Fired<EventName> | undefined {
  if (Object.hasOwn(CALLS, name)) return CALLS[name as NameOf<AboutCall>](tool, input);
  switch (name) {
    case "subagent-start":
      return made("agent-start", { task: "", agent_type: text(input.agent_type) });
    case "stop":
    case "subagent-stop":
      return made("stop", atStop(input));
    case "pre-model-switch":
      return made("model-switch", { ...switched(input), profile: null });
    case "post-model-switch":
      return made(name, switched(input));
  }
  const ours = own?.(name);
  if (ours !== undefined) return made(ours, ownFields(input) as never);
  const fields = plainFields(name)?.map(([field, known]) => [field, valueOf(input[known.wire ?? field], known)]);
  return fields && made(name as EventName, Object.fromEntries(fields));
}

/** What a host wrote for a field; what it left out is null, or as little as there can be. */
function valueOf(given: unknown, { kind, nullable }: EventField): unknown {
  if (kind === "count") return typeof given === "number" ? given : nullable ? null : 0;
  if (kind === "flag") return given === true;
  if (kind === "data") return given ?? null;
  if (kind === "usage") return given ?? NO_USAGE;
  if (kind === "view") return { system: "", messages: [] };
  return text(given) || (nullable ? null : "");
}

/** Fields that every event has on the wire, and no event of ours has. */
const WIRE_FIELDS = [
  ...["session_id", "transcript_path", "cwd", "prompt_id", "permission_mode", "effort", "hook_event_name"],
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

function denied(tool: string, input: JsonObject): Fired<EventName> {
  return made("tool-denied", { ...call(tool, input), reason: text(input.reason), denied_by: text(input.denied_by) });
}

function afterCall(tool: string, input: JsonObject, failure?: string): EventFields["post-tool-use"] {
  const response = input.tool_response;
  const inside = (typeof response === "object" && response !== null ? response : {}) as JsonObject;
  const error = failure ?? (shown(inside.error) || null);
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
function content(response: unknown, { stdout, stderr, llmContent }: JsonObject): string {
  if (typeof response === "string") return response;
  if (typeof stdout === "string") return [stdout, text(stderr)].filter((t) => t !== "").join("\n");
  return shown(llmContent ?? response);
}

/** Hosts do not say how often the agent was sent back, or how often it still can be. */
function atStop(input: JsonObject): EventFields["stop"] {
  const active = input.stop_hook_active === true;
  return {
    last_assistant_message: text(input.last_assistant_message) || text(input.prompt_response),
    messages: [],
    usage: NO_USAGE,
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
