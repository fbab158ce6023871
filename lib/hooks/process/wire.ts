import { type AnyEvent, type EventOf, EVENTS } from "../../core/events.ts";
import { kebab, pascal, resolveEvent } from "../../core/names.ts";
import { type AboutCall, isAboutCall, plainFields } from "../event-fields.ts";

/** What the wire carries and an event does not. Whatever is absent is left out, or is what the comment says. */
export interface WireFacts {
  /** The session's transcript. @default "" */
  readonly transcript_path?: string;
  /** The id of the prompt that started the run; absent before the first. */
  readonly prompt_id?: string;
  /** @default "default" */
  readonly permission_mode?: string;
  /** A sub-agent's own transcript. @default "" */
  readonly agent_transcript_path?: string;
  readonly effort?: { readonly level: string };
  readonly background_tasks?: readonly unknown[];
  /** Further fields of one event (`mcp_server`, what a resumed session costs, …), appended to its own. */
  readonly fields?: { readonly [field: string]: unknown };
}

/** Looks up, by an event's ids, what else hooks outside this process get. Supplied by the agent. */
export type WireContext = (event: AnyEvent) => WireFacts;

type WireFields = Record<string, unknown>;

/** The name of an event on the wire: of several the one the hook was registered under, unless that is narrower than the event. */
export function wireName(event: AnyEvent, registered?: string): string {
  switch (event.event) {
    case "stop":
      return event.parent_agent_id === undefined ? "Stop" : "SubagentStop";
    case "agent-start":
      return event.parent_agent_id === undefined ? "AgentStart" : "SubagentStart";
    case "post-tool-use":
      return event.failed ? "PostToolUseFailure" : "PostToolUse";
    default:
      return registered !== undefined && resolveEvent(registered)?.event === event.event
        ? pascal(kebab(registered))
        : pascal(event.event);
  }
}

/** An event in texts for the model: with what its matcher is compared with, if it has a matcher. */
export function wireLabel(event: AnyEvent, name: string): string {
  switch (event.event) {
    case "pre-tool-use":
    case "post-tool-use":
    case "permission-request":
      return `${name}:${event.tool_name}`;
    case "session-start":
      return `${name}:${event.source}`;
    default:
      return name;
  }
}

/** Events of the host that are sent without a permission mode. */
const MODELESS = new Set([
  ...["SessionStart", "SessionEnd", "Notification", "PreCompact", "PostCompact", "PreModelSwitch", "PostModelSwitch"],
  ...["StopFailure", "CwdChanged", "InstructionsLoaded", "SubagentStart"],
]);

/** The object a hook outside this process reads: keys and their order are the host's. */
export function wireInput(event: AnyEvent, cwd: string, facts: WireFacts = {}, registered?: string): WireFields {
  const name = wireName(event, registered);
  const sub = event.parent_agent_id !== undefined;
  return {
    session_id: event.session_id,
    transcript_path: facts.transcript_path ?? "",
    cwd,
    ...(facts.prompt_id !== undefined && !opens(event) && { prompt_id: facts.prompt_id }),
    ...(hasMode(event, name) && { permission_mode: facts.permission_mode ?? "default" }),
    ...(sub && { agent_id: event.agent_id, agent_type: event.agent_type ?? "" }),
    ...(facts.effort && { effort: facts.effort }),
    hook_event_name: name,
    ...eventFields(event, name, facts),
    ...facts.fields,
  };
}

/** Whether the session has no prompt yet, also if its first prompt is already known. */
function opens(event: AnyEvent): boolean {
  return event.event === "setup" || (event.event === "session-start" && event.source !== "compact");
}

function hasMode({ event }: AnyEvent, name: string): boolean {
  return EVENTS[event].fires ? !MODELESS.has(name) : event === "user-prompt-expansion";
}

/** An event's own fields in the host's order; events the host does not have keep ours, in the table's order. */
function eventFields(event: AnyEvent, name: string, facts: WireFacts): WireFields {
  if (isAboutCall(event.event)) return callFields(event as EventOf<AboutCall>, name);
  switch (event.event) {
    case "stop": {
      const { stop_hook_active, last_assistant_message } = event;
      const transcript = name === "SubagentStop" && { agent_transcript_path: facts.agent_transcript_path ?? "" };
      const tasks = { background_tasks: facts.background_tasks ?? [], session_crons: [] };
      return { stop_hook_active, ...transcript, last_assistant_message, ...tasks };
    }
    case "agent-start":
      return name === "SubagentStart" ? {} : plain(event);
    case "model-switch":
      return name === "PreModelSwitch" ? switched(event) : plain(event);
    case "post-model-switch":
      return switched(event);
    case "pre-compact":
      return { ...plain(event), ...(event.instructions === "" && { custom_instructions: null }) };
    case "message-display":
      return { turn_id: event.turn_id, ...plain(event) };
    default:
      return plain(event);
  }
}

function callFields(event: EventOf<AboutCall>, name: string): WireFields {
  switch (event.event) {
    case "pre-tool-use":
      return { tool_name: event.tool_name, tool_input: event.input, tool_use_id: event.tool_use_id };
    case "permission-request": {
      const { tool_name, input, permission_suggestions } = event;
      return { tool_name, tool_input: input, permission_suggestions };
    }
    case "post-tool-use":
      return afterTool(event);
    case "tool-denied": {
      const { tool_name, input, tool_use_id, reason, denied_by } = event;
      const more = name === "ToolDenied" && { denied_by, ...stamped(event) };
      return { tool_name, tool_input: input, tool_use_id, reason, ...more };
    }
    case "post-tool-batch":
      return {
        tool_calls: event.tool_calls.map(({ tool_name, input, tool_use_id, response }) => {
          return { tool_name, tool_input: input, tool_use_id, tool_response: response };
        }),
      };
  }
}

/** The fields as the table says; an event that no other host has carries the turn and the time too. */
function plain(event: AnyEvent): WireFields {
  const own = event as AnyEvent & WireFields;
  const sent = plainFields(event.event)!.filter(([name, { wire, isSent }]) =>
    wire !== null && (isSent?.(own[name], own) ?? true)
  );
  const fields = Object.fromEntries(sent.map(([name, { wire }]) => [wire ?? name, own[name]]));
  return EVENTS[event.event].own ? { ...fields, ...stamped(event) } : fields;
}

function afterTool(
  { tool_name, input, tool_use_id, failed, error, duration_ms, result }: EventOf<"post-tool-use">,
): WireFields {
  const tool_input = input;
  return failed
    ? { tool_name, tool_input, tool_use_id, error: error ?? "", is_interrupt: false, duration_ms }
    : { tool_name, tool_input, tool_response: result.response, tool_use_id, duration_ms };
}

function switched({ old_model, new_model, triggered_by }: EventOf<"model-switch" | "post-model-switch">): WireFields {
  const source = triggered_by === "user" ? "command" : "sdk";
  return { from_model: old_model, to_model: new_model, requested_model: new_model, source };
}

function stamped({ turn_id, timestamp }: AnyEvent): WireFields {
  return { turn_id, timestamp };
}

/** An event as rules, templates and matchers read it (U2). */
export interface Projection {
  readonly [field: string]: unknown;
}

/**
 * The event in the words of the wire: its own fields, and `event` (PascalCase), `hook_event_name`, `tool`, `args`,
 * `tool_input`, `result`, `tool_response`, `path`. Nothing is copied: what is not read costs nothing.
 */
export function projection(event: AnyEvent): Projection {
  return Object.create(event, aliasesOf(event));
}

const of = (projected: unknown) => Object.getPrototypeOf(projected) as AnyEvent & WireFields;

function alias(read: (event: AnyEvent & WireFields) => unknown): PropertyDescriptor {
  return {
    get() {
      return read(of(this));
    },
    enumerable: true,
  };
}

const ALIASES: PropertyDescriptorMap = {
  event: alias((event) => wireName(event)),
  hook_event_name: alias((event) => wireName(event)),
  /** As one piece, for caches and logs: the event's own fields without the ids that differ each time. */
  toJSON: {
    value(this: Projection) {
      const event = of(this);
      const name = wireName(event);
      return { event: name, session_id: event.session_id, ...eventFields(event, name, {}) };
    },
  },
};

/** The names under which hosts with a loop of their own know a session's begin and end (S3.35). */
const SESSION_ALIASES: PropertyDescriptorMap = {
  ...ALIASES,
  event_type: alias((event) => event.event === "session-start" ? "start" : "end"),
  exit_reason: alias((event) => event.event === "session-end" ? event.reason : undefined),
};

function aliasesOf(event: AnyEvent): PropertyDescriptorMap {
  if (event.event === "session-start" || event.event === "session-end") return SESSION_ALIASES;
  return "tool_use_id" in event ? TOOL_ALIASES : "file_path" in event ? FILE_ALIASES : ALIASES;
}

const FILE_ALIASES: PropertyDescriptorMap = { ...ALIASES, path: alias((event) => event.file_path) };

const input = alias((event) => event.input);
const response = alias((event) => (event.result as { response?: unknown } | undefined)?.response);

const TOOL_ALIASES: PropertyDescriptorMap = {
  ...ALIASES,
  tool: alias((event) => event.tool_name),
  args: input,
  tool_input: input,
  result: response,
  tool_response: response,
  path: alias((event) => {
    const given = event.input as WireFields;
    return given.path ?? given.file_path;
  }),
};
