import type { Folded } from "./fold.ts";
import type { EventName, Stop } from "./events.ts";
import type { Message, Usage } from "./messages.ts";

/** How one tool call ended (U8). */
export type CallOutcome = "success" | "failure" | "denied" | "invalid" | "interrupted";

/** What a run reports while it happens. Every event has an `agent_id`, so sub-agents can be told apart. */
export type RunEvent =
  & { readonly agent_id: string }
  & (
    | {
      readonly type: "start";
      readonly session_id: string;
      readonly agent_type: string;
      readonly prompt: string;
      readonly model: string;
    }
    | { readonly type: "text"; readonly text: string }
    | { readonly type: "thinking"; readonly text: string }
    | { readonly type: "tool_start"; readonly id: string; readonly name: string; readonly input: unknown }
    | { readonly type: "tool_progress"; readonly id: string; readonly text: string }
    | {
      readonly type: "tool_end";
      readonly id: string;
      readonly name: string;
      readonly outcome: CallOutcome;
      readonly content: string;
      readonly response?: unknown;
      /** Who refused the call and why; `note` is one line for a person, with what would allow it. */
      readonly refused?: { readonly by: string; readonly reason: string; readonly note?: string };
      readonly ms: number;
    }
    | { readonly type: "hook_start"; readonly hook: string; readonly event: EventName }
    | {
      readonly type: "hook_end";
      readonly hook: string;
      readonly event: EventName;
      readonly decision: string;
      readonly reason?: string;
      readonly failure?: string;
      readonly ms: number;
    }
    /** The ledger of one fire, for logs that explain; with the call it was about, if any. */
    | {
      readonly type: "fired";
      readonly event: EventName;
      readonly folded: Folded;
      readonly tool_use_id?: string;
    }
    /** What a command hook writes, as it writes it: for listeners only, not for logs. */
    | {
      readonly type: "hook_output";
      readonly hook: string;
      readonly event: EventName;
      readonly stream: "stdout" | "stderr";
      readonly text: string;
    }
    /** A command that runs for a hook as a person's own would: its begin, its end, and what it writes between them. */
    | { readonly type: "exec"; readonly exec: unknown }
    | { readonly type: "hook_input"; readonly hook: string; readonly event: EventName; readonly text: string }
    /** A message as it stands in the transcript; an index seen before means that it was replaced. */
    | { readonly type: "message"; readonly message: Message; readonly index: number }
    /** What a model call took; `hook` is there if a prompt hook made it. The cost of a model without a known price is undefined. */
    | {
      readonly type: "usage";
      readonly usage: Usage;
      readonly model: string;
      readonly cost: number | undefined;
      readonly hook?: string;
    }
    | { readonly type: "retry"; readonly attempt: number; readonly reason: string; readonly wait_ms: number }
    | { readonly type: "model"; readonly model: string; readonly was: string; readonly reason: string | null }
    /** The conversation goes on from these messages; what was before stays in the log. */
    | {
      readonly type: "compact";
      readonly messages: readonly Message[];
      readonly before: number;
      readonly after: number;
    }
    | {
      readonly type: "checkpoint";
      readonly id: string;
      readonly at: number;
      readonly kind: "auto" | "manual" | "periodic";
    }
    /** A call waits for a person, who answers by this token, whenever and from wherever. */
    | {
      readonly type: "question";
      readonly token: string;
      readonly tool_name: string;
      readonly input: unknown;
      readonly reason: string;
    }
    | { readonly type: "warning"; readonly message: string }
    /** What a hook wrote with `ctx.log`. */
    | { readonly type: "log"; readonly hook: string; readonly message: string }
    | { readonly type: "system_message"; readonly hook: string; readonly text: string }
    | { readonly type: "end"; readonly stop: Stop; readonly text: string }
  );

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
  readonly usage: Usage;
  /** In US dollars; undefined if a price is unknown. */
  readonly cost: number | undefined;
  readonly denials: readonly {
    readonly tool_name: string;
    readonly tool_use_id: string;
    readonly reason: string;
    readonly by: string;
  }[];
  readonly error?: { readonly type: string; readonly message: string };
}
