import { begin, type Ending, type Ready, withContexts } from "./_execute.ts";
import { gate } from "./_gate.ts";
import type { Input } from "./events.ts";
import type { Run } from "./run.ts";
import { type Block, contentText, INTERRUPTED, text, type TextBlock, toolResult } from "./messages.ts";
import type { ToolCall } from "./model.ts";
import { findTool } from "./tool.ts";

export interface Answered {
  readonly content: readonly Block[];
  readonly waiting: boolean;
  /** The response of the last call that ends the turn. */
  readonly ended?: { readonly given: unknown };
}

/**
 * Answers every call of a reply exactly once, in its order: one tool_result a call, then what hooks said. Neighbours
 * that change nothing run together; a call that writes runs alone. Gates are asked in declared order just before their
 * call or batch.
 */
export async function answerCalls(
  run: Run,
  calls: readonly ToolCall[],
): Promise<Answered> {
  const endings = new Map<string, Ending>();
  const end = (call: ToolCall) => (ending: Ending) => {
    report(run, call, ending);
    endings.set(call.id, ending);
  };
  let batch: Ready[] = [];
  const runBatch = async () => {
    const begun = batch.map((ready) => begin(run, ready, end(ready.call)));
    batch = [];
    const finishing: Promise<void>[] = [];
    // In order: all calls end first; then hooks are asked in the order of the calls, whichever was faster.
    const inOrder = begun.length > 1 && run.agent.around?.isOrdered;
    if (inOrder) await Promise.allSettled(begun.map(({ ran }) => ran));
    for (const { finish } of begun) {
      const finished = finish();
      finishing.push(finished);
      if (inOrder) await finished.catch(() => {});
    }
    // All of a batch have ended before the first error leaves it: nothing is left running.
    for (const one of await Promise.allSettled(finishing)) if (one.status === "rejected") throw one.reason;
  };
  try {
    for (const call of calls) {
      const tool = findTool(run.agent.tools, call.name);
      const alone = tool?.effect === "write" && !tool.parallel;
      if (alone && batch.length > 0) await runBatch();
      const ready = await gate(run, call, tool, end(call));
      if (ready) batch.push(ready);
      if (alone && ready) await runBatch();
    }
    if (batch.length > 0) await runBatch();
    if (run.hears("post-tool-batch")) await reviewBatch(run, calls, endings);
  } catch (error) {
    // Whatever ends the run, no tool_use stays open: the API would never take the conversation again.
    run.pending = answers(run, calls, endings);
    throw error;
  }
  const content = answers(run, calls, endings);
  const endsTurn = ({ id, name }: ToolCall) =>
    endings.get(id)?.outcome === "success" && findTool(run.agent.tools, name)?.ends;
  const last = calls.findLast(endsTurn);
  return {
    content,
    waiting: [...endings.values()].some(({ wait }) => wait),
    ...(last && { ended: { given: endings.get(last.id)!.response } }),
  };
}

/** Asks the hooks once all results are in: a denial ends the run, context goes with the last result. */
async function reviewBatch(run: Run, calls: readonly ToolCall[], endings: Map<string, Ending>): Promise<void> {
  const said = await run.fire({
    event: "post-tool-batch",
    tool_calls: calls.map(({ id, name, input }) => {
      const { content, outcome } = endings.get(id)!;
      const response = contentText(content);
      return { tool_name: name, input: input as Input, tool_use_id: id, response, is_error: outcome !== "success" };
    }),
  });
  if (said.decision === "deny") run.halt ??= { hook: said.deniedBy!, reason: said.reason ?? "" };
  const { id } = calls.at(-1)!;
  endings.set(id, withContexts(run, endings.get(id)!, said.contexts));
}

/** Every call passes here once. */
function report(run: Run, { id, name }: ToolCall, ending: Ending): void {
  const { outcome, content, response, refused, ms = 0, contexts = [] } = ending;
  if (refused) run.denials.push({ tool_name: name, tool_use_id: id, reason: refused.reason, by: refused.by });
  const more = {
    ...(response !== undefined && { response }),
    ...(contexts.length > 0 && { contexts: contexts.map(({ hook = "", text }) => ({ hook, text })) }),
    ...(refused && { refused }),
  };
  run.emit({ type: "tool_end", id, name, outcome, content: contentText(content), ...more, ms });
}

function answers(run: Run, calls: readonly ToolCall[], endings: ReadonlyMap<string, Ending>): Block[] {
  const results: Block[] = [];
  const after: Block[] = [];
  for (const call of calls) {
    let ending = endings.get(call.id);
    if (!ending) report(run, call, ending = { outcome: "interrupted", content: INTERRUPTED });
    const failed = ending.outcome !== "success";
    const { inside, beside } = parted(ending.content, failed);
    results.push(
      toolResult(call.id, failed && inside.length === 0 ? "It failed, and did not say why" : inside, failed),
    );
    after.push(...beside, ...ending.after ?? []);
  }
  results.push(...after);
  return results;
}

/** What the API takes inside a result: no text without words, and in a failure text and nothing else; the rest stands after it. */
function parted(content: Ending["content"], failed: boolean): { inside: Ending["content"]; beside: readonly Block[] } {
  if (typeof content === "string") return { inside: content, beside: [] };
  const said = content.filter((block) => block.type !== "text" || (block as TextBlock).text !== "");
  const isApart = ({ type }: Block) => failed && type !== "text";
  return {
    inside: said.map((block) => isApart(block) ? text(`[${block.type}]`) : block),
    beside: said.filter((block) => isApart(block) && BESIDE.includes(block.type)),
  };
}

const BESIDE = ["image", "document"];
