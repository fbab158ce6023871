import { createAnthropic } from "@ai-sdk/anthropic";
import { isStepCount, jsonSchema, streamText, tool as makeTool } from "ai";
import { prompt, type Run, settings, sizeOf, system, tool } from "../task.ts";

/** Vercel's AI SDK. Its hook before a tool call is a callback of the call. */
const run: Run = async (url, { result, once, hooks = 0 }) => {
  let calls = 0;
  let input = 0;
  const noop = () => {};
  const stream = streamText(
    {
      model: createAnthropic({ apiKey: "k", baseURL: `${url}/v1` })(settings.model),
      maxOutputTokens: settings.max_tokens,
      system,
      prompt,
      stopWhen: isStepCount(once ? 1 : 10_000),
      tools: {
        look: makeTool({
          description: tool.description,
          inputSchema: jsonSchema(tool.input_schema),
          execute: (given: unknown) => {
            input = sizeOf(given);
            return result;
          },
        }),
      },
      ...(hooks > 0 && {
        onToolExecutionStart: async () => {
          for (let i = 0; i < hooks; i++) await noop();
        },
      }),
    } as Parameters<typeof streamText>[0],
  );
  for await (const part of stream.fullStream) {
    if (part.type === "error") throw part.error;
    if (part.type === "finish-step") calls++;
  }
  return { calls, input };
};
export default run;
