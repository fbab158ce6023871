import { fire } from "../../lib/core/dispatch.ts";
import type { EventName, Fired } from "../../lib/core/events.ts";
import type { Folded } from "../../lib/core/fold.ts";
import type { HookContext, HookEnv, HookRecord } from "../../lib/core/hook.ts";
import { fakeClock } from "./_clock.ts";
import { named, within } from "./_stage.ts";

/** What a host gives the engine to ask hooks with; its clock jumps. */
export function env(given: Partial<HookEnv> = {}): HookEnv {
  return {
    session_id: "s",
    agent_id: "a",
    turn_id: "t",
    sequence: { next: 0 },
    clock: fakeClock(),
    cwd: "/srv",
    values: new Map(),
    signal: new AbortController().signal,
    ...given,
  };
}

export const PRE: Fired<"pre-tool-use"> = {
  event: "pre-tool-use",
  tool_name: "Bash",
  input: { n: 0 },
  original_input: { n: 0 },
  tool_use_id: "toolu_1",
};

export const POST: Fired<"post-tool-use"> = {
  ...PRE,
  event: "post-tool-use",
  result: { content: "r", is_error: false, response: "r" },
  outcome: "success",
  failed: false,
  error: null,
  duration_ms: 1,
};

export const STOP: Fired<"stop"> = {
  event: "stop",
  last_assistant_message: "done",
  messages: [],
  usage: { input_tokens: 1, output_tokens: 1, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 },
  stop_hook_active: false,
  continuations: 0,
  stalled: 0,
  remaining: 8,
  agent_type: "main",
};

export type Answering = (event: any, ctx: HookContext) => unknown;

const on = (event: EventName) => (name: string, run: Answering, given: Partial<HookRecord> = {}) =>
  named(name, event, run, given);

export const pre = on("pre-tool-use");
export const post = on("post-tool-use");
export const stop = on("stop");

/** Fires a copy: the engine takes over what it is given. */
export function folded(records: readonly HookRecord[], fired: Fired, where = env()): Promise<Folded> {
  return within(fire(records, { ...fired }, where));
}

/** The hooks that were asked. */
export const ran = (f: Folded) => f.runs.filter((r) => r.skipped === undefined).map((r) => r.hook);
