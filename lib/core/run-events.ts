import type { Folded } from "./fold.ts";
import type { Denial, EventName, Stop } from "./events.ts";
import type { Message, Usage } from "./messages.ts";

/** How one tool call ended (U8). */
export type CallOutcome = "success" | "failure" | "denied" | "invalid" | "interrupted";

/** What a run reports while it happens, by `type`. Every event has an `agent_id`: it may be of an agent below. */
export type RunEvent = {
  [T in keyof Reported]: { readonly agent_id: string; readonly type: T } & Readonly<Reported[T]>;
}[keyof Reported];

interface Reported {
  start: { session_id: string; agent_type: string; prompt: string; model: string };
  text: { text: string };
  thinking: { text: string };
  tool_start: { id: string; name: string; input: unknown };
  tool_progress: { id: string; text: string };
  tool_end: {
    id: string;
    name: string;
    outcome: CallOutcome;
    content: string;
    response?: unknown;
    /** What hooks added to the call for the model, before it and after it. */
    contexts?: readonly { readonly hook: string; readonly text: string }[];
    /** Who refused the call and why; `note` is one line for a person, with what would allow it. */
    refused?: { readonly by: string; readonly reason: string; readonly note?: string };
    ms: number;
  };
  hook_start: { hook: string; event: EventName };
  hook_end: { hook: string; event: EventName; decision: string; reason?: string; failure?: string; ms: number };
  /** The ledger of one fire, for logs that explain; with the call it was about, if any. */
  fired: { event: EventName; folded: Folded; tool_use_id?: string };
  /** What a command hook writes, as it writes it: for listeners only, not for logs. */
  hook_output: { hook: string; event: EventName; stream: "stdout" | "stderr"; text: string };
  /** A command that runs for a hook as a person's own would: its begin, its end, and what it writes between them. */
  exec: { exec: unknown };
  hook_input: { hook: string; event: EventName; text: string };
  /** A message as it stands in the transcript; an index seen before means that it was replaced. */
  message: { message: Message; index: number };
  /** What a model call took; `hook` is there if a prompt hook made it. The cost of a model without a known price is undefined. */
  usage: { usage: Usage; model: string; cost: number | undefined; hook?: string };
  retry: { attempt: number; reason: string; wait_ms: number };
  model: { model: string; was: string; reason: string | null };
  /** The conversation goes on from these messages; what was before stays in the log. */
  compact: { messages: readonly Message[]; before: number; after: number };
  checkpoint: { id: string; at: number; kind: "auto" | "manual" | "periodic" };
  /** A call waits for a person, who answers by this token, whenever and from wherever. */
  question: { token: string; tool_name: string; input: unknown; reason: string };
  warning: { message: string };
  /** What a hook wrote with `ctx.log`. */
  log: { hook: string; message: string };
  system_message: { hook: string; text: string };
  end: { stop: Stop; text: string };
}

/** How a run ended. Whatever happens after the start, there is one, and it has the transcript. */
export interface Result {
  /** The session's id, with which it can be resumed. */
  readonly id: string;
  /** The last words of the agent. */
  readonly text: string;
  readonly stop: Stop;
  readonly messages: readonly Message[];
  readonly turns: number;
  readonly iterations: number;
  /** The replies of models, of sub-agents and hooks too, as `usage` and `cost` have them. */
  readonly modelCalls: number;
  readonly usage: Usage;
  /** In US dollars; undefined if a price is unknown. */
  readonly cost: number | undefined;
  readonly denials: readonly Denial[];
  /** What the run gives back, if its agent has an `output` and it stopped with "done". */
  readonly output?: unknown;
  readonly error?: { readonly type: string; readonly message: string };
}
