/**
 * The other side of the wire, in a process of its own so that its work is not counted: a Messages API that answers
 * from memory. The path says what to answer: `/turns/<run>/<k>` calls a tool k times and then ends, `/input/<bytes>`
 * streams one tool call with so much input, `/seen` tells when the last request arrived.
 */
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { ModelEvent, RawBlock } from "../lib/core/model.ts";

function reply(
  content_block: RawBlock,
  deltas: readonly RawBlock[],
  stop_reason: string,
): ModelEvent[] {
  const usage = {
    input_tokens: 10,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0,
    output_tokens: 1,
  };
  const message = {
    id: "msg_bench",
    type: "message",
    role: "assistant",
    model: "claude-bench",
    content: [],
    usage,
  };
  return [
    { type: "message_start", message },
    { type: "content_block_start", index: 0, content_block },
    ...deltas.map((delta): ModelEvent => ({
      type: "content_block_delta",
      index: 0,
      delta,
    })),
    { type: "content_block_stop", index: 0 },
    {
      type: "message_delta",
      delta: { stop_reason, stop_sequence: null },
      usage: { output_tokens: 20 },
    },
    { type: "message_stop" },
  ];
}

function toolCall(id: string, input: unknown, piece: number): ModelEvent[] {
  const json = JSON.stringify(input);
  const deltas = [{ type: "input_json_delta", partial_json: "" }];
  for (let i = 0; i < json.length; i += piece) {
    deltas.push({
      type: "input_json_delta",
      partial_json: json.slice(i, i + piece),
    });
  }
  return reply(
    { type: "tool_use", id, name: "look", input: {} },
    deltas,
    "tool_use",
  );
}

const end = reply({ type: "text", text: "" }, [{
  type: "text_delta",
  text: "done",
}], "end_turn");

/** One write for each event, as the API does. */
function stream(response: ServerResponse, events: readonly ModelEvent[]): void {
  response.writeHead(200, {
    "content-type": "text/event-stream; charset=utf-8",
  });
  for (const event of events) {
    response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
  }
  response.end();
}

const counts = new Map<string, number>();
let seen = 0;

const server = createServer((request, response) => {
  const now = performance.timeOrigin + performance.now();
  const [kind, run = "", k = ""] = request.url!.slice(1).split("/");
  if (kind === "seen") return response.end(String(seen));
  seen = now;
  request.resume().on("end", () => {
    if (kind === "input") {
      return stream(
        response,
        toolCall("toolu_big", {
          path: "a.txt",
          text: "lorem ipsum dol\n".repeat(Number(run) / 16),
        }, 64),
      );
    }
    const n = (counts.get(run) ?? 0) + 1;
    counts.set(run, n);
    stream(
      response,
      n > Number(k) ? end : toolCall(`toolu_${run}_${n}`, { query: `step ${n}`, limit: 10 }, 12),
    );
  });
});
server.listen(
  0,
  "127.0.0.1",
  () => console.log((server.address() as AddressInfo).port),
);
