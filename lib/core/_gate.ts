import { type Answer, answer, type Ending } from "./_answer.ts";
import { isThenable } from "./_settle.ts";
import { thrownWords } from "./thrown.ts";
import type { Folded } from "./fold.ts";
import { Ended } from "./limits.ts";
import type { Permission, Refusal } from "./permission.ts";
import type { Run } from "./run.ts";
import type { Block } from "./messages.ts";
import type { ToolCall } from "./model.ts";
import type { Tool } from "./tool.ts";

export type Input = { readonly [key: string]: unknown };

/** A call that may run: a known tool, a checked input, gates passed. */
export interface Ready {
  readonly call: ToolCall;
  readonly tool: Tool;
  readonly input: Input;
  readonly original: Input;
  /** What the gates said beside their verdict. */
  readonly after: readonly Block[];
}

/**
 * Everything that comes before a call may run: is it one, do the hooks let it, do the rules, does a person. A call
 * that may not is answered here.
 */
export async function gate(
  run: Run,
  call: ToolCall,
  tool: Tool | undefined,
  answers: Map<string, Answer>,
): Promise<Ready | undefined> {
  const end = (ending: Ending) => void answers.set(call.id, answer(run, call, ending));
  const invalid = (why: string) => end({ outcome: "invalid", content: `Cannot call ${call.name} as ${why}` });
  if (!tool) {
    const known = run.agent.tools.map((t) => t.name).join(", ") || "none";
    return invalid(`there is no such tool: the tools are ${known}`);
  }
  if (call.invalid !== undefined) return invalid(call.invalid);
  const checking = checked(run, tool, call.input);
  const original = checking instanceof Promise ? await checking : checking;
  if ("why" in original) return invalid(`its input is not valid: ${original.why}`);

  const fields = { tool_name: tool.name, original_input: original.input, tool_use_id: call.id };
  const pre = await run.fire({ event: "pre-tool-use", ...fields, input: original.input });
  const after = run.heard(pre.contexts);
  const refuse = async ({ words, ...refused }: Refusal, input: Input) => {
    const { reason, by } = refused;
    end({ outcome: "denied", content: words, after, refused });
    await run.fire({ event: "tool-denied", ...fields, input, reason, denied_by: by });
    return undefined;
  };
  if (pre.decision === "deny") return refuse(refusalOf(pre.denials[0]!), original.input);
  const changed = pre.modified ? await checked(run, tool, pre.value) : original;
  if ("why" in changed) {
    const by = pre.runs.filter((r) => r.opinion?.value).map((r) => r.hook).join(", ");
    const content =
      `PreToolUse hook for ${tool.name} returned updatedInput that failed schema validation: ${changed.why} ` +
      `(hook ${by})\nThe tool input from the model was valid; the hook's rewrite of it was not.`;
    return end({ outcome: "invalid", content, after });
  }
  const ask = run.agent.permit !== undefined || pre.asked !== undefined;
  const known = () => run.agent.around?.refusals?.recall(fields.tool_use_id);
  const permitted = ask ? await permission(run, tool, fields, changed.input, pre) : known() ?? changed;
  if ("by" in permitted) return refuse(permitted, changed.input);
  if (tool.asks) await run.fire({ event: "agent-prompt", ...tool.asks(permitted.input) });
  return { call, tool, input: permitted.input, original: original.input, after };
}

type Checked = { readonly input: Input } | { readonly why: string };

/** The input as the tool takes it and hooks see it, or why it does not. */
function checked(run: Run, tool: Tool, input: unknown): Checked | Promise<Checked> {
  const prepared = (parsed: unknown): Checked => ({
    input: tool.prepare ? tool.prepare(parsed, { cwd: run.state.cwd() }) : parsed as Input,
  });
  const refused = (error: unknown): Checked => {
    if (error instanceof Ended) throw error;
    return { why: thrownWords(error) };
  };
  try {
    const parsing = tool.parse(input);
    return isThenable(parsing) ? run.interruptible(parsing).then(prepared).catch(refused) : prepared(parsing);
  } catch (error) {
    return refused(error);
  }
}

/** What all events of one call say of it. */
interface Called {
  readonly tool_name: string;
  readonly tool_use_id: string;
  readonly original_input: Input;
}

/** Rules first, then hooks, then a person: nothing overrides a deny rule. */
async function permission(
  run: Run,
  tool: Tool,
  called: Called,
  input: Input,
  pre: Folded,
): Promise<{ input: Input } | Refusal> {
  const { permit, askPerson, around } = run.agent;
  const refused = (words: string, by: string, note?: string): Refusal => {
    const refusal = { words, reason: words, by, ...(note !== undefined && { note }) };
    around?.refusals?.note(called.tool_use_id, refusal);
    return refusal;
  };
  const question = {
    tool_name: tool.name,
    input,
    tool_use_id: called.tool_use_id,
    cwd: run.state.cwd(),
    effect: tool.effect,
    agent_id: run.state.agentId,
    key: run.nameOf("ask", called.tool_use_id),
  };
  const ruling = permit?.(question, pre.decision as "continue" | "allow" | "ask");
  const ruled = isThenable(ruling) ? await run.interruptible(ruling as Promise<Permission>) : ruling;
  const asked: Permission | undefined = pre.asked &&
    {
      behavior: "ask",
      reason: pre.asked.text ?? pre.asked.reason ?? `Hook ${pre.asked.hook} asked for confirmation for this tool`,
    };
  const decided = ruled?.behavior === "deny" ? ruled : asked ?? ruled;
  if (!decided || decided.behavior === "allow") return { input };
  const { reason, rule, note } = decided;
  if (decided.behavior === "deny") return refused(reason, rule ?? "permissions", note);
  if (!asked) {
    const answered = await askHooks(run, tool, called, input, decided);
    if (answered) return answered;
  }
  const known = around?.refusals?.recall(called.tool_use_id);
  if (askPerson && (!known || known.by === "user")) {
    await run.fire({ event: "agent-prompt", prompt_type: "permission", message: reason });
    await run.fire({ event: "notification", message: reason, notification_type: "permission_prompt", title: null });
  }
  if (known) return known;
  if (!askPerson) {
    const { asked } = pre;
    const hook = asked &&
      `hook ${asked.hook} asks first${asked.reason ? ` (${asked.reason})` : ""}; a terminal can answer`;
    return refused(unheard(pre) ?? reason, asked?.hook ?? rule ?? "permissions", hook ?? note);
  }
  const said = await run.interruptible(askPerson(question, reason, run.signal));
  if (said.behavior === "allow") return { input };
  const words = said.reason ? ` and says: ${said.reason}` : "";
  return refused(`The user refused this call${words}`, "user");
}

/** A hook's question as a refusal: alone it would not be one. A dialect with words of its own keeps them. */
function unheard({ asked }: Folded): string | undefined {
  if (!asked || asked.text !== undefined) return undefined;
  const why = asked.reason ? `: ${asked.reason}` : "";
  return `Hook ${asked.hook} asks for confirmation of this call, and nobody can be asked here${why}`;
}

async function askHooks(
  run: Run,
  tool: Tool,
  called: Called,
  input: Input,
  { reason, suggestions = [] }: Permission,
): Promise<{ input: Input } | Refusal | undefined> {
  const said = await run.fire({
    event: "permission-request",
    ...called,
    input,
    reason,
    permission_suggestions: suggestions,
  });
  const denial = said.denials[0];
  if (denial) return refusalOf(denial);
  if (said.decision !== "allow") return undefined;
  const changed = said.modified ? await checked(run, tool, said.value) : { input };
  if ("input" in changed) return changed;
  const words = `A permission hook's rewrite of the input is not valid: ${changed.why}`;
  return { words, reason: words, by: "permission-request" };
}

function refusalOf({ hook, reason, text }: Folded["denials"][number]): Refusal {
  const bare = `Denied by hook ${hook}`;
  const words = text ?? (reason === bare || reason.trim() === "" ? bare : `${bare}: ${reason}`);
  return { words, reason, by: hook, note: `hook ${hook}: ${reason}; change or disable the hook to allow it` };
}
