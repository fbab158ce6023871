import { createAnthropic } from "@ai-sdk/anthropic";
import { Agent, run as runAgent, setTracingDisabled, tool as makeTool } from "@openai/agents";
import { aisdk } from "@openai/agents-extensions/ai-sdk";
import { prompt, type Run, settings, sizeOf, system, tool } from "../task.ts";

setTracingDisabled(true);

/** OpenAI's agents, on the Messages API through its adapter for the AI SDK. */
const run: Run = async (url, { result, once, hooks = 0 }) => {
  let used = 0;
  let input = 0;
  const worker = new Agent({
    name: "worker",
    instructions: system,
    model: aisdk(createAnthropic({ apiKey: "k", baseURL: `${url}/v1` })(settings.model) as never),
    modelSettings: { maxTokens: settings.max_tokens },
    tools: [makeTool({
      name: tool.name,
      description: tool.description,
      strict: false,
      parameters: { ...tool.input_schema, required: [], additionalProperties: true } as never,
      execute: (given: unknown) => {
        used++;
        input = sizeOf(given);
        return result;
      },
    })],
  });
  for (let i = 0; i < hooks; i++) worker.on("agent_tool_start", () => {});
  const stream = await runAgent(worker, prompt, { stream: true, maxTurns: once ? 1 : 10_001 });
  try {
    for await (const _ of stream) { /* read to its end */ }
    await stream.completed;
  } catch (error) {
    if (!once) throw error; // its way of saying that one turn was all it may take
  }
  return { calls: once ? 1 : used + 1, input };
};
export default run;
