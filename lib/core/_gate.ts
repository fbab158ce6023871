import type { Ending, Ready } from "./_execute.ts";
import type { Input } from "./events.ts";
import type { Folded } from "./fold.ts";
import { Ended } from "./limits.ts";
import type { ToolCall } from "./model.ts";
import type { Run } from "./run.ts";
import type { Checked, GatedCall, Tool } from "./tool.ts";
import { type Refusal, refusalOf, unanswered } from "./said.ts";
import { thrownWords } from "./thrown.ts";
import { isThenable } from "./settle.ts";

/** Everything before a call may run: is it one, do its hooks let it pass, is it permitted. One that may not is ended here. */
export async function gate(
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
