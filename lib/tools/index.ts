/**
 * The tools of an agent, and each as a function of its input.
 *
 * @example
 * ```ts
 * import { agent } from "crochet";
 * import { Agent, Bash, BashOutput, Edit, EnterPlanMode, Glob, Grep, KillShell, MultiEdit, Read, Write } from "crochet/tools";
 *
 * const files = [Read, Write, Edit, MultiEdit, Glob, Grep];
 * const tools = [...files, Bash, BashOutput, KillShell, Agent, EnterPlanMode];
 * export default agent({ from: import.meta.url, tools });
 * ```
 */

export { applyEdit } from "./edit/apply-edit.ts";
export type { EditApplied, EditRefused } from "./edit/apply-edit.ts";
export type { EditCall, EditCode } from "./edit/edit-call.ts";
export { Edit, edit } from "./edit.ts";
export type { EditInput, EditResponse } from "./edit.ts";
export type { EditReport } from "./edit/edit-file.ts";
export { MultiEdit, multiEdit } from "./multi-edit.ts";
export type { MultiEditInput, MultiEditResponse } from "./multi-edit.ts";
export { Write, write } from "./write.ts";
export type { WriteInput, WriteReport, WriteResponse } from "./write.ts";
export { undo } from "./undo.ts";
export type { Undone, UndoOptions } from "./undo.ts";
export type { StandaloneOptions } from "./standalone.ts";
export { Bash, bash, bashTool, closeShell } from "./bash.ts";
export type { BashInput, BashOptions, BashResponse } from "./bash.ts";
export { BashOutput, KillShell } from "./background.ts";
export { type BackgroundTask, backgroundTasks } from "./tool-state.ts";
export type { BashOutputResponse } from "./background.ts";
export type { Sandbox } from "../permissions/sandbox.ts";
export { Read, read } from "./read.ts";
export type { ReadInput, ReadResponse } from "./read.ts";
export { Glob, glob } from "./glob.ts";
export type { GlobInput, GlobResponse } from "./glob.ts";
export { Grep, grep } from "./grep.ts";
export type { GrepInput, GrepResponse } from "./grep.ts";
export { askTools, AskUserQuestion, EnterPlanMode, ExitPlanMode } from "./ask.ts";
export type { AskUserQuestionInput, AskUserQuestionResponse, ExitPlanModeInput, PlanResponse } from "./ask.ts";
export { askWith } from "./asker.ts";
export type { Answers, Asker, PlanReply, PlanRequest, Question } from "./asker.ts";
export { Agent, agentTool } from "./agent.ts";
export type { AgentDefinition, AgentInput, AgentToolOptions } from "./agent.ts";
export { ASKER, PLAN_MODE, shellCwd } from "./tool-state.ts";
export { permissionGate } from "../permissions/gate.ts";
export type { PermissionAsker, PermissionGate, PermissionQuestion, PermissionReply } from "../permissions/gate.ts";
export { decide } from "../permissions/rules.ts";
export type { PermissionMode, Permissions } from "../permissions/rules.ts";
export { openSandbox } from "../permissions/sandbox.ts";
