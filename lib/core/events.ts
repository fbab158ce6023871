import type { Block, Json, Message, Usage } from "./messages.ts";

export interface EventRow {
  /** The field a matcher is compared with; null: matchers are ignored. */
  readonly match: string | null;
  /** The field that `modify` replaces; null: nothing can be modified. */
  readonly subject: string | null;
  /** What `modify` must give. A view has several optional parts, of which a hook changes only those it names. */
  readonly takes: "text" | "boolean" | "view" | "any";
  /** A denial prevents the thing, is one of several whose reasons are collected, or is ignored with a warning. */
  readonly deny: "prevents" | "collects" | "ignored";
  readonly ask: boolean;
  /** Whether a model reads contexts (U6); otherwise there is no message of the event for them to go into. */
  readonly read: boolean;
  /** What the failure of a module does, unless the hook says so (U7). */
  readonly failure: "continue" | "deny" | "abort";
  /** Whether what it is about must not happen without its hooks: they refuse where they cannot be asked. */
  readonly guards: boolean;
  /** Whether our own loop fires it: other hosts have more events, for which hook files can be written too. */
  readonly fires: boolean;
  /** Whether its form on the wire is ours alone: a hook that we serve to ourselves reads it as we wrote it. */
  readonly own: boolean;
  /** The agents that a hook sees by default. */
  readonly scope: Scope;
  /** Other names of the same moment, some of them narrower. */
  readonly aliases: { readonly [alias: string]: { readonly scope?: Scope; readonly outcome?: Outcome } };
}

/** A row as it is written: one whose failure refuses says what happens where it cannot be asked. */
export type GivenRow =
  & Partial<Omit<EventRow, "failure" | "guards">>
  & (
    | { readonly failure?: "continue" | "abort"; readonly guards?: boolean }
    | { readonly failure: "deny"; readonly guards: boolean }
  );

/** An event of all agents that only observes. */
const PLAIN = {
  match: null,
  subject: null,
  takes: "any",
  deny: "ignored",
  ask: false,
  read: false,
  failure: "continue",
  guards: false,
  fires: true,
  own: false,
  scope: "all",
  aliases: {},
} as const;
const GATE = { deny: "prevents", read: true } as const;

/** An event that only other hosts fire. */
const FOREIGN = { fires: false } as const;

/** An event about what the model would be shown. */
const VIEW = { ...GATE, own: true, takes: "view", failure: "abort" } as const;

/** The ONE table of events; a row says what is not as in `PLAIN`. Without calls: JSR reads types out of it as it stands. */
const ROWS = {
  "session-start": { match: "source", read: true, failure: "abort", scope: "root" },
  "user-prompt-submit": { ...GATE, subject: "prompt", takes: "text", failure: "deny", guards: true, scope: "root" },
  "agent-start": {
    ...GATE,
    own: true,
    match: "agent_type",
    subject: "task",
    takes: "text",
    failure: "abort",
    aliases: { "subagent-start": { scope: "sub" } },
  },
  "turn-start": { ...VIEW, subject: "turn", aliases: { "pre-generation": {} } },
  "iteration": { ...VIEW, subject: "request", aliases: { "pre-iteration": {} } },
  "pre-tool-use": { ...GATE, match: "tool_name", subject: "input", ask: true, failure: "deny", guards: true },
  "permission-request": { match: "tool_name", subject: "input", deny: "prevents", guards: true },
  "tool-denied": { match: "tool_name", aliases: { "permission-denied": {} } },
  "post-tool-use": {
    match: "tool_name",
    subject: "result",
    deny: "collects",
    read: true,
    aliases: { "post-tool-use-failure": { outcome: "failure" } },
  },
  "post-tool-batch": GATE,
  "stop": {
    match: "agent_type",
    deny: "collects",
    read: true,
    scope: "root",
    aliases: { "subagent-stop": { scope: "sub" } },
  },
  "stop-failure": { match: "error", scope: "root" },
  "turn-end": { own: true, read: true, aliases: { "post-generation": {} } },
  "agent-stop": { own: true, aliases: { "cleanup": {} } },
  "session-end": { match: "reason", scope: "root" },
  "model-switch": {
    own: true,
    match: "new_model",
    subject: "new_model",
    takes: "text",
    deny: "prevents",
    ask: true,
    failure: "deny",
    guards: false,
    aliases: { "pre-model-switch": {} },
  },
  "post-model-switch": { match: "new_model", read: true },
  "error": { own: true, ...GATE, match: "tool", subject: "retry", takes: "boolean" },
  "pre-compact": { ...GATE, match: "trigger", subject: "instructions", takes: "text" },
  "post-compact": { match: "trigger" },
  "notification": { match: "notification_type" },
  "checkpoint": { own: true, match: "checkpoint_type" },
  "memory-update": { own: true, match: "file_path" },
  "agent-prompt": { own: true, match: "prompt_type" },
  "cwd-changed": {},
  "instructions-loaded": { match: "load_reason" },
  "setup": { ...FOREIGN, match: "trigger", read: true },
  "user-prompt-expansion": { ...FOREIGN, ...GATE, match: "command_name" },
  "message-display": { ...FOREIGN, subject: "delta", takes: "text" },
  "task-created": { ...FOREIGN, deny: "prevents" },
  "task-completed": { ...FOREIGN, deny: "prevents" },
  "todo-created": { ...FOREIGN, deny: "prevents" },
  "todo-completed": { ...FOREIGN, deny: "prevents" },
  "teammate-idle": { ...FOREIGN, deny: "prevents" },
  "elicitation": { ...FOREIGN, deny: "prevents", match: "mcp_server_name" },
  "elicitation-result": { ...FOREIGN, deny: "prevents", match: "mcp_server_name" },
  "config-change": { ...FOREIGN, deny: "prevents", match: "source" },
  "file-changed": { ...FOREIGN, match: "file_path" },
  "directory-added": { ...FOREIGN, match: "source" },
  "worktree-create": { ...FOREIGN, subject: "worktree_path", takes: "text", deny: "prevents" },
  "worktree-remove": FOREIGN,
  "session-delete": FOREIGN,
} as const satisfies { readonly [event: string]: GivenRow };
type Rows = typeof ROWS;
/** The name of an event, as `pre-tool-use`. */
export type EventName = keyof Rows;
type Row<N extends EventName> = {
  readonly [K in keyof EventRow]: K extends keyof Rows[N] ? Rows[N][K] : (typeof PLAIN)[K];
};

export type NameOf<N extends EventName> = { [K in N]: K | keyof Row<K>["aliases"] }[N];

/** The table, with all of each row. */
export const EVENTS: { readonly [N in EventName]: Row<N> } = Object.fromEntries(
  Object.entries(ROWS).map(([name, row]) => [name, { ...PLAIN, ...row }]),
) as { readonly [N in EventName]: Row<N> };

export type Scope = "root" | "sub" | "all";

/** How an executed tool call ended; denied and invalid calls never reach `post-tool-use`. */
export type Outcome = "success" | "failure";

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

/** A call that was refused, and what refused it. */
export type Denial = Readonly<{ tool_name: string; tool_use_id: string; reason: string; by: string }>;

/** What came of an agent. The cost is in US dollars; null if a price is unknown. */
interface AgentResult {
  readonly text: string;
  readonly stop: Stop;
  readonly usage: Usage;
  readonly cost: number | null;
  readonly denials: readonly Denial[];
}

/** The fields each event adds to what every event has. */
export type EventFields = { readonly [N in EventName]: Readonly<FieldsByEvent[N]> };

interface FieldsByEvent {
  "session-start": {
    source: "startup" | "resume" | "fork" | "clear" | "compact";
    model: string;
    profile: string | null;
    config: Json | null;
  };
  "user-prompt-submit": { prompt: string };
  "agent-start": { task: string; agent_type: string };
  "turn-start": { trigger: Trigger; prompt: string; turn: ModelInput };
  "iteration": {
    /** Zero-based in the turn; starts again after a stop hook sent the agent back. */
    iteration: number;
    /** Zero-based in the run; never starts again. */
    total_iterations: number;
    usage: Usage;
    request: ModelInput;
  };
  "pre-tool-use": ToolFields;
  "permission-request": ToolFields & { reason: string; permission_suggestions: readonly Json[] };
  "tool-denied": ToolFields & { reason: string; denied_by: string };
  "post-tool-use": ToolFields & {
    result: ToolResult;
    outcome: Outcome;
    failed: boolean;
    error: string | null;
    duration_ms: number;
  };
  /** All calls of one reply, as the model called them and as it reads their results. */
  "post-tool-batch": {
    tool_calls: readonly Readonly<Omit<ToolFields, "original_input"> & { response: string; is_error: boolean }>[];
  };
  "stop": {
    last_assistant_message: string;
    messages: readonly Message[];
    usage: Usage;
    /** True once a stop hook has sent the agent back in this turn. */
    stop_hook_active: boolean;
    /** How often this run was continued by anything but a person. */
    continuations: number;
    /** Continuations in a row without an executed tool between them. */
    stalled: number;
    /** Idle continuations that will still be honoured; null: no limit. */
    remaining: number | null;
    agent_type: string;
    /** What the run gives back, if its agent has an `output`. */
    output?: unknown;
  };
  /** The run ends as the model cannot be reached; `error` is the code of its API. */
  "stop-failure": { error: string; error_details: string; last_assistant_message: string };
  "turn-end": {
    trigger: Trigger;
    stop: Stop;
    last_assistant_message: string;
    messages: readonly Message[];
    usage: Usage;
  };
  "agent-stop": { stop: Stop; result: AgentResult; agent_type: string };
  "session-end": { reason: string; duration_ms: number };
  "model-switch": {
    old_model: string | null;
    new_model: string;
    reason: string | null;
    profile: string | null;
    triggered_by: "user" | "automatic" | "fallback";
  };
  "post-model-switch": Pick<FieldsByEvent["model-switch"], "old_model" | "new_model" | "reason" | "triggered_by">;
  "error": {
    error_type: string;
    error_message: string;
    tool: string | null;
    stack_trace: string | null;
    severity: "warning" | "error" | "critical";
    /** Whether `modify(true)` would be honoured: model calls, and tools that change nothing. */
    retry: boolean;
  };
  "pre-compact": { trigger: "manual" | "auto"; instructions: string };
  "post-compact": { trigger: "manual" | "auto"; summary: string };
  "notification": { message: string; notification_type: string; title: string | null };
  "checkpoint": {
    checkpoint_id: string;
    checkpoint_type: "auto" | "manual" | "periodic";
    message_count: number;
    duration_since_last_ms: number | null;
    storage_path: string | null;
  };
  "memory-update": {
    file_path: string;
    update_type: "created" | "modified" | "deleted";
    content_size: number | null;
    previous_hash: string | null;
    new_hash: string | null;
  };
  "agent-prompt": { prompt_type: "plan_approval" | "question" | "permission"; message: string };
  "cwd-changed": { old_cwd: string; new_cwd: string };
  "instructions-loaded": { file_path: string; memory_type: "User" | "Project" | "Local"; load_reason: string };
  // What follows is fired by other hosts alone; null is what a host leaves out.
  "setup": { trigger: "init" | "maintenance" };
  "user-prompt-expansion": {
    expansion_type: string;
    command_name: string;
    command_args: string;
    command_source: string | null;
    prompt: string;
  };
  "message-display": { message_id: string; index: number; final: boolean; delta: string };
  "task-created": TaskFields;
  "task-completed": TaskFields;
  "todo-created": TodoFields & { todo_status: string };
  "todo-completed": TodoFields & { previous_status: string };
  "teammate-idle": { teammate_name: string; team_name: string };
  "elicitation": { mcp_server_name: string; message: string; mode: string | null; requested_schema: Json | null };
  "elicitation-result": { mcp_server_name: string; mode: string | null; action: string; content: Json | null };
  "config-change": { source: string; file_path: string | null };
  "file-changed": { file_path: string; change: "change" | "add" | "unlink" };
  "directory-added": { directory: string; source: string };
  /** A hook makes the worktree and gives its path. */
  "worktree-create": { name: string; worktree_path: string };
  "worktree-remove": { worktree_path: string };
  "session-delete": { deleted_session_id: string };
}

interface TaskFields {
  task_id: string;
  task_subject: string;
  task_description: string | null;
  teammate_name: string | null;
}

interface TodoFields {
  todo_id: string;
  todo_content: string;
  /** A host asks before it writes (`validation`), and tells after (`postWrite`). */
  phase: string;
}

/** What the model would be shown. */
interface ModelInput {
  readonly system: string;
  readonly messages: readonly Message[];
}

export type Input = { readonly [key: string]: unknown };

interface ToolFields {
  tool_name: string;
  /** The input as it stands after the hooks before this one. */
  input: Input;
  /** The input as the model gave it. */
  original_input: Input;
  tool_use_id: string;
}

type Modifiable = { [N in EventName]: Row<N>["subject"] extends null ? never : N }[EventName];

/** What `modify` replaces, by event. An event that is not here cannot be modified. */
export type Subjects = { readonly [N in Modifiable]: SubjectByEvent[N] };

interface SubjectByEvent {
  "user-prompt-submit": string;
  "agent-start": string;
  "turn-start": { readonly system?: string; readonly messages?: readonly Message[] };
  "iteration": { readonly system?: string; readonly append?: string | readonly Message[] };
  "pre-tool-use": Input;
  "permission-request": Input;
  /** A whole result, a bare string for its content, or null to restore what the tool gave. */
  "post-tool-use": ToolResult | string | null;
  "model-switch": string;
  "error": boolean;
  "pre-compact": string;
  "message-display": string;
  "worktree-create": string;
}

/** What every event carries. Only dispatch sets these. */
interface EventBase {
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

/** What a hook gets of an event of this name. */
export type EventOf<N extends EventName> = { [K in N]: EventBase & { readonly event: K } & EventFields[K] }[N];

export type AnyEvent = EventOf<EventName>;

/** What a caller fires: the engine adds the rest. */
export type Fired<N extends EventName = EventName> = { [K in N]: { readonly event: K } & EventFields[K] }[N];
