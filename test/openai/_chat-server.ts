import { text } from "node:stream/consumers";
import { serve } from "../_server.ts";

type Json = { readonly [key: string]: unknown };

export interface ChatReply {
  readonly text?: string;
  readonly thinking?: string;
  readonly tools?: readonly { readonly name: string; readonly input: Json }[];
}

/** A server of Chat Completions that gives one reply after the other, or what a function makes of the request. */
export async function chatServer(replies: readonly ChatReply[] | ((body: Json) => ChatReply)) {
  const requests: Json[] = [];
  const headers: Json[] = [];
  const server = await serve(async (request, response) => {
    const body = JSON.parse(await text(request)) as Json;
    requests.push(body);
    headers.push(request.headers);
    const reply = typeof replies === "function" ? replies(body) : replies[requests.length - 1] ?? { text: "over" };
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (const chunk of chunksOf(reply, requests.length)) response.write(`data: ${JSON.stringify(chunk)}\n\n`);
    response.end("data: [DONE]\n\n");
  });
  return {
    ...{ requests, headers, url: `${server.url}/v1` },
    [Symbol.dispose]: () => server[Symbol.dispose](),
  };
}

function chunksOf({ text, thinking, tools = [] }: ChatReply, n: number): Json[] {
  const chunk = (delta: Json, more: Json = {}) => ({
    id: `chatcmpl-${n}`,
    model: "served",
    choices: [{ index: 0, delta, finish_reason: null, ...more }],
  });
  return [
    chunk({ role: "assistant" }),
    ...(thinking === undefined ? [] : [chunk({ reasoning_content: thinking })]),
    ...(text === undefined ? [] : [...text].map((content) => chunk({ content }))),
    ...tools.map(({ name, input }, index) =>
      chunk({
        tool_calls: [{
          index,
          type: "function",
          id: `call_${n}_${index}`,
          function: { name, arguments: JSON.stringify(input) },
        }],
      })
    ),
    chunk({}, { finish_reason: tools.length > 0 ? "tool_calls" : "stop" }),
    { id: `chatcmpl-${n}`, choices: [], usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 } },
  ];
}
