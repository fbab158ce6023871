import type { EventName } from "../core/events.ts";
import { contentText, isToolResult, isToolUse, type ToolResultBlock } from "../core/messages.ts";
import type { CallOutcome, RunEvent } from "../core/run-events.ts";
import { naming } from "../log/redact/places.ts";
import { mapTexts } from "../log/redact/redact.ts";
import { echoOf } from "../log/recorded-reply.ts";
import type { Tape } from "../log/tape.ts";
import { modelCalls } from "./requests/api.ts";

export interface ReplayedCall {
  readonly id: string;
  readonly name: string;
  /** The tool's input; if it did not run, as it was denied or its input was invalid, what the model sent. */
  readonly input: any;
  readonly outcome: CallOutcome;
  readonly content: string;
  readonly response?: any;
}

interface ReplayedHook {
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
  return { calls: ofTool(calls), hooks };
}

export function ofTool(calls: ReplayedCall[]): RunSeen["calls"] {
  return (tool) => tool === undefined ? calls : calls.filter(({ name }) => name === tool);
}

/** The calls of a program that is not ours: what replies ask for, with what later requests say came of it. */
export function callsOn(tape: Tape): ReplayedCall[] {
  const calls = modelCalls(tape);
  const results = new Map<string, ToolResultBlock[]>();
  for (const { request: { messages } } of calls) {
    const said = messages.flatMap(({ content }) => content.filter(isToolResult));
    for (const [id, all] of Map.groupBy(said, (one) => one.tool_use_id)) {
      if (all.length > (results.get(id)?.length ?? 0)) results.set(id, all);
    }
  }
  return calls.flatMap((call) => echoOf(call)?.content.filter(isToolUse) ?? []).map(({ id, name, input }) => {
    // Where calls have no ids, results have the names of tools, in the order of the calls.
    const result = (results.get(id) ?? results.get(name))?.shift();
    const outcome = !result ? "interrupted" : result.is_error ? "failure" : "success";
    return { id, name, input, outcome, content: contentText(result?.content ?? "") };
  });
}
