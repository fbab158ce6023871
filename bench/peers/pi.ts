import { runAgentLoop } from "@earendil-works/pi-agent-core";
import { streamSimple } from "@earendil-works/pi-ai/api/anthropic-messages";
import { prompt, type Run, settings, sizeOf, system, tool } from "../task.ts";

/** The agent core of pi. It has one hook before a tool call. */
const run: Run = async (url, { result, once, hooks = 0 }) => {
  let used = 0;
  let input = 0;
  const stop = new AbortController();
  const noop = () => {};
  const model = {
    id: settings.model,
    name: settings.model,
    api: "anthropic-messages",
    provider: "anthropic",
    baseUrl: url,
    reasoning: false,
    input: ["text"],
    cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
    contextWindow: 1_000_000,
    maxTokens: settings.max_tokens,
  } as never;
  const look = {
    name: tool.name,
    label: tool.name,
    description: tool.description,
    parameters: tool.input_schema,
    execute: async (_: string, given: unknown) => {
      used++;
      input = sizeOf(given);
      if (once) stop.abort();
      return { content: [{ type: "text", text: result }], details: {} };
    },
  } as never;
  await runAgentLoop(
    [{ role: "user", content: prompt, timestamp: 0 }],
    { messages: [{ role: "system", content: system, timestamp: 0 }], tools: [look] } as never,
    {
      model,
      convertToLlm: (messages: never[]) => messages,
      ...(hooks > 0 && {
        beforeToolCall: async () => {
          for (let i = 0; i < hooks; i++) await noop();
        },
      }),
    } as never,
    () => {},
    stop.signal,
    (model, context, options) => streamSimple(model as never, context as never, { ...options, apiKey: "k" }),
  );
  return { calls: once ? 1 : used + 1, input };
};
export default run;
