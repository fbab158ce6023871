import type { EventName } from "../core/events.ts";
import { isToolUse } from "../core/messages.ts";
import type { CallOutcome, RunEvent } from "../core/run-events.ts";
import { naming } from "./redact/places.ts";
import { mapTexts } from "./redact/redact.ts";

/** One tool call of a replayed run. */
export interface ReplayedCall {
  readonly id: string;
  readonly name: string;
  /** The tool's input; if it did not run, as it was denied or its input was invalid, what the model sent. */
  readonly input: any;
  readonly outcome: CallOutcome;
  readonly content: string;
  readonly response?: any;
}

/** What one hook answered. */
export interface ReplayedHook {
  readonly hook: string;
  readonly event: EventName;
  /** `failed` if it gave no usable answer. */
  readonly decision: string;
  /** Its own words, or why it failed. */
  readonly reason?: string;
}

/** What tests and invariants ask of a run. Its workspace, which is deleted, is `{ROOT}` in all texts. */
export interface RunSeen {
  /** The tool calls, in the order they ended; only those of one tool if it is named. */
  calls(tool?: string): ReplayedCall[];
  /** What hooks answered, in order. */
  readonly hooks: readonly ReplayedHook[];
}

/** Names a workspace `{ROOT}` in every text of a value. */
export function withRootNamed(root: string): <T>(value: T) => T {
  const named = naming({ root });
  return (value) => mapTexts(value, (text) => named(text));
}

export function runSeen(events: readonly RunEvent[], shown: <T>(value: T) => T): RunSeen {
  const ran = new Map(events.flatMap((e) => e.type === "tool_start" ? [[e.id, e.input]] : []));
  const given = new Map(
    events.flatMap((e) => e.type === "message" ? e.message.content.filter(isToolUse) : [])
      .map(({ id, input }) => [id, input]),
  );
  const calls = shown(events.flatMap((e): ReplayedCall[] => {
    if (e.type !== "tool_end") return [];
    const { id, name, outcome, content, response } = e;
    const input = ran.get(id) ?? given.get(id);
    return [{ id, name, input, outcome, content, ...(response !== undefined && { response }) }];
  }));
  const hooks = shown(events.flatMap((e): ReplayedHook[] => {
    if (e.type !== "hook_end") return [];
    const { hook, event, decision, failure, reason = failure } = e;
    return [{ hook, event, decision, ...(reason !== undefined && { reason }) }];
  }));
  return { calls: (tool) => tool === undefined ? calls : calls.filter((call) => call.name === tool), hooks };
}
