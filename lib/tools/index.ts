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
export { Edit, edit, type EditInput } from "./edit.ts";
export { MultiEdit, multiEdit } from "./multi-edit.ts";
export { Write, write, type WriteInput } from "./write.ts";
export { undo } from "./undo.ts";
export { Bash, bash, type BashInput, closeShell } from "./bash.ts";
export { BashOutput, KillShell } from "./background.ts";
export { backgroundTasks, shellCwd } from "./tool-state.ts";
export { Read, read, type ReadInput } from "./read.ts";
export { Glob, glob, type GlobInput } from "./glob.ts";
export { Grep, grep, type GrepInput } from "./grep.ts";
export { AskUserQuestion, EnterPlanMode, ExitPlanMode } from "./ask.ts";
export { type Answers, askWith, type Question, type QuestionAsker } from "./question-asker.ts";
export { Agent, type AgentDefinition, agentTool } from "./agent.ts";
export { permissionGate } from "../permissions/ruling.ts";
export { decide } from "../permissions/rules.ts";
export { openSandbox, type Sandbox } from "../permissions/sandbox.ts";
