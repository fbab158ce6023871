import type { Hook } from "../core/hook.ts";

export type SessionStartHook = Hook<"session-start">;
export type UserPromptSubmitHook = Hook<"user-prompt-submit">;
export type AgentStartHook = Hook<"agent-start">;
export type SubagentStartHook = AgentStartHook;
export type TurnStartHook = Hook<"turn-start">;
export type PreGenerationHook = TurnStartHook;
export type IterationHook = Hook<"iteration">;
export type PreIterationHook = IterationHook;
export type PreToolUseHook = Hook<"pre-tool-use">;
export type PermissionRequestHook = Hook<"permission-request">;
export type ToolDeniedHook = Hook<"tool-denied">;
export type PostToolUseHook = Hook<"post-tool-use">;
export type PostToolUseFailureHook = PostToolUseHook;
export type PermissionDeniedHook = ToolDeniedHook;
export type PostToolBatchHook = Hook<"post-tool-batch">;
/**
 * Asked when the model is done.
 *
 * @example
 * ```ts
 * import { agent, allow, ask, context, deny, halt, keepGoing, matchTool, modify, type StopHook } from "crochet";
 *
 * const tests = (async (_, ctx) => {
 *   const { code, stdout } = await ctx.$("npm", ["test"]);
 *   return code === 0 ? undefined : keepGoing(`Fix the tests:\n${stdout}`);
 * }) satisfies StopHook;
 *
 * export default agent({
 *   hooks: {
 *     userPromptSubmit: () => context("The tests are run with 'npm test'"),
 *     preToolUse: [
 *       matchTool("Bash", ({ input }) => /\bpublish\b/.test(String(input.command)) ? ask("It publishes") : undefined),
 *       ({ input }) => "force" in input ? deny("No force here") : "timeout" in input ? allow() : modify({ ...input, timeout: 60_000 }),
 *     ],
 *     iteration: ({ total_iterations }) => total_iterations > 50 ? halt("That is enough") : undefined,
 *     stop: tests,
 *   },
 * });
 * ```
 */
export type StopHook = Hook<"stop">;
export type SubagentStopHook = StopHook;
export type StopFailureHook = Hook<"stop-failure">;
export type TurnEndHook = Hook<"turn-end">;
export type PostGenerationHook = TurnEndHook;
export type AgentStopHook = Hook<"agent-stop">;
export type CleanupHook = AgentStopHook;
export type SessionEndHook = Hook<"session-end">;
export type ModelSwitchHook = Hook<"model-switch">;
export type PostModelSwitchHook = Hook<"post-model-switch">;
export type ErrorHook = Hook<"error">;
export type PreCompactHook = Hook<"pre-compact">;
export type PostCompactHook = Hook<"post-compact">;
export type NotificationHook = Hook<"notification">;
export type CheckpointHook = Hook<"checkpoint">;
export type MemoryUpdateHook = Hook<"memory-update">;
export type AgentPromptHook = Hook<"agent-prompt">;
export type CwdChangedHook = Hook<"cwd-changed">;
export type InstructionsLoadedHook = Hook<"instructions-loaded">;
