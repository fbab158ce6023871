import type { EventFields } from "../core/events.ts";
import type { Run } from "../core/run.ts";

/** Changes the model an agent talks to, unless a hook keeps the old one. Whether it was changed. */
export async function switchModel(
  run: Run,
  new_model: string,
  why: Partial<Pick<EventFields["model-switch"], "reason" | "triggered_by">> = {},
): Promise<boolean> {
  const was = run.state.model;
  const reason = why.reason ?? null;
  const triggered_by = why.triggered_by ?? "user";
  const said = await run.fire({
    event: "model-switch",
    old_model: was,
    new_model,
    reason,
    profile: null,
    triggered_by,
  });
  if (said.decision === "deny" || said.decision === "ask") {
    run.warn(
      `The model stays ${was}: ${said.denials[0]?.hook ?? said.asked?.hook} said: ${said.reason ?? "no reason given"}`,
    );
    return false;
  }
  const model = said.modified ? said.value as string : new_model;
  run.state.model = model;
  run.emit({ type: "model", model, was, reason });
  if (model === was) return false;
  const after = await run.fire({ event: "post-model-switch", old_model: was, new_model: model, reason, triggered_by });
  run.state.waiting.push(...after.contexts);
  return true;
}
