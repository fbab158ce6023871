/** Serves the same work twice: as an agent, and as a handler written by hand. Argument: port. */
import * as restate from "@restatedev/restate-sdk/fetch";
import { agent, type Model, tool } from "../lib/index.ts";
import type { Message } from "../lib/core/messages.ts";
import { readReply } from "../lib/core/reply.ts";
import { serve } from "../lib/extensions/durable/restate.ts";

const WORDS = "a line of what a tool may say, again and again. ".repeat(4);

/** Calls its tool until it was called as often as the prompt says. */
const model: Model = async function* ({ messages }) {
  const calls = Number((messages[0]!.content[0] as { text: string }).text);
  const n = (messages.length - 1) / 2;
  yield {
    type: "message_start",
    message: { usage: { input_tokens: 10, output_tokens: 5 } },
  };
  const block = n < calls
    ? { type: "tool_use", id: `t${n}`, name: "Work", input: { n } }
    : { type: "text", text: String(performance.now()) };
  yield { type: "content_block_start", index: 0, content_block: block };
  yield { type: "content_block_stop", index: 0 };
  yield {
    type: "message_delta",
    delta: { stop_reason: n < calls ? "tool_use" : "end_turn" },
  };
  yield { type: "message_stop" };
};

/** When it was called, by the clock and by what the process had computed. */
const did = async () => {
  const { user, system } = process.cpuUsage();
  return `${performance.now()} ${(user + system) / 1000} ${WORDS}`;
};
const Work = tool({
  name: "Work",
  description: "Works.",
  input: { type: "object" },
  effect: "write",
  run: did,
});
const bench = agent({
  name: "bench",
  model,
  tools: [Work],
  limits: { iterations: 100_000, calls: 100_000 },
});

/** The loop as one would write it for the engine. */
const hand = restate.object({
  name: "hand",
  handlers: {
    async run(ctx: restate.ObjectContext, { prompt }: { prompt: string }) {
      const messages: Message[] = [{
        role: "user",
        content: [{ type: "text", text: prompt }],
      }];
      for (let n = 0;; n++) {
        const request = {
          model: "m",
          system: "",
          messages,
          tools: [],
          max_tokens: 1000,
        };
        const { message, calls } = await ctx.run(
          `llm ${n}`,
          () =>
            readReply(
              model(request, ctx.request().attemptCompletedSignal),
              () => {},
            ),
        );
        messages.push(message);
        if (calls.length === 0) break;
        const content = await ctx.run(`tool ${n}`, did);
        messages.push({
          role: "user",
          content: [{
            type: "tool_result",
            tool_use_id: calls[0]!.id,
            content,
          }],
        });
      }
      ctx.set("messages", messages);
      return { messages };
    },
  },
});

const handler = restate.createEndpointHandler({
  services: [hand],
  bidirectional: true,
});
const port = Number(process.argv[2]);
const bun = (globalThis as { Bun?: { serve(options: object): unknown } }).Bun!;
bun.serve({
  hostname: "127.0.0.1",
  port: port + 1,
  idleTimeout: 0,
  fetch: (request: Request) => handler(request),
});
const admin = process.argv[3]!;
await fetch(`${admin}/deployments`, {
  method: "POST",
  headers: { "content-type": "application/json" },
  body: JSON.stringify({
    uri: `http://127.0.0.1:${port + 1}`,
    use_http_11: true,
    force: true,
  }),
});
await (await serve([bench], { port })).register(admin);
process.stdout.write("listening\n");
