import type { Run } from "./run.ts";
import { type Block, contentText, toolResult, type ToolResultBlock } from "./messages.ts";
import type { ToolCall } from "./model.ts";
import type { CallOutcome } from "./run-events.ts";

/** One call's answer, and what hooks added to it. */
export interface Answer {
  readonly block: ToolResultBlock;
  /** Stands after all tool_results of the message. */
  readonly after: readonly Block[];
  readonly waiting: boolean;
}

export interface Ending {
  readonly outcome: CallOutcome;
  readonly content: string | readonly Block[];
  readonly response?: unknown;
  readonly ms?: number;
  readonly after?: readonly Block[];
  readonly waiting?: boolean;
}

/** Makes a call's answer and tells of it: every call passes here once. */
export function answer(run: Run, call: ToolCall, ending: Ending): Answer {
  const { outcome, content, response, ms = 0 } = ending;
  run.emit({
    type: "tool_end",
    id: call.id,
    name: call.name,
    outcome,
    content: contentText(content),
    ...(response !== undefined && { response }),
    ms,
  });
  return {
    block: toolResult(call.id, content, outcome !== "success"),
    after: ending.after ?? [],
    waiting: ending.waiting ?? false,
  };
}
