import { join } from "node:path";
import { fire } from "../../lib/core/dispatch.ts";
import type { EventName, Fired } from "../../lib/core/events.ts";
import type { Folded } from "../../lib/core/fold.ts";
import type { HookEnv, HookRecord } from "../../lib/core/hook.ts";
import { expectEvent } from "../../lib/input/nearest.ts";
import { commandHook, type CommandOptions } from "../../lib/hooks/command-hook.ts";
import type { HookHost } from "../../lib/hooks/process/hook-host.ts";
import { scratch } from "../_scratch.ts";
import { testEnv } from "./_events.ts";

export const PRE: Fired<"pre-tool-use"> = {
  event: "pre-tool-use",
  tool_name: "Bash",
  input: { command: "ls" },
  original_input: { command: "ls" },
  tool_use_id: "toolu_1",
};

export const POST: Fired<"post-tool-use"> = {
  ...PRE,
  event: "post-tool-use",
  result: { content: "a", is_error: false, response: { stdout: "a", stderr: "" } },
  outcome: "success",
  failed: false,
  error: null,
  duration_ms: 3,
};

export const PROMPT: Fired<"user-prompt-submit"> = { event: "user-prompt-submit", prompt: "go" };

export const START: Fired<"session-start"> = {
  event: "session-start",
  source: "startup",
  model: "m",
  profile: null,
  config: null,
};

export const STOP: Fired<"stop"> = {
  event: "stop",
  last_assistant_message: "done",
  messages: [],
  usage: { input_tokens: 0, output_tokens: 0, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 },
  stop_hook_active: false,
  continuations: 0,
  stalled: 0,
  remaining: 8,
  agent_type: "main",
};

/** What hooks run in, with what they said and left running noted. */
export function environment(cwd: string, given: Partial<HookEnv> = {}) {
  const logs: string[] = [];
  const delivered: string[] = [];
  const background: Promise<unknown>[] = [];
  const env = testEnv({
    session_id: "s1",
    agent_id: "s1",
    turn_id: "t1",
    cwd,
    log: (_, message) => void logs.push(message),
    background: (work) =>
      void background.push(work.then((said) => void delivered.push(...said.map(({ text }) => text)))),
    ...given,
  });
  return { env, logs, delivered, background };
}

export function record(event: string, parts: Partial<HookRecord> & Pick<HookRecord, "run" | "read">): HookRecord {
  return {
    name: "hook",
    on: [expectEvent(event)],
    kind: "command",
    dialect: "claude",
    priority: 100,
    mode: "gate",
    enabled: true,
    source: "test",
    ...parts,
  };
}

/** Fires a copy of the event, as firing takes its object over. */
export function fireHook(hook: HookRecord, fired: Fired<EventName>, env: HookEnv): Promise<Folded> {
  return fire([hook], structuredClone(fired), env);
}

/** Runs one command as a hook of one event. */
export async function fireCommand(
  fired: Fired<EventName>,
  command: string,
  given: Partial<CommandOptions> & { record?: Partial<HookRecord>; host?: Partial<HookHost>; env?: Partial<HookEnv> } =
    {},
): Promise<Folded> {
  using folder = scratch();
  const { record: own, host, env, ...options } = given;
  const parts = commandHook({ name: "hook", command, ...options }, {
    projectDir: folder.path,
    outputDir: () => join(folder.path, "outputs"),
    ...host,
  });
  const hook = record(options.registered ?? fired.event, { ...parts, ...own });
  return await fireHook(hook, fired, environment(folder.path, env).env);
}
