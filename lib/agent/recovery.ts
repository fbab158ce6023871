import { ModelError } from "../core/model.ts";
import type { AgentSpec, CallEnd, Run } from "../core/run.ts";
import { switchModel } from "./switch-model.ts";

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
      return !hasRoom && isTooLong(end) && (hasRoom = await makeRoom!(run));
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

/** Each API has its own words for it. */
const TOO_LONG =
  /context_length_exceeded|exceed_context_size|too_many_prompt_tokens|request_too_large|prompt is too long|maximum context length|context window/i;

function isTooLong({ reply, error }: CallEnd): boolean {
  if (reply) return reply.stop_reason === "model_context_window_exceeded";
  return error instanceof ModelError && TOO_LONG.test(`${error.code} ${error.message}`);
}
