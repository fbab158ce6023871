import type { Refusal } from "./permission.ts";
import type { Run } from "./run.ts";
import { type Block, contentText, text, type TextBlock, toolResult, type ToolResultBlock } from "./messages.ts";
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
  readonly refused?: Omit<Refusal, "words"> | undefined;
}

/** Makes and reports the answer to a call: every call passes here once. */
export function answer(run: Run, call: ToolCall, ending: Ending): Answer {
  const { outcome, content, response, refused, ms = 0 } = ending;
  if (refused) run.denials.push({ tool_name: call.name, tool_use_id: call.id, reason: refused.reason, by: refused.by });
  run.emit({
    type: "tool_end",
    id: call.id,
    name: call.name,
    outcome,
    content: contentText(content),
    ...(response !== undefined && { response }),
    ...(refused && { refused }),
    ms,
  });
  const failed = outcome !== "success";
  const { inside, beside } = typeof content === "string" ? { inside: content, beside: [] } : parted(content, failed);
  return {
    block: toolResult(call.id, failed && inside.length === 0 ? "It failed, and did not say why" : inside, failed),
    after: [...beside, ...ending.after ?? []],
    waiting: ending.waiting ?? false,
  };
}

/** What the API takes inside a result: no text without words, and in a failure text and nothing else; the rest stands after it. */
function parted(content: readonly Block[], failed: boolean): { inside: readonly Block[]; beside: readonly Block[] } {
  const said = content.filter((block) => block.type !== "text" || (block as TextBlock).text !== "");
  const isApart = ({ type }: Block) => failed && type !== "text";
  return {
    inside: said.map((block) => isApart(block) ? text(`[${block.type}]`) : block),
    beside: said.filter((block) => isApart(block) && BESIDE.includes(block.type)),
  };
}

const BESIDE = ["image", "document"];
