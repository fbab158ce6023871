import type { EventFields } from "../core/events.ts";
import { type CallEnd, ModelError } from "../core/model.ts";
import type { AgentSpec, Run } from "../core/run.ts";

/** What is done about a model call of no use: each time, room is made once at most, and the model changed once at most. */
export function recovery(
  fallback: string | undefined,
  makeRoom: ((run: Run) => Promise<boolean>) | undefined,
): NonNullable<AgentSpec["recovery"]> {
  return (run, mayMakeRoom) => {
    // Hooks may change the model too, and a chain of models would be a loop without a limit.
    let hasChanged = fallback === undefined;
    let hasRoom = makeRoom === undefined || !mayMakeRoom;
    return async (end) => {
      const unwilling = hasChanged ? undefined : whyUnwilling(end);
      if (unwilling !== undefined) return hasChanged = await fallBack(run, fallback!, unwilling);
      return !hasRoom && await isTooLong(end) && (hasRoom = await makeRoom!(run));
    };
  };
}

const OVERLOADED: ReadonlySet<string> = new Set(["overloaded_error", "rate_limit_error"]);

function whyUnwilling({ reply, error }: CallEnd): string | undefined {
  if (reply) return reply.stop_reason === "refusal" ? "it refused" : undefined;
  return error instanceof ModelError && OVERLOADED.has(error.code) ? error.message : undefined;
}

/** Changes to the fallback model, if a limit allows one more call. */
async function fallBack(run: Run, fallback: string, reason: string): Promise<boolean> {
  if (fallback === run.state.model || run.forbidden()) return false;
  return await switchModel(run, fallback, { reason, triggered_by: "fallback" });
}

async function isTooLong({ reply, error }: CallEnd): Promise<boolean> {
  if (reply) return reply.stop_reason === "model_context_window_exceeded";
  return error instanceof ModelError && (await import("../http/errors.ts")).saysTooLong(error);
}

/** Changes the model an agent talks to, unless a hook keeps the old one. Whether it was changed. */
export async function switchModel(
  run: Run,
  new_model: string,
  why: Partial<Pick<EventFields["model-switch"], "reason" | "triggered_by">> = {},
): Promise<boolean> {
  const was = run.state.model;
  const reason = why.reason ?? null;
  const triggered_by = why.triggered_by ?? "user";
  const event = "model-switch";
  const said = await run.fire({ event, old_model: was, new_model, reason, profile: null, triggered_by });
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
