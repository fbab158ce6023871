import { stamp } from "../../lib/core/_event.ts";
import type { AnyEvent, EventName } from "../../lib/core/events.ts";
import { hookEnv } from "../../lib/hooks/hook-env.ts";
import { DEFAULTS } from "../../lib/hooks/registry.ts";
import { Context, type HookEnv } from "../../lib/core/hook.ts";

/** Where a hook of a test runs, with what a test gives it. */
export function testEnv(given: Partial<HookEnv> = {}): HookEnv {
  return hookEnv({ session_id: "s", agent_id: "a", turn_id: "t", ...given });
}

/** An event as hooks get it: stamped and frozen. */
export function fired(event: EventName, fields: { readonly [field: string]: unknown } = {}, env = testEnv()): AnyEvent {
  return stamp({ ...DEFAULTS[event], ...fields, event } as never, env);
}

/** A tool call about to be made. */
export function call(tool_name: string, input: { readonly [field: string]: unknown }, env = testEnv()): AnyEvent {
  return fired("pre-tool-use", { tool_name, input, original_input: input, tool_use_id: "toolu_1" }, env);
}

export function testContext(env = testEnv()): Context {
  return new Context(env, "test");
}
