import type { Folded } from "../core/fold.ts";
import type { AgentSpec, Run } from "../core/run.ts";
import type { GatedCall, Permitted } from "../core/tool.ts";
import { type Refusal, refusalOf, unanswered } from "../core/said.ts";
import type { Permission, PermissionGate } from "./gate.ts";

/** Decides about calls as the loop asks for it: rules first, then hooks, then a person. Nothing overrides a deny rule. */
export function permitter(
  gate: Partial<Pick<PermissionGate, "permit" | "askPerson">>,
): NonNullable<AgentSpec["permit"]> {
  return async (run, call, pre) => {
    const { tool, input, fields: { tool_use_id } } = call;
    const { refusals } = run.agent.around ?? {};
    const refused = (refusal: Refusal): Refusal => {
      refusals?.note(tool_use_id, refusal);
      return refusal;
    };
    const question = {
      tool_name: tool.name,
      input,
      tool_use_id,
      cwd: run.state.cwd(),
      effect: tool.effect,
      agent_id: run.state.agentId,
      key: run.nameOf("ask", tool_use_id),
    };
    const ruling = gate.permit?.(question, pre.decision as "continue" | "allow" | "ask");
    const ruled = ruling instanceof Promise ? await run.interruptible(ruling) : ruling;
    if (ruled?.behavior === "deny") return refused(refusalBy(ruled));
    const asked = pre.asked ? askedBy(pre.asked) : ruled?.behavior === "ask" ? ruled : undefined;
    if (!asked) return { input };
    if (!pre.asked) {
      const answered = await askHooks(run, call, asked);
      if (answered) return answered;
    }
    const known = refusals?.recall(tool_use_id);
    const { reason: message } = asked;
    if (gate.askPerson && (!known || known.by === "user")) {
      await run.fire({ event: "agent-prompt", prompt_type: "permission", message });
      await run.fire({ event: "notification", message, notification_type: "permission_prompt", title: null });
    }
    if (known) return known;
    if (!gate.askPerson) return refused(pre.asked ? unanswered(pre.asked) : refusalBy(asked));
    const said = await run.interruptible(gate.askPerson(question, message, run.signal));
    if (said.behavior === "allow") return { input };
    const words = `The user refused this call${said.reason ? ` and says: ${said.reason}` : ""}`;
    return refused({ words, reason: words, by: "user" });
  };
}

function askedBy({ hook, reason, text }: NonNullable<Folded["asked"]>): Permission {
  return { behavior: "ask", reason: text ?? reason ?? `Hook ${hook} asked for confirmation for this tool` };
}

function refusalBy({ reason, rule, note }: Permission): Refusal {
  return { words: reason, reason, by: rule ?? "permissions", ...(note !== undefined && { note }) };
}

/** Asks the hooks that may answer for a person; undefined: none did. */
async function askHooks(
  run: Run,
  { fields, input, check }: GatedCall,
  { reason, suggestions = [] }: Permission,
): Promise<Permitted | undefined> {
  const event = "permission-request";
  const said = await run.fire({ event, ...fields, input, reason, permission_suggestions: suggestions });
  const denial = said.denials[0];
  if (denial) return refusalOf(denial);
  if (said.decision !== "allow") return undefined;
  const changed = said.modified ? await check(said.value) : { input };
  if ("input" in changed) return changed;
  const words = `A permission hook's rewrite of the input is not valid: ${changed.why}`;
  return { words, reason: words, by: event };
}
