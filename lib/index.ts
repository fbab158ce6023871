export { agent } from "./agent/agent.ts";
export type { Agent, AgentOptions, AgentSession, ResultOf, RunOptions, SandboxOption } from "./agent/options.ts";
export type { OutputOption } from "./agent/typed-output.ts";
export type { AskOptions, Params } from "./agent/params.ts";
export { anthropic, type AnthropicClient, type AnthropicOptions, DEFAULT_MODEL } from "./anthropic/anthropic-model.ts";
export { openai, type OpenAIHeaders, type OpenAIOptions } from "./openai/openai-model.ts";
export { hookToml } from "./agent/hook-toml.ts";
export {
  type CodeHooks,
  matchTool,
  matchToolPost,
  matchToolPostFailure,
  onToolFailure,
  onToolSuccess,
  type TypedHooks,
} from "./hooks/code-hooks.ts";
export type { Folded } from "./core/fold.ts";
export {
  type AnyEvent,
  type EventFields,
  type EventName,
  type EventOf,
  EVENTS,
  type Stop,
  type Subjects,
  type ToolResult,
} from "./core/events.ts";
export type { Hook, HookContext, HookFiles, HookRecord } from "./core/hook.ts";
export type * from "./hooks/event-hooks.ts";
export { type OnErrorReply, type SessionHooks, sessionHooks } from "./hooks/registry.ts";
export { ToolDeniedError, wrapToolCall } from "./hooks/wrap-tool-call.ts";
export type { Engine, Step } from "./agent/engine.ts";
export type { Limits } from "./core/limits.ts";
export type { Block, Message, Prompt, Usage } from "./core/messages.ts";
export { type ApiTool, type Effort, type Model, ModelError, type ModelEvent, type ModelRequest } from "./core/model.ts";
export { HookRegistry, type HookResult, type HookStats, type RegistryOptions } from "./hooks/registry.ts";
export type { Result, RunEvent } from "./core/run-events.ts";
export { type Effect, type Tool, ToolError, type ToolOutput } from "./core/tool.ts";
export { tool, type ToolOptions } from "./tools/make-tool.ts";
export type { ToolContext } from "./tools/tool-context.ts";
export {
  allow,
  type Answer,
  ask,
  context,
  deny,
  halt,
  type HookAction,
  keepGoing,
  modify,
  type StopDecision,
  type Verdict,
} from "./core/verdict.ts";
export type {
  HookCondition,
  HookConfig,
  HookDefinitions,
  HookMatcher,
  HookRule,
  HookType,
} from "./hooks/definition.ts";
export type { DefinitionsOptions } from "./hooks/definitions.ts";
export { definitions, hookFolder, type HookFolderOptions, promptGate, promptStop } from "./hooks/loaded-when-called.ts";
export type { PromptHookOptions } from "./hooks/prompt-hook.ts";
export type { Middleware } from "./http/middleware.ts";
export type { McpOptions, McpProcess, McpRemote, McpServer } from "./mcp/servers.ts";
export type { PermissionAsker, PermissionReply } from "./permissions/gate.ts";
export type { PermissionMode, Permissions } from "./permissions/rules.ts";
export type { TapeMode } from "./replay/policy.ts";
export type { TapeOptions } from "./replay/tape-options.ts";
export { memoryStore } from "./transcript/memory-store.ts";
export { jsonlStore, sqliteStore } from "./transcript/stores.ts";
export type { MinimalStore } from "./transcript/memory-store.ts";
export type { Checkpoint, Transcript, TranscriptStore } from "./transcript/store.ts";
