import { spawn } from "node:child_process";
import { McpServer } from "@modelcontextprotocol/server";
import { z } from "zod";

/** One pixel. */
export const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/** A server with a tool of each kind; `argv` and `env` let a test see how it was started. */
export function server(): McpServer {
  const made = new McpServer({ name: "test", version: "1.0.0" });
  made.registerTool(
    "echo",
    { description: "Says it again", inputSchema: z.object({ text: z.string() }) },
    ({ text }) => ({
      content: [{ type: "text", text: `echo ${text}` }],
    }),
  );
  made.registerTool("look", { annotations: { readOnlyHint: true } }, () => ({
    content: [
      { type: "text", text: "a picture:" },
      { type: "image", mimeType: "image/png", data: PNG },
      { type: "image", mimeType: "image/tiff", data: "aGk=" },
      { type: "resource_link", name: "notes", uri: "file:///notes.txt" },
      { type: "resource", resource: { uri: "file:///a.txt", text: "inside" } },
    ],
  }));
  made.registerTool("weigh", {
    outputSchema: z.object({ grams: z.number() }),
  }, () => ({ content: [], structuredContent: { grams: 12 } }));
  made.registerTool("fail", {}, () => ({ isError: true, content: [{ type: "text", text: "it broke" }] }));
  made.registerTool("slow", {}, async (context) => {
    await new Promise((resolve) => {
      const timer = setTimeout(resolve, 60_000);
      context.mcpReq.signal.addEventListener("abort", () => {
        clearTimeout(timer);
        resolve(undefined);
      });
    });
    return { content: [{ type: "text", text: "late" }] };
  });
  made.registerTool("env", {}, () => ({
    content: [{ type: "text", text: JSON.stringify({ args: process.argv.slice(2), env: process.env }) }],
  }));
  made.registerTool("fork", {}, () => {
    const { pid } = spawn("sleep", ["300"], { stdio: "ignore" });
    return { content: [{ type: "text", text: String(pid) }] };
  });
  made.registerTool("crash", {}, () => process.exit(3));
  made.registerTool("grow", {}, () => {
    made.registerTool("grown.up", {}, () => ({ content: [{ type: "text", text: "tall" }] }));
    return { content: [{ type: "text", text: "grown" }] };
  });
  made.registerTool("steps", {}, async (context) => {
    const { _meta: meta } = context.mcpReq;
    if (meta?.progressToken !== undefined) {
      await context.mcpReq.notify({
        method: "notifications/progress",
        params: { progressToken: meta.progressToken, progress: 1, total: 2, message: "half" },
      });
      // The client forgets who waits for progress once the result is there.
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    return { content: [{ type: "text", text: "done" }] };
  });
  return made;
}
