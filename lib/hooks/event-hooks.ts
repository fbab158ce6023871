import type { Hook } from "../core/hook.ts";

/** `session-start`: a run begins, is resumed or is cleared. */
export type SessionStartHook = Hook<"session-start">;
/** `user-prompt-submit`: a person has sent a prompt. */
export type UserPromptSubmitHook = Hook<"user-prompt-submit">;
/** `agent-start`: an agent is about to work. */
export type AgentStartHook = Hook<"agent-start">;
/** `turn-start`: a turn begins. */
export type TurnStartHook = Hook<"turn-start">;
/** `iteration`: before each model call. */
export type IterationHook = Hook<"iteration">;
/** `pre-tool-use`: before a tool runs. */
export type PreToolUseHook = Hook<"pre-tool-use">;
/** `permission-request`: a call needs a yes. */
export type PermissionRequestHook = Hook<"permission-request">;
/** `tool-denied`: a call was refused. */
export type ToolDeniedHook = Hook<"tool-denied">;
/** `post-tool-use`: a tool has run. */
export type PostToolUseHook = Hook<"post-tool-use">;
/** `post-tool-batch`: all calls of one reply are answered, before the next `iteration`. */
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
/** `stop-failure`: the run ends as the model failed; `error` is the code of its API. */
export type StopFailureHook = Hook<"stop-failure">;
/** `turn-end`: a turn has ended. */
export type TurnEndHook = Hook<"turn-end">;
/** `agent-stop`: an agent has ended, however. */
export type AgentStopHook = Hook<"agent-stop">;
/** `session-end`: the run is over. */
export type SessionEndHook = Hook<"session-end">;
/** `model-switch`: another model is about to be used. */
export type ModelSwitchHook = Hook<"model-switch">;
/** `post-model-switch`: another model is used from here on. */
export type PostModelSwitchHook = Hook<"post-model-switch">;
/** `error`: a model call or a tool failed. */
export type ErrorHook = Hook<"error">;
/** `pre-compact`: the conversation is about to be summarised. */
export type PreCompactHook = Hook<"pre-compact">;
/** `post-compact`: the conversation was summarised. */
export type PostCompactHook = Hook<"post-compact">;
/** `notification`: a person is notified. */
export type NotificationHook = Hook<"notification">;
/** `checkpoint`: the run was saved. */
export type CheckpointHook = Hook<"checkpoint">;
/** `memory-update`: a tool wrote a memory file (AGENTS.md, CLAUDE.md), also below the workspace, whether or not the agent reads it. */
export type MemoryUpdateHook = Hook<"memory-update">;
/** `agent-prompt`: a person is asked: a question, a plan or a permission; also for a watched agent of another host. */
export type AgentPromptHook = Hook<"agent-prompt">;
/** `cwd-changed`: a command left the agent's shell in another folder. */
export type CwdChangedHook = Hook<"cwd-changed">;
/** `instructions-loaded`: a run begins with an AGENTS.md or CLAUDE.md in its system prompt. */
export type InstructionsLoadedHook = Hook<"instructions-loaded">;
