import Anthropic from "@anthropic-ai/sdk";

const client = new Anthropic();
await client.messages.stream({
  model: "claude-bench",
  max_tokens: 1000,
  messages: [{ role: "user", content: "hi" }],
}).finalMessage();

console.log(JSON.stringify(process.cpuUsage()));
