import { agent } from "../../agent/agent.ts";
import type { EventName, Fired } from "../../core/events.ts";
import type { Folded } from "../../core/fold.ts";
import type { HookRecord } from "../../core/hook.ts";
import { type Block, isToolResult, textOf, type ToolResultBlock } from "../../core/messages.ts";
import type { Opinion } from "../../core/verdict.ts";
import { scripted } from "../../models/scripted.ts";
import { tool } from "../../tools/make-tool.ts";

/** What reaches the model because of a hook's answer: what it reads in a short run with that answer, and not without. */
export async function modelSees(record: HookRecord, fired: Fired<EventName>, folded: Folded): Promise<string[]> {
  const bare = await shortRun(fired, []);
  const shown = await shortRun(fired, [repeating(record, fired.event, folded)]);
  const fresh = shown.lines.filter((line) => !bare.lines.includes(line));
  return shown.ended === bare.ended ? fresh : [...fresh, `(no request: ${shown.ended})`];
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

/** A run in which nothing is done: what the model reads in it, and why it ends before the model could read all. */
async function shortRun(
  fired: Fired<EventName>,
  hooks: HookRecord[],
): Promise<{ lines: string[]; ended: string | undefined }> {
  const asks = fired.event === "permission-request";
  const called = asks || fired.event === "pre-tool-use" || fired.event === "post-tool-use"
    ? fired
    : fired.event === "post-tool-batch"
    ? fired.tool_calls[0]
    : undefined;
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
    hooks,
    limits: { iterations: 3 },
    ...(asks && { permissions: { ask: [fired.tool_name] } }),
  })
    .run(fired.event === "user-prompt-submit" && fired.prompt || "(the prompt)", { log: false });
  const read = model.requests.flatMap(({ messages }) => messages.filter(({ role }) => role === "user"));
  const lines = [...new Set(read.flatMap(({ content }) => content.map(shownBlock)))];
  const isWhole = model.requests.length > (called ? 1 : 0);
  return { lines, ended: isWhole ? undefined : result.error?.message ?? (result.text || result.stop) };
}

function shownBlock(block: Block): string {
  if (!isToolResult(block)) return textOf({ role: "user", content: [block] });
  const { content, is_error } = block as ToolResultBlock;
  const text = typeof content === "string" ? content : textOf({ role: "user", content: content ?? [] });
  return `${is_error ? "tool_result (error)" : "tool_result"}: ${text}`;
}
