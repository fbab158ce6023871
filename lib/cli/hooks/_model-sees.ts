import { agent } from "../../agent.ts";
import type { EventName, Fired } from "../../core/events.ts";
import type { Folded } from "../../core/fold.ts";
import type { HookRecord } from "../../core/hook.ts";
import { type Block, isToolResult, textOf, type ToolResultBlock } from "../../core/messages.ts";
import { tool } from "../../tools/make-tool.ts";
import type { Opinion } from "../../core/verdict.ts";
import { scripted } from "../../testing/scripted.ts";

/** What reaches the model because of a hook's answer: nothing, or lines that say what and where. */
export async function modelSees(record: HookRecord, fired: Fired<EventName>, folded: Folded): Promise<string[]> {
  const request = requestAfter(fired.event);
  if (request === undefined) return [];
  const bare = await lastMessage(fired, undefined, request);
  const shown = await lastMessage(fired, repeating(record, fired.event, folded), request);
  const seen = new Set(bare.lines);
  const fresh = shown.lines.filter((line) => !seen.has(line));
  return shown.ended === undefined || shown.ended === bare.ended ? fresh : [...fresh, `(no request: ${shown.ended})`];
}

/** Which request of a short run shows what was said at an event; undefined if the model reads nothing of it. */
function requestAfter(event: EventName): number | undefined {
  switch (event) {
    case "pre-tool-use":
    case "permission-request":
    case "post-tool-use":
    case "stop":
      return 1;
    case "session-start":
    case "user-prompt-submit":
    case "agent-start":
    case "turn-start":
    case "iteration":
      return 0;
    default:
      return undefined;
  }
}

/** The hook as it answered, once; it is not run again. */
function repeating(record: HookRecord, event: EventName, folded: Folded): HookRecord {
  const [run] = folded.runs;
  const answer: Opinion = {
    ...run?.opinion,
    ...(folded.contexts.length > 0 && { contexts: folded.contexts }),
    ...(folded.abort && { abort: folded.abort.reason }),
  };
  let asked = false;
  const { misses: _misses, timeout: _timeout, ...rest } = record;
  return {
    ...rest,
    on: [{ event, scope: "all" }],
    enabled: true,
    run: (_event, ctx) => {
      if (asked) return {};
      asked = true;
      for (const { text } of folded.inputs) ctx.hookInput(text);
      if (run?.failure !== undefined) throw new Error(run.failure);
      return answer;
    },
    read: (raw) => raw as Opinion,
  };
}

/** A run of two replies in which nothing is done: what the model reads in one of its requests. */
async function lastMessage(
  fired: Fired<EventName>,
  hook: HookRecord | undefined,
  request: number,
): Promise<{ lines: string[]; ended: string | undefined }> {
  const asks = fired.event === "permission-request";
  const called = asks || fired.event === "pre-tool-use" || fired.event === "post-tool-use" ? fired : undefined;
  const model = scripted(
    called ? [{ tools: [{ name: called.tool_name, input: { ...called.input } }] }] : [],
    { then: { text: fired.event === "stop" ? fired.last_assistant_message || "Done" : "Done" } },
  );
  const idle = called && tool({
    name: called.tool_name,
    description: "Does nothing",
    input: { type: "object" },
    run: () => {
      if (!("result" in called)) return "(the tool's result)";
      const { content, is_error, response } = called.result;
      return { content, isError: is_error, response };
    },
  });
  const result = await agent({
    model,
    tools: idle ? [idle] : [],
    hooks: hook ? [hook] : [],
    limits: { iterations: 3 },
    ...(asks && { permissions: { ask: [fired.tool_name] } }),
  })
    .run(fired.event === "user-prompt-submit" ? fired.prompt || "(the prompt)" : "(the prompt)");
  const message = model.requests[request]?.messages.at(-1);
  const lines = message?.role === "user" ? message.content.map(shownBlock) : [];
  const quiet = message !== undefined || request === 1 && !called;
  return { lines, ended: quiet ? undefined : result.error?.message ?? (result.text || result.stop) };
}

function shownBlock(block: Block): string {
  if (!isToolResult(block)) return textOf({ role: "user", content: [block] });
  const { content, is_error } = block as ToolResultBlock;
  const text = typeof content === "string" ? content : textOf({ role: "user", content: content ?? [] });
  return `${is_error ? "tool_result (error)" : "tool_result"}: ${text}`;
}
