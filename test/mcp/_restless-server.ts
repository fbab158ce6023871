/** A server that says again and again that its tools have changed; its tool tells how often they were listed since. */
import { createInterface } from "node:readline";

let listed = 0;
const say = (message: object) => console.log(JSON.stringify({ jsonrpc: "2.0", ...message }));

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method } = JSON.parse(line);
  if (method === "initialize") {
    const capabilities = { tools: { listChanged: true } };
    say({
      id,
      result: { protocolVersion: "2025-06-18", capabilities, serverInfo: { name: "restless", version: "1" } },
    });
  } else if (method === "tools/list") {
    listed++;
    say({ id, result: { tools: [{ name: "count", inputSchema: { type: "object" } }] } });
  } else if (method === "tools/call") {
    listed = 0;
    const timer = setInterval(() => say({ method: "notifications/tools/list_changed" }), 100);
    setTimeout(() => {
      clearInterval(timer);
      say({ id, result: { content: [{ type: "text", text: String(listed) }] } });
    }, 2000);
  }
}
