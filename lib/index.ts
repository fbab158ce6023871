export { agent } from "./agent/agent.ts";
export type { Agent, AgentOptions, AgentSession, RunOptions } from "./agent/options.ts";
export { anthropic } from "./models/anthropic/anthropic-model.ts";
export { openai } from "./models/openai/openai-model.ts";
export { hookToml } from "./agent/hook-toml.ts";
export {
  type CodeHooks,
  matchTool,
  matchToolPost,
  matchToolPostFailure,
  onToolFailure,
  onToolSuccess,
} from "./hooks/code-hooks.ts";
export { type EventName, type EventOf, EVENTS, type Stop } from "./core/events.ts";
export type { Hook, HookContext, HookFiles, HookRecord } from "./core/hook.ts";
export type * from "./hooks/event-hooks.ts";
export { HookRegistry, type HookResult, type SessionHooks, sessionHooks } from "./hooks/registry.ts";
export { ToolDeniedError, wrapToolCall } from "./hooks/wrap-tool-call.ts";
export type { Engine } from "./agent/engine.ts";
export type { Limits } from "./core/limits.ts";
export type { Block, Message, Usage } from "./core/messages.ts";
export { type Model, ModelError, type ModelEvent, type ModelRequest } from "./core/model.ts";
export type { Result, RunEvent } from "./core/run-events.ts";
export { type Tool, ToolError, type ToolOutput } from "./core/tool.ts";
export { tool } from "./tools/make-tool.ts";
export type { ToolContext } from "./tools/tool-context.ts";
export { allow, ask, context, deny, halt, keepGoing, modify, type Verdict } from "./core/verdict.ts";
export type { HookConfig, HookMatcher, HookRule, HookType } from "./hooks/definition.ts";
export { definitions, hookFolder, promptGate, promptStop } from "./hooks/loaded-when-called.ts";
export type { Middleware } from "./http/middleware.ts";
export type { McpServer } from "./mcp/servers.ts";
export type { PermissionAsker } from "./permissions/gate.ts";
export type { Permissions } from "./permissions/rules.ts";
export { memoryStore, type MinimalStore } from "./log/stores/memory-store.ts";
export { jsonlStore, sqliteStore } from "./log/stores/stores.ts";
export type { Transcript, TranscriptStore } from "./log/stores/store.ts";
