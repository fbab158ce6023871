import type { Block, Json, Message, Usage } from "./messages.ts";

/**
 * The ONE table of events. `subject` is the field that `modify` replaces (null: nothing can be modified);
 * `deny` says what a denial does: it `prevents` the thing, is one of several that `collect` reasons, or is
 * `ignored` with a warning. `match` is the field a matcher is compared with (null: matchers are ignored).
 * `scope` is which agents a hook sees by default; `aliases` are other names of the same moment, some of them
 * narrower (a scope or an outcome).
 */
export const EVENTS = {
  "session-start": { match: "source", subject: null, deny: "ignored", ask: false, scope: "root", aliases: {} },
  "user-prompt-submit": { match: null, subject: "prompt", deny: "prevents", ask: false, scope: "root", aliases: {} },
  "agent-start": {
    match: "agent_type",
    subject: "task",
    deny: "prevents",
    ask: false,
    scope: "all",
    aliases: { "subagent-start": { scope: "sub" } },
  },
  "turn-start": {
    match: null,
    subject: "turn",
    deny: "prevents",
    ask: false,
    scope: "all",
    aliases: { "pre-generation": {} },
  },
  "iteration": {
    match: null,
    subject: "request",
    deny: "prevents",
    ask: false,
    scope: "all",
    aliases: { "pre-iteration": {} },
  },
  "pre-tool-use": { match: "tool_name", subject: "input", deny: "prevents", ask: true, scope: "all", aliases: {} },
  "permission-request": {
    match: "tool_name",
    subject: "input",
    deny: "prevents",
    ask: false,
    scope: "all",
    aliases: {},
  },
  "tool-denied": { match: "tool_name", subject: null, deny: "ignored", ask: false, scope: "all", aliases: {} },
  "post-tool-use": {
    match: "tool_name",
    subject: "result",
    deny: "collects",
    ask: false,
    scope: "all",
    aliases: { "post-tool-use-failure": { outcome: "failure" } },
  },
  "stop": {
    match: "agent_type",
    subject: null,
    deny: "collects",
    ask: false,
    scope: "root",
    aliases: { "subagent-stop": { scope: "sub" } },
  },
  "turn-end": {
    match: null,
    subject: null,
    deny: "ignored",
    ask: false,
    scope: "all",
    aliases: { "post-generation": {} },
  },
  "agent-stop": { match: null, subject: null, deny: "ignored", ask: false, scope: "all", aliases: { "cleanup": {} } },
  "session-end": { match: "reason", subject: null, deny: "ignored", ask: false, scope: "root", aliases: {} },
  "model-switch": {
    match: "new_model",
    subject: "new_model",
    deny: "prevents",
    ask: true,
    scope: "all",
    aliases: { "pre-model-switch": {} },
  },
  "error": { match: "tool", subject: "retry", deny: "prevents", ask: false, scope: "all", aliases: {} },
  "pre-compact": { match: "trigger", subject: "instructions", deny: "prevents", ask: false, scope: "all", aliases: {} },
  "notification": { match: "notification_type", subject: null, deny: "ignored", ask: false, scope: "all", aliases: {} },
  "checkpoint": { match: "checkpoint_type", subject: null, deny: "ignored", ask: false, scope: "all", aliases: {} },
  "memory-update": { match: "file_path", subject: null, deny: "ignored", ask: false, scope: "all", aliases: {} },
  "agent-prompt": { match: "prompt_type", subject: null, deny: "ignored", ask: false, scope: "all", aliases: {} },
} as const satisfies Record<string, EventRow>;

export interface EventRow {
  readonly match: string | null;
  readonly subject: string | null;
  readonly deny: "prevents" | "collects" | "ignored";
  readonly ask: boolean;
  readonly scope: Scope;
  readonly aliases: { readonly [alias: string]: { readonly scope?: Scope; readonly outcome?: Outcome } };
}

export type Scope = "root" | "sub" | "all";

/** How an executed tool call ended; denied and invalid calls never reach `post-tool-use`. */
export type Outcome = "success" | "failure";

export type EventName = keyof typeof EVENTS;

export type Trigger = "user" | "hook_input" | "background" | "resume";

/** Why an agent's run ended. */
export type Stop =
  | "done"
  | "halted"
  | "denied"
  | "waiting"
  | "refused"
  | "truncated"
  | "max_iterations"
  | "max_continuations"
  | "stop_hook_stalled"
  | "budget"
  | "deadline"
  | "aborted"
  | "error";

/** What a tool call gave back, as hooks see and replace it. */
export interface ToolResult {
  readonly content: string | readonly Block[];
  readonly is_error: boolean;
  /** The tool's structured result, if it has one; otherwise its content. */
  readonly response: unknown;
}

/** The fields each event adds to what every event has. */
export interface EventFields {
  "session-start": {
    readonly source: "startup" | "resume" | "fork" | "clear" | "compact";
    readonly model: string;
    readonly profile: string | null;
    readonly config: Json | null;
  };
  "user-prompt-submit": { readonly prompt: string };
  "agent-start": { readonly task: string; readonly agent_type: string };
  "turn-start": {
    readonly trigger: Trigger;
    readonly prompt: string;
    readonly turn: { readonly system: string; readonly messages: readonly Message[] };
  };
  "iteration": {
    /** Zero-based in the turn; starts again after a stop hook sent the agent back. */
    readonly iteration: number;
    /** Zero-based in the run; never starts again. */
    readonly total_iterations: number;
    /** What the run has used so far. */
    readonly usage: Usage;
    readonly request: { readonly system: string; readonly messages: readonly Message[] };
  };
  "pre-tool-use": ToolFields;
  "permission-request": ToolFields & { readonly reason: string; readonly permission_suggestions: readonly Json[] };
  "tool-denied": ToolFields & { readonly reason: string; readonly denied_by: string };
  "post-tool-use": ToolFields & {
    readonly result: ToolResult;
    readonly outcome: Outcome;
    readonly failed: boolean;
    readonly error: string | null;
    readonly duration_ms: number;
  };
  "stop": {
    readonly last_assistant_message: string;
    /** The messages this turn has added. */
    readonly messages: readonly Message[];
    readonly usage: Usage;
    /** True once a stop hook has sent the agent back in this turn. */
    readonly stop_hook_active: boolean;
    /** How often this run was continued by anything but a person. */
    readonly continuations: number;
    /** Continuations in a row without an executed tool between them. */
    readonly stalled: number;
    /** Idle continuations that will still be honoured; null: no limit. */
    readonly remaining: number | null;
    readonly agent_type: string;
  };
  "turn-end": {
    readonly trigger: Trigger;
    readonly stop: Stop;
    readonly last_assistant_message: string;
    readonly messages: readonly Message[];
    readonly usage: Usage;
  };
  "agent-stop": { readonly stop: Stop; readonly result: string; readonly agent_type: string };
  "session-end": { readonly reason: string; readonly duration_ms: number };
  "model-switch": {
    readonly old_model: string | null;
    readonly new_model: string;
    readonly reason: string | null;
    readonly profile: string | null;
    readonly triggered_by: "user" | "automatic" | "fallback";
  };
  "error": {
    readonly error_type: string;
    readonly error_message: string;
    readonly tool: string | null;
    readonly stack_trace: string | null;
    readonly severity: "warning" | "error" | "critical";
    /** Whether `modify(true)` would be honoured: model calls, and tools that change nothing. */
    readonly retry: boolean;
  };
  "pre-compact": { readonly trigger: "manual" | "auto"; readonly instructions: string };
  "notification": { readonly message: string; readonly notification_type: string; readonly title: string | null };
  "checkpoint": {
    readonly checkpoint_id: string;
    readonly checkpoint_type: "auto" | "manual" | "periodic";
    readonly message_count: number;
    readonly duration_since_last_ms: number | null;
    readonly storage_path: string | null;
  };
  "memory-update": {
    readonly file_path: string;
    readonly update_type: "created" | "modified" | "deleted";
    readonly content_size: number | null;
    readonly previous_hash: string | null;
    readonly new_hash: string | null;
  };
  "agent-prompt": { readonly prompt_type: "plan_approval" | "question" | "permission"; readonly message: string };
}

interface ToolFields {
  readonly tool_name: string;
  /** The input as it stands after the hooks before this one. */
  readonly input: { readonly [key: string]: unknown };
  /** The input as the model gave it. */
  readonly original_input: { readonly [key: string]: unknown };
  readonly tool_use_id: string;
}

/** What `modify` replaces, by event. An event that is not here cannot be modified. */
export interface Subjects {
  "user-prompt-submit": string;
  "agent-start": string;
  "turn-start": { readonly system?: string; readonly messages?: readonly Message[] };
  "iteration": { readonly system?: string; readonly append?: string | readonly Message[] };
  "pre-tool-use": { readonly [key: string]: unknown };
  "permission-request": { readonly [key: string]: unknown };
  /** A whole result, a bare string for its content, or null to restore what the tool gave. */
  "post-tool-use": ToolResult | string | null;
  "model-switch": string;
  "error": boolean;
  "pre-compact": string;
}

/** What every event carries. Only dispatch sets these. */
export interface EventBase {
  readonly event_id: string;
  /** UTC, ISO 8601. */
  readonly timestamp: string;
  readonly session_id: string;
  readonly agent_id: string;
  readonly parent_agent_id?: string;
  /** The kind of a sub-agent; events of the root have it only if it is one of their fields. */
  readonly agent_type?: string;
  readonly turn_id: string;
}

/** One event, by its name. */
export type EventOf<N extends EventName> = { [K in N]: EventBase & { readonly event: K } & EventFields[K] }[N];

export type AnyEvent = EventOf<EventName>;

/** What a caller fires: the engine adds the rest. */
export type Fired<N extends EventName> = { [K in N]: { readonly event: K } & EventFields[K] }[N];

/** The fields an event may be fired without, and what they are then (S3.3–S3.9). */
export const DEFAULTS: { readonly [N in EventName]?: Partial<EventFields[N]> } = {
  "session-start": { source: "startup", model: "", profile: null, config: null },
  "error": { tool: null, stack_trace: null, severity: "error", retry: false },
  "checkpoint": { checkpoint_type: "auto", message_count: 0, duration_since_last_ms: null, storage_path: null },
  "model-switch": { reason: null, profile: null, triggered_by: "user" },
  "memory-update": { update_type: "modified", content_size: null, previous_hash: null, new_hash: null },
  "notification": { title: null },
};
