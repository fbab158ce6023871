import type { Folded } from "../core/fold.ts";
import { thaw } from "../core/json.ts";
import { thrownWords } from "../core/shown.ts";
import { type Fire, type HookRegistry, type SessionLike, warningFire } from "./registry.ts";

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
  const { result } = await hookedCall(warningFire(hooks, session), { name: tool, input: args }, call);
  return result;
}

/** A call as hooks are asked about it. */
export interface HookedCall<Args> {
  readonly name: string;
  readonly input: Args;
  readonly id?: string | undefined;
  /** What the hooks before it have said already. */
  readonly pre?: Folded | undefined;
}

/** Fires what belongs to a call, makes it, and gives what hooks said after it. @throws {ToolDeniedError} if one refuses */
export async function hookedCall<Args extends { readonly [key: string]: unknown }, Result>(
  fire: Fire,
  { name: tool_name, input, id: tool_use_id = "", pre: given }: HookedCall<Args>,
  call: (args: Args) => Result | Promise<Result>,
): Promise<{ readonly result: Result; readonly post: Folded }> {
  const pre = given ?? await fire({ event: "pre-tool-use", tool_name, input, tool_use_id });
  const { decision, abort, reason } = pre;
  if (abort || decision === "deny" || decision === "ask") {
    throw new ToolDeniedError(abort?.reason ?? (reason || "Tool call denied by hook"));
  }
  const effective = pre.modified ? thaw(pre.value as Args) : input;
  const start = performance.now();
  const after = (result: unknown, error: string | null) =>
    fire({
      ...{ event: "post-tool-use", tool_name, input: effective, original_input: input, tool_use_id },
      result: {
        content: error ?? (typeof result === "string" ? result : JSON.stringify(result) ?? ""),
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
  return { result, post: await after(result, null) };
}
