import { thaw } from "../core/frozen.ts";
import { thrownWords } from "../core/thrown.ts";
import type { EventFields } from "../core/events.ts";
import type { Folded } from "../core/fold.ts";
import { type HookRegistry, idOf, type SessionLike } from "./registry.ts";

/** A tool call that a hook refused. */
export class ToolDeniedError extends Error {
  override name = "ToolDeniedError";
}

/**
 * Hooks around one tool call of a host with its own loop. Without hooks it just calls the tool.
 *
 * @throws {ToolDeniedError} if a hook refuses; the tool is then not called
 * @example
 * ```ts
 * import { deny, HookRegistry, wrapToolCall } from "crochet";
 *
 * const hooks = new HookRegistry().register({ preToolUse: ({ input }) => input.command === "rm" ? deny("No rm") : undefined });
 * const listing = await wrapToolCall(hooks, "session-1", "Bash", { command: "ls" }, () => "a.txt");
 * ```
 */
export async function wrapToolCall<Args extends { readonly [key: string]: unknown }, Result>(
  hooks: HookRegistry | null,
  session: SessionLike,
  tool: string,
  args: Args,
  call: (args: Args) => Result | Promise<Result>,
): Promise<Result> {
  if (!hooks) return await call(args);
  const fire = warningFire(hooks, session);
  const pre = await fire({ event: "pre-tool-use", tool_name: tool, input: args });
  if (pre.abort) throw new ToolDeniedError(pre.abort.reason);
  if (pre.decision === "deny" || pre.decision === "ask") {
    throw new ToolDeniedError(pre.reason || "Tool call denied by hook");
  }
  const effective = pre.modified ? thaw(pre.value as Args) : args;
  const start = performance.now();
  const after = (result: unknown, error: string | null) =>
    fire({
      event: "post-tool-use",
      tool_name: tool,
      input: effective,
      original_input: args,
      result: {
        content: typeof result === "string" ? result : JSON.stringify(result) ?? "",
        is_error: error !== null,
        response: result,
      },
      outcome: error === null ? "success" : "failure",
      failed: error !== null,
      error,
      duration_ms: Math.round(performance.now() - start),
    });
  let result: Result;
  try {
    result = await call(effective);
  } catch (error) {
    await after(null, thrownWords(error));
    throw error;
  }
  await after(result, null);
  return result;
}

/** Fires for one session; what a host is not given back is at least a warning. */
function warningFire(hooks: HookRegistry, session: SessionLike) {
  const where = { session_id: idOf(session) };
  return async (firing: Parameters<HookRegistry["fire"]>[0]): Promise<Folded> => {
    const folded = await hooks.fire(firing, where);
    for (const warning of folded.warnings) hooks.warn(warning);
    return folded;
  };
}

type Given<N extends keyof EventFields> = Partial<EventFields[N]>;

/**
 * The moments of a session that a host passes to its hooks. Without hooks each is a no-op.
 *
 * @example
 * ```ts
 * import { HookRegistry, sessionHooks } from "crochet";
 *
 * const life = sessionHooks(new HookRegistry(), "session-1");
 * await life.onSessionStart({ profile: "ci" });
 * await life.onSessionEnd(1200, "done");
 * ```
 */
export function sessionHooks(hooks: HookRegistry | null, session: SessionLike): SessionHooks {
  const fire = hooks && warningFire(hooks, session);
  const tell = async (firing: Parameters<HookRegistry["fire"]>[0]) => {
    await fire?.(firing);
  };
  return {
    onSessionStart: ({ profile = null, config = null } = {}) =>
      tell({ event: "session-start", source: "startup", profile, config }),
    onSessionEnd: (duration_ms, reason) => tell({ event: "session-end", duration_ms, reason }),
    onError: async (error, tool = null, given = {}) => {
      if (!fire) return { denied: false, retry: false };
      const said = await fire({
        event: "error",
        error_type: error.name,
        error_message: error.message,
        stack_trace: error.stack ?? null,
        tool,
        retry: true,
        ...given,
      });
      const denied = said.abort !== undefined || said.decision === "deny";
      const reason = said.abort?.reason ?? said.reason;
      return {
        denied,
        ...(denied && reason !== undefined && { reason }),
        retry: !denied && said.modified && said.value === true,
      };
    },
    onCheckpoint: (checkpoint_id, given = {}) => tell({ event: "checkpoint", checkpoint_id, ...given }),
    onModelSwitch: async (old_model, new_model, given = {}) => {
      if (!fire) return new_model;
      const said = await fire({ event: "model-switch", old_model, new_model, ...given });
      return said.decision === "deny" || said.decision === "ask"
        ? old_model
        : said.modified
        ? said.value as string
        : new_model;
    },
    onMemoryUpdate: (file_path, update_type = "modified", given = {}) =>
      tell({ event: "memory-update", file_path, update_type, ...given }),
  };
}

/** What hooks want after an error. */
export interface OnErrorReply {
  readonly denied: boolean;
  /** Why it was denied. */
  readonly reason?: string;
  readonly retry: boolean;
}

export interface SessionHooks {
  onSessionStart(given?: { profile?: string | null; config?: EventFields["session-start"]["config"] }): Promise<void>;
  onSessionEnd(duration_ms: number, reason: string): Promise<void>;
  /** Whether a hook refuses to go on, and whether one asks for another try. */
  onError(error: Error, tool?: string | null, given?: Given<"error">): Promise<OnErrorReply>;
  onCheckpoint(checkpoint_id: string, given?: Given<"checkpoint">): Promise<void>;
  /** The model to use: the new one, what a hook made of it, or the old one if a hook refused. */
  onModelSwitch(old_model: string | null, new_model: string, given?: Given<"model-switch">): Promise<string | null>;
  onMemoryUpdate(
    file_path: string,
    update_type?: EventFields["memory-update"]["update_type"],
    given?: Given<"memory-update">,
  ): Promise<void>;
}
