// An agent without Crochet: asks the Messages API, runs one tool, writes a ledger, prints what it did.
import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
const began = Date.now();
const ask = async (messages) => {
  const headers = {
    "content-type": "application/json",
    "x-api-key": process.env.ANTHROPIC_API_KEY ?? "none",
    "anthropic-version": "2023-06-01",
  };
  const tools = [{
    name: "refund",
    description: "Pays back.",
    input_schema: { type: "object", properties: { cents: { type: "number" } } },
  }];
  const body = JSON.stringify({ model: "claude-a", max_tokens: 99, tools, messages });
  return (await fetch(`${process.env.ANTHROPIC_BASE_URL}/v1/messages`, { method: "POST", headers, body })).json();
};
const messages = [{ role: "user", content: process.argv[2] }];
for (;;) {
  const reply = await ask(messages);
  messages.push({ role: "assistant", content: reply.content });
  const call = reply.content?.find((block) => block.type === "tool_use");
  if (!call) {
    console.log(reply.content?.[0]?.text ?? JSON.stringify(reply));
    break;
  }
  appendFileSync("ledger.txt", `refund ${call.input.cents}\n`);
  messages.push({ role: "user", content: [{ type: "tool_result", tool_use_id: call.id, content: "ok" }] });
}
writeFileSync("last-run.txt", `${new Date().toISOString()} ${process.pid}\n`);
console.log(`lines in ledger: ${readFileSync("ledger.txt", "utf8").trim().split("\n").length}`);
console.log(`took ${Date.now() - began + Math.random()} ms in ${process.cwd()}`);
process.exit(0);
