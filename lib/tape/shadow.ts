import type { AnyEvent, EventName } from "../core/events.ts";
import type { HookContext, HookRecord } from "../core/hook.ts";
import { thrownWords } from "../core/thrown.ts";
import { NO_OPINION, type Opinion } from "../core/verdict.ts";

/** What a hook would have done, had it been allowed to. */
export interface ShadowVerdict {
  readonly hook: string;
  readonly event: EventName;
  /** The tool of a tool event. */
  readonly tool?: string;
  readonly would: "deny" | "ask" | "allow" | "modify" | "halt" | "abort" | "send back" | "say" | "fail";
  readonly reason?: string;
}

/**
 * Hooks that are asked about everything and change nothing: what they would have done is told. They are asked first,
 * so they see what the agent wanted and not what other hooks made of it.
 */
export function shadows(records: readonly HookRecord[], tell: (verdict: ShadowVerdict) => void): HookRecord[] {
  return records.map((record): HookRecord => {
    const say = (event: AnyEvent, would: ShadowVerdict["would"], reason?: string) =>
      tell({
        hook: record.name,
        event: event.event,
        ...("tool_name" in event && { tool: event.tool_name }),
        would,
        ...(reason !== undefined && { reason }),
      });
    return {
      ...record,
      mode: "gate",
      priority: Number.NEGATIVE_INFINITY,
      onError: "continue",
      run: async (event, ctx) => {
        try {
          const opinion = record.read(await record.run(event, harmless(ctx, event, say)), event);
          for (const [would, reason] of verdictsOf(opinion, event)) say(event, would, reason);
        } catch (error) {
          say(event, "fail", thrownWords(error));
        }
      },
      read: () => NO_OPINION,
    };
  });
}

/** A context through which nothing can be done. */
function harmless(
  ctx: HookContext,
  event: AnyEvent,
  say: (event: AnyEvent, would: ShadowVerdict["would"], reason?: string) => void,
): HookContext {
  const instead: Partial<HookContext> = {
    addContext: (text) => say(event, "say", text),
    hookInput: (text) => say(event, "say", text),
    abort: (reason) => say(event, "abort", reason),
    values: new Map(ctx.values),
  };
  return new Proxy(ctx, {
    get: (target, key) => {
      if (Object.hasOwn(instead, key)) return instead[key as keyof HookContext];
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

function verdictsOf(opinion: Opinion, { event }: AnyEvent): [ShadowVerdict["would"], string | undefined][] {
  const { decision, reason, value, halt, abort, contexts = [] } = opinion;
  const found: [ShadowVerdict["would"], string | undefined][] = [];
  if (decision === "deny") found.push([event === "stop" ? "send back" : "deny", reason]);
  else if (decision !== undefined) found.push([decision, reason]);
  if (value) found.push(["modify", JSON.stringify(value.to)]);
  if (halt !== undefined) found.push(["halt", halt]);
  if (abort !== undefined) found.push(["abort", abort]);
  for (const { text } of contexts) found.push(["say", text]);
  return found;
}
