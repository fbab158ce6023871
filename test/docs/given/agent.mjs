import Anthropic from "@anthropic-ai/sdk";

const reply = await new Anthropic().messages.create({
  model: "claude-opus-4-5",
  max_tokens: 500,
  system: "You decide about refunds. Be strict.",
  messages: [{ role: "user", content: process.argv[2] }],
});
console.log(reply.content[0].text);
