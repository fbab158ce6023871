import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import { isObject, type JsonObject, parsed } from "../../core/json.ts";
import { opened } from "../../replay/requests/listen.ts";
import { scriptedServer } from "../../testing/server.ts";
export type Api = "messages" | "responses" | "gemini" | "chat";

/** A call of a tool, by the host's names. */
export interface ModelCall {
  readonly name: string;
  readonly input: JsonObject;
  /** Where Codex keeps a tool that is not on its list. */
  readonly namespace?: string;
  /** The one text that a tool without fields takes. */
  readonly freeform?: string;
}

export interface LabStep {
  readonly text?: string;
  readonly tools?: readonly ModelCall[];
  readonly tokens?: number;
}

/** What a model sees: hosts ask for titles and summaries between, so the number of requests says nothing. */
export interface ModelView {
  readonly results: number;
  readonly conversation: string;
  readonly tools: readonly string[];
}

/** One request, and what was wrong with it. */
export interface ReceivedRequest {
  readonly body: JsonObject;
  readonly refused?: string;
}

/** A model on 127.0.0.1 in the protocol of a host. */
export interface ModelServer extends AsyncDisposable {
  readonly url: string;
  readonly asked: () => readonly ReceivedRequest[];
}

type Next = (seen: ModelView) => Promise<LabStep>;

const CONVERSATION = { messages: "messages", responses: "input", gemini: "contents", chat: "messages" } as const;

/** How the result of a call begins, in any of them. */
export const RESULT = /"type":"(?:tool_result|\w+_output)"|"functionResponse":|"role":"tool"/g;

function seenIn(api: Api, body: JsonObject): ModelView {
  const conversation = JSON.stringify(body[CONVERSATION[api]]);
  return { results: conversation.match(RESULT)?.length ?? 0, conversation, tools: offered(body) };
}

export function offered({ tools = [] }: JsonObject): string[] {
  return [...JSON.stringify(tools).matchAll(/"name":"([^"]+)"/g)].map(([, name]) => name!);
}

/** Starts a model that says what `next` says; Messages are checked as the API would. */
export async function scriptedModel(api: Api, next: Next): Promise<ModelServer> {
  if (api === "messages") return await messagesModel(next);
  const asked: ReceivedRequest[] = [];
  const server = createServer(async (request, response) => {
    const body = parsed(await text(request));
    if (request.method !== "POST" || !isObject(body)) return void response.writeHead(404).end();
    const refused = Array.isArray(body[CONVERSATION[api]]) ? undefined : `${CONVERSATION[api]}: expected a list`;
    asked.push({ body, ...(refused !== undefined && { refused }) });
    if (refused !== undefined) return void response.writeHead(400).end(JSON.stringify({ error: { message: refused } }));
    const streams = body.stream === true || request.url!.includes("alt=sse");
    response.writeHead(200, { "content-type": streams ? "text/event-stream" : "application/json" });
    response.end(REPLIES[api](await next(seenIn(api, body)), asked.length, streams));
  });
  const { url, close } = await opened(server, 0);
  return { url: api === "gemini" ? url : `${url}/v1`, asked: () => asked, [Symbol.asyncDispose]: close };
}

async function messagesModel(next: Next): Promise<ModelServer> {
  const server = await scriptedServer([], {
    then: async (request) => {
      const { text = "", tools } = await next(seenIn("messages", { ...request }));
      return tools ? { tools: tools.map(({ name, input }) => ({ name, input: { ...input } })) } : { text };
    },
  });
  // A request to count tokens has no limit of them.
  const asked = () =>
    server.requests.filter(({ body }) => body?.messages !== undefined && body.max_tokens !== undefined);
  return { url: server.url, asked, [Symbol.asyncDispose]: () => server.close() };
}

const sse = (events: readonly JsonObject[]) =>
  events.map((event) => `${event.type ? `event: ${event.type}\n` : ""}data: ${JSON.stringify(event)}\n\n`).join("");

const REPLIES: { readonly [A in Exclude<Api, "messages">]: (step: LabStep, n: number, streams: boolean) => string } = {
  responses: ({ text, tools = [], tokens = 15 }, n) => {
    const items = [
      ...(text === undefined ? [] : [{ type: "message", role: "assistant", content: [{ type: "output_text", text }] }]),
      ...tools.map(({ name, input, namespace, freeform }, i) => ({
        ...{ call_id: `call_${n}_${i}`, name, ...(namespace !== undefined && { namespace }) },
        ...(freeform === undefined
          ? { type: "function_call", arguments: JSON.stringify(input) }
          : { type: "custom_tool_call", input: freeform }),
      })),
    ];
    const usage = { input_tokens: tokens - 5, output_tokens: 5, total_tokens: tokens };
    return sse([
      { type: "response.created", response: { id: `resp_${n}` } },
      ...items.map((item, i) => {
        return { type: "response.output_item.done", output_index: i, item: { id: `item_${n}_${i}`, ...item } };
      }),
      { type: "response.completed", response: { id: `resp_${n}`, usage } },
    ]);
  },
  gemini: ({ text, tools = [] }, _, streams) => {
    const calls = tools.map(({ name, input }) => ({ functionCall: { name, args: input } }));
    const content = { role: "model", parts: [...(text === undefined ? [] : [{ text }]), ...calls] };
    const usageMetadata = { promptTokenCount: 10, candidatesTokenCount: 5, totalTokenCount: 15 };
    const answer = { candidates: [{ content, finishReason: "STOP", index: 0 }], usageMetadata };
    return streams ? sse([answer]) : JSON.stringify(answer);
  },
  chat: (step, n) => `${sse(chatChunks(step, n))}data: [DONE]\n\n`,
};

/** A streamed reply of Chat Completions. */
export function chatChunks(
  { text, thinking, tools = [] }: LabStep & { readonly thinking?: string },
  n: number,
): JsonObject[] {
  const chunk = (delta: JsonObject, more: JsonObject = {}) => ({
    id: `chatcmpl-${n}`,
    model: "served",
    choices: [{ index: 0, delta, finish_reason: null, ...more }],
  });
  return [
    chunk({ role: "assistant" }),
    ...(thinking === undefined ? [] : [chunk({ reasoning_content: thinking })]),
    ...(text === undefined ? [] : [...text].map((content) => chunk({ content }))),
    ...tools.map(({ name, input }, index) => {
      const called = { name, arguments: JSON.stringify(input) };
      return chunk({ tool_calls: [{ index, type: "function", id: `call_${n}_${index}`, function: called }] });
    }),
    chunk({}, { finish_reason: tools.length > 0 ? "tool_calls" : "stop" }),
    { id: `chatcmpl-${n}`, choices: [], usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 } },
  ];
}
