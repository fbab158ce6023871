import { text } from "node:stream/consumers";
import { chatChunks } from "../../../lib/extensions/lab/lab-model.ts";
import { serve } from "../../_server.ts";

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
    for (const chunk of chatChunks(reply, requests.length)) response.write(`data: ${JSON.stringify(chunk)}\n\n`);
    response.end("data: [DONE]\n\n");
  });
  return {
    ...{ requests, headers, url: `${server.url}/v1` },
    [Symbol.dispose]: () => server[Symbol.dispose](),
  };
}
