import Anthropic from "@anthropic-ai/sdk";
import { prompt, type Run, settings, sizeOf, tool } from "../task.ts";

/** The SDK's own loop, streaming. It has no hooks. */
const run: Run = async (url, { result, once, hooks }) => {
  if (hooks) throw new Error("Cannot compare as the tool runner has no hooks");
  let calls = 0;
  let input = 0;
  const client = new Anthropic({ apiKey: "k", baseURL: url });
  const runner = client.beta.messages.toolRunner({
    ...settings,
    stream: true,
    max_iterations: once ? 1 : 10_000,
    messages: [{ role: "user", content: prompt }],
    tools: [{
      ...tool,
      parse: (given: unknown) => given,
      run: (given: unknown) => {
        input = sizeOf(given);
        return result;
      },
    }],
  });
  for await (const stream of runner) {
    calls++;
    for await (const _ of stream) { /* read to its end */ }
  }
  return { calls, input };
};
export default run;
