import type { AnyEvent, EventName } from "./events.ts";
import type { HookEnv, HookRecord, OnError } from "./hook.ts";

/** Why a hook is not asked about an event; undefined when it is. */
export function passedOver(hook: HookRecord, event: AnyEvent, env: HookEnv): string | undefined {
  if (!hook.enabled) return "disabled";
  const sub = env.parent_agent_id !== undefined;
  const on = hook.on.find((o) => o.event === event.event && (o.scope === "all" || (o.scope === "sub") === sub));
  if (!on) return sub ? "not for sub-agents" : "only for sub-agents";
  const outcome = event.event === "post-tool-use" ? event.outcome : undefined;
  if (outcome && !hook.on.some((o) => o.event === event.event && (o.outcome === undefined || o.outcome === outcome))) {
    return `not for outcome ${outcome}`;
  }
  return hook.misses?.(event);
}

/** What a failure does if the hook does not say (U7). */
export function failurePolicy(hook: HookRecord, event: EventName): OnError {
  if (hook.kind !== "module" || hook.lenient) return "continue";
  switch (event) {
    case "pre-tool-use":
    case "model-switch":
    case "user-prompt-submit":
      return "deny";
    case "session-start":
    case "turn-start":
    case "iteration":
    case "agent-start":
      return "abort";
    default:
      return "continue";
  }
}
