import { Agent, BeforeToolCallEvent, tool as makeTool } from "@strands-agents/sdk";
import { AnthropicModel } from "@strands-agents/sdk/models/anthropic";
import { prompt, type Run, settings, sizeOf, system, tool } from "../task.ts";

/** Strands. It has no limit of turns, so a single call is ended by the tool that it leads to. */
const run: Run = async (url, { result, once, hooks = 0 }) => {
  let used = 0;
  let input = 0;
  const worker: Agent = new Agent({
    model: new AnthropicModel({
      apiKey: "k",
      modelId: settings.model,
      maxTokens: settings.max_tokens,
      clientConfig: { baseURL: url },
    }),
    systemPrompt: system,
    printer: false,
    tools: [makeTool({
      name: tool.name,
      description: tool.description,
      inputSchema: tool.input_schema,
      callback: (given: unknown) => {
        used++;
        input = sizeOf(given);
        if (once) worker.cancel();
        return result;
      },
    })],
  });
  for (let i = 0; i < hooks; i++) worker.addHook(BeforeToolCallEvent, () => {});
  for await (const _ of worker.stream(prompt)) { /* read to its end */ }
  return { calls: once ? 1 : used + 1, input };
};
export default run;
