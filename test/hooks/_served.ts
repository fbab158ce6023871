import type { HostName } from "../../lib/hooks/hosts/index.ts";
import { serve } from "../../lib/hooks/serve-hook.ts";
import { scratch } from "../_scratch.ts";

export type Json = Record<string, unknown>;

export const BASE = { session_id: "s", transcript_path: "", cwd: "/tmp", prompt_id: "p", permission_mode: "default" };
export const PRE = {
  ...BASE,
  hook_event_name: "PreToolUse",
  tool_name: "Bash",
  tool_input: { command: "ls", timeout: 5 },
  tool_use_id: "t",
};
export const POST = {
  ...PRE,
  hook_event_name: "PostToolUse",
  tool_response: { stdout: "a", stderr: "" },
  duration_ms: 3,
};
/** An event of each kind: our name of it, and what hosts write to a hook. Codex writes it as Claude Code does. */
export const EVENTS: Record<string, { name: string; claude: Json; gemini: Json }> = {
  pre: {
    name: "pre-tool-use",
    claude: PRE,
    gemini: { ...PRE, hook_event_name: "BeforeTool", tool_name: "run_shell_command" },
  },
  post: {
    name: "post-tool-use",
    claude: POST,
    gemini: {
      ...POST,
      hook_event_name: "AfterTool",
      tool_name: "run_shell_command",
      tool_response: { llmContent: "a" },
    },
  },
  prompt: {
    name: "user-prompt-submit",
    claude: { ...BASE, hook_event_name: "UserPromptSubmit", prompt: "go" },
    gemini: { ...BASE, hook_event_name: "BeforeAgent", prompt: "go" },
  },
  stop: {
    name: "stop",
    claude: { ...BASE, hook_event_name: "Stop", stop_hook_active: false, last_assistant_message: "done" },
    gemini: { ...BASE, hook_event_name: "AfterAgent", prompt: "go", prompt_response: "done", stop_hook_active: false },
  },
  start: {
    name: "session-start",
    claude: { ...BASE, hook_event_name: "SessionStart", source: "startup" },
    gemini: { ...BASE, hook_event_name: "SessionStart", source: "startup" },
  },
  permission: {
    name: "permission-request",
    claude: { ...PRE, hook_event_name: "PermissionRequest", permission_suggestions: [] },
    gemini: {},
  },
};

/** What a host is told by a hook of this text. */
export async function ask(
  text: string,
  event: string,
  host: HostName,
  { name, input }: { name?: string; input?: Json } = {},
) {
  const row = EVENTS[event]!;
  const told = input ?? (host === "gemini" ? row.gemini : row.claude);
  return await said(name ?? `${row.name}.x.ts`, text, told, host, { PATH: process.env.PATH });
}

/** What a hook file says to a host that writes this to stdin. */
export async function said(name: string, text: string, stdin: Json, host: HostName, env: NodeJS.ProcessEnv = {}) {
  using folder = scratch({ [name]: text });
  const { stdout, stderr, code } = await served(`${folder.path}/${name}`, stdin, host, { HOME: folder.path, ...env });
  return { output: stdout === "" ? undefined : JSON.parse(stdout) as Json, stderr, code };
}

/** Serves a hook file that is there. */
export function served(file: string, told: Json | string, host: HostName, env: NodeJS.ProcessEnv) {
  const stdin = typeof told === "string" ? told : JSON.stringify(told);
  return serve(file, stdin, { host, env, signal: new AbortController().signal });
}

/** A module that gives this answer to everything. */
export const moduleAnswering = (answer: unknown) => `export default () => (${JSON.stringify(answer)});`;
