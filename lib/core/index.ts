export { type Clock, systemClock } from "./clock.ts";
export { fire } from "./dispatch.ts";
export {
  type AnyEvent,
  type EventFields,
  type EventName,
  type EventOf,
  EVENTS,
  type Fired,
  type Stop,
  type Subjects,
  type ToolResult,
} from "./events.ts";
export { Fold, type Folded } from "./fold.ts";
export {
  type Hook,
  type HookContext,
  type HookEnv,
  type HookFiles,
  type HookList,
  hookOn,
  type HookRecord,
  type HookRun,
} from "./hook.ts";
export { DEFAULT_LIMITS, type Limits } from "./limits.ts";
export type { Block, Message, Usage } from "./messages.ts";
export { type ApiTool, type Effort, type Model, ModelError, type ModelEvent, type ModelRequest } from "./model.ts";
export { type PromptOptions, runPrompt } from "./prompt.ts";
export { type AgentSpec, type Interceptor, newSessionState, Run, type SessionState } from "./run.ts";
export type { Result, RunEvent } from "./run-events.ts";
export { type Effect, type Tool, type ToolContext, ToolError, type ToolOutput } from "./tool.ts";
export { allow, type Answer, ask, context, deny, halt, keepGoing, modify, type Verdict } from "./verdict.ts";
