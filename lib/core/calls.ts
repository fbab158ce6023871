import { type Answer, answer } from "./_answer.ts";
import { begin, type Begun, finish } from "./_execute.ts";
import { gate, type Ready } from "./_gate.ts";
import type { Run } from "./run.ts";
import { type Block, INTERRUPTED } from "./messages.ts";
import type { ToolCall } from "./model.ts";
import { findTool } from "./tool.ts";

export interface Answered {
  /** One tool_result a call, in the model's order, then what hooks said. */
  readonly content: Block[];
  readonly waiting: boolean;
}

/**
 * Answers every call of a reply exactly once, in its order. Neighbours that change nothing run together; a call
 * that writes runs alone. Gates are asked in declared order just before their call or batch.
 */
export async function answerCalls(run: Run, calls: readonly ToolCall[]): Promise<Answered> {
  const answers = new Map<string, Answer>();
  const batch: Ready[] = [];
  try {
    for (const call of calls) {
      const tool = findTool(run.agent.tools, call.name);
      const alone = tool?.effect === "write" && !tool.parallel;
      if (alone) await runBatch(run, batch, answers);
      const ready = await gate(run, call, tool, answers);
      if (ready) batch.push(ready);
      if (alone) await runBatch(run, batch, answers);
    }
    await runBatch(run, batch, answers);
  } catch (error) {
    // Whatever ends the run, no tool_use stays open: the API would never take the conversation again.
    run.pending = collect(run, calls, answers).content;
    throw error;
  }
  return collect(run, calls, answers);
}

/** Waits for all of a batch before the first error leaves it, so that nothing is left running. */
async function runBatch(run: Run, batch: Ready[], answers: Map<string, Answer>): Promise<void> {
  if (batch.length === 0) return;
  const begun: Begun[] = [];
  for (const ready of batch) begun.push(begin(run, ready));
  batch.length = 0;
  if (begun.length === 1) return finish(run, begun[0]!, answers);
  if (run.agent.around?.isOrdered) return await inTurn(run, begun, answers);
  const ends = await Promise.allSettled(begun.map((call) => finish(run, call, answers)));
  for (const end of ends) if (end.status === "rejected") throw end.reason;
}

/** All calls end first; then hooks are asked in the order of the calls, whichever was faster. */
async function inTurn(run: Run, begun: readonly Begun[], answers: Map<string, Answer>): Promise<void> {
  await Promise.allSettled(begun.map(({ ran }) => ran));
  let failed: { error: unknown } | undefined;
  for (const call of begun) {
    try {
      await finish(run, call, answers);
    } catch (error) {
      failed ??= { error };
    }
  }
  if (failed) throw failed.error;
}

function collect(run: Run, calls: readonly ToolCall[], answers: ReadonlyMap<string, Answer>): Answered {
  const content: Block[] = [];
  const after: Block[] = [];
  let waiting = false;
  for (const call of calls) {
    const given = answers.get(call.id) ?? answer(run, call, { outcome: "interrupted", content: INTERRUPTED });
    content.push(given.block);
    after.push(...given.after);
    waiting ||= given.waiting;
  }
  content.push(...after);
  return { content, waiting };
}
