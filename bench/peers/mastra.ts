import { createAnthropic } from "@ai-sdk/anthropic";
import { Agent } from "@mastra/core/agent";
import { createTool } from "@mastra/core/tools";
import { z } from "zod";
import { prompt, type Run, settings, sizeOf, system, tool } from "../task.ts";

/** Mastra. It has processors of messages and no hook before a tool call. */
const run: Run = async (url, { result, once, hooks }) => {
  if (hooks) throw new Error("Cannot compare as Mastra has no hook before a tool call");
  let calls = 0;
  let input = 0;
  const worker = new Agent({
    id: "worker",
    name: "worker",
    instructions: system,
    model: createAnthropic({ apiKey: "k", baseURL: `${url}/v1` })(settings.model) as never,
    tools: {
      look: createTool({
        id: tool.name,
        description: tool.description,
        inputSchema: z.object({
          query: z.string().optional(),
          limit: z.number().optional(),
          path: z.string().optional(),
          text: z.string().optional(),
        }),
        execute: async (given: unknown) => {
          input = sizeOf(given);
          return { result };
        },
      }),
    },
  });
  const stream = await worker.stream(prompt, {
    maxSteps: once ? 1 : 10_000,
    modelSettings: { maxOutputTokens: settings.max_tokens },
  });
  for await (const part of stream.fullStream) if (part.type === "step-finish") calls++;
  return { calls, input };
};
export default run;
