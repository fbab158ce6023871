import { present } from "./json.ts";
import { begin, type Ending, type Ready, withContexts } from "./_execute.ts";
import type { Input } from "./events.ts";
import type { Folded } from "./fold.ts";
import { Ended } from "./limits.ts";
import { type Block, contentText, INTERRUPTED, isText, text, toolResult } from "./messages.ts";
import type { ToolCall } from "./model.ts";
import type { Run } from "./run.ts";
import { type Refusal, refusalOf, unanswered } from "./hook-words.ts";
import { isThenable } from "./clock.ts";
import { thrownWords } from "./shown.ts";
import { type Checked, findTool, type GatedCall, type Tool } from "./tool.ts";

interface Answered {
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
  const heard = contexts.length > 0 ? contexts.map(({ hook = "", text }) => ({ hook, text })) : undefined;
  const more = present({ response, contexts: heard, refused });
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
  const said = content.filter((block) => !isText(block) || block.text !== "");
  const isApart = ({ type }: Block) => failed && type !== "text";
  return {
    inside: said.map((block) => isApart(block) ? text(`[${block.type}]`) : block),
    beside: said.filter((block) => isApart(block) && BESIDE.includes(block.type)),
  };
}

const BESIDE = ["image", "document"];

/** Everything before a call may run: is it one, do its hooks let it pass, is it permitted. One that may not is ended here. */
async function gate(
  run: Run,
  call: ToolCall,
  tool: Tool | undefined,
  end: (ending: Ending) => void,
): Promise<Ready | undefined> {
  const invalid = (why: string) => void end({ outcome: "invalid", content: `Cannot call ${call.name} as ${why}` });
  if (!tool) {
    const known = run.agent.tools.map((t) => t.name).join(", ") || "none";
    return invalid(`there is no such tool: the tools are ${known}`);
  }
  if (call.invalid !== undefined) return invalid(call.invalid);
  const original = await checked(run, tool, call.input);
  if ("why" in original) return invalid(`its input is not valid: ${original.why}`);

  const fields = { tool_name: tool.name, original_input: original.input, tool_use_id: call.id };
  const pre = await run.fire({ event: "pre-tool-use", ...fields, input: original.input });
  const heard = { after: run.heard(pre.contexts), contexts: pre.contexts };
  const refuse = async ({ words, ...refused }: Refusal, input: Input) => {
    end({ outcome: "denied", content: words, ...heard, refused });
    await run.fire({ event: "tool-denied", ...fields, input, reason: refused.reason, denied_by: refused.by });
    return undefined;
  };
  if (pre.decision === "deny") return refuse(refusalOf(pre.denials[0]!), original.input);
  const changed = pre.modified ? await checked(run, tool, pre.value) : original;
  if ("why" in changed) {
    const by = pre.runs.filter((r) => r.opinion?.value).map((r) => r.hook).join(", ");
    const content =
      `PreToolUse hook for ${tool.name} returned updatedInput that failed schema validation: ${changed.why} ` +
      `(hook ${by})\nThe tool input from the model was valid; the hook's rewrite of it was not.`;
    return void end({ outcome: "invalid", content, ...heard });
  }
  const { input } = changed;
  const asking = { tool, input, fields, check: (value: unknown) => checked(run, tool, value) };
  const { permit = withoutRules } = run.agent;
  const permitted = await permit(run, asking, pre);
  if ("by" in permitted) return refuse(permitted, input);
  if (tool.asks) await run.fire({ event: "agent-prompt", ...tool.asks(permitted.input) });
  return { call, tool, input: permitted.input, original: original.input, ...heard };
}

/** A call may run unless a hook asks for confirmation, or a recording has it refused. */
function withoutRules({ agent: { around } }: Run, { input, fields: { tool_use_id } }: GatedCall, { asked }: Folded) {
  const known = around?.refusals?.recall(tool_use_id);
  if (known || !asked) return known ?? { input };
  const refusal = unanswered(asked);
  around?.refusals?.note(tool_use_id, refusal);
  return refusal;
}

/** The input as the tool takes it and hooks see it, or why it does not. */
async function checked(run: Run, tool: Tool, input: unknown): Promise<Checked> {
  try {
    const parsing = tool.parse(input);
    const parsed = isThenable(parsing) ? await run.interruptible(parsing) : parsing;
    return { input: tool.prepare ? tool.prepare(parsed, { cwd: run.state.cwd() }) : parsed };
  } catch (error) {
    if (error instanceof Ended) throw error;
    return { why: thrownWords(error) };
  }
}
