import fc from "fast-check";
import { type Model, ModelError, type ModelEvent, type ModelRequest } from "../../lib/core/model.ts";
import { parserFor } from "../../lib/models/openai/call.ts";
import { chatBody } from "../../lib/models/openai/chat-request.ts";
import { responsesBody } from "../../lib/models/openai/responses-request.ts";

/** What a server of OpenAI's APIs does to its replies. */
const MISCHIEF = [
  "nothing",
  "one id for all calls",
  "neither ids nor places",
  "a place for all calls, and names on every piece",
  "garbage between events",
  "nulls",
  "no end",
  "an error in the stream",
  "arguments as objects",
  "no usage",
  "whole",
] as const;

export interface Wire {
  readonly api: "chat" | "responses";
  /** At its first reply, its second, and so on; then over again. */
  readonly mischief: readonly (typeof MISCHIEF[number])[];
  /** The lengths of the pieces in which its bytes come, over again. */
  readonly pieces: readonly number[];
}

export const wire: fc.Arbitrary<Wire> = fc.record({
  api: fc.constantFrom("chat" as const, "responses" as const),
  mischief: fc.oneof(
    // Only servers that do so all the time repeat an id in a later reply.
    fc.constantFrom(...MISCHIEF).map((one) => [one]),
    fc.array(fc.constantFrom(...MISCHIEF), { minLength: 2, maxLength: 3 }),
    fc.constant(["one id for all calls"] as const),
  ),
  pieces: fc.array(fc.integer({ min: 1, max: 200 }), { minLength: 1, maxLength: 5 }),
});

/** What a model says, as it comes from such a server; `refused` gets what that would not have taken. */
export function over({ api, mischief, pieces }: Wire, model: Model, refused: string[]): Model {
  let n = 0;
  return async function* (request, signal) {
    const trick = mischief[n++ % mischief.length]!;
    refused.push(...(api === "chat" ? unpairedChat(request) : unpairedItems(request)));
    const said = await sayingOf(model(request, signal));
    const text = api === "chat" ? chatText(said, trick) : responsesText(said, trick);
    const parser = parserFor(new Response(null), request, api);
    const bytes = new TextEncoder().encode(text);
    for (let at = 0, i = 0; at < bytes.length; i++) {
      const end = at + pieces[i % pieces.length]!;
      yield* parser.push(bytes.subarray(at, end));
      at = end;
    }
    yield* parser.end();
  };
}

interface Saying {
  text: string;
  readonly calls: { readonly id: string; readonly name: string; json: string }[];
  stop: string;
}

/** @throws {ModelError} if the reply did not come to its end */
async function sayingOf(events: AsyncIterable<ModelEvent>): Promise<Saying> {
  const said: Saying = { text: "", calls: [], stop: "end_turn" };
  let isWhole = false;
  for await (const event of events) {
    if (event.type === "error") throw new ModelError(event.error.message, { code: event.error.type });
    if (event.type === "content_block_start" && event.content_block.type === "tool_use") {
      const { id, name } = event.content_block as unknown as { id: string; name: string };
      said.calls.push({ id, name, json: "" });
    }
    if (event.type === "content_block_delta") {
      const { text = "", partial_json = "" } = event.delta as { text?: string; partial_json?: string };
      said.text += text;
      if (said.calls.length > 0) said.calls.at(-1)!.json += partial_json;
    }
    if (event.type === "message_delta") said.stop = event.delta.stop_reason ?? said.stop;
    isWhole ||= event.type === "message_stop";
  }
  if (!isWhole) throw new ModelError("Cannot finish the reply as it was cut", { code: "cut", retryable: true });
  return said;
}

const USAGE = { prompt_tokens: 5, completion_tokens: 5, total_tokens: 10 };
const FINISH: { readonly [stop: string]: string } = { max_tokens: "length", refusal: "content_filter" };

function chatText({ text, calls, stop }: Saying, trick: typeof MISCHIEF[number]): string {
  const pieces = calls.flatMap(({ id, name, json }, index) => {
    const given = trick === "arguments as objects" ? asObject(json) : json;
    if (trick === "one id for all calls") return [{ index, id: "call", function: { name, arguments: given } }];
    if (trick === "neither ids nor places") return [{ id: "", function: { name, arguments: given } }];
    if (trick === "a place for all calls, and names on every piece") {
      return [...json].map((part, i) => ({ index: 0, id: i === 0 ? id : "", function: { name, arguments: part } }));
    }
    return [{ index, id, function: { name, arguments: given } }];
  });
  const finish_reason = FINISH[stop] ?? "stop";
  if (trick === "whole") {
    return JSON.stringify({
      choices: [{ message: { content: text, tool_calls: pieces }, finish_reason }],
      usage: USAGE,
    });
  }
  return frames([
    { id: "c", model: "m", choices: trick === "nulls" ? null : [{ index: 0, delta: { content: text } }] },
    ...pieces.map((piece) => ({ choices: [{ delta: { content: null, tool_calls: [piece] }, finish_reason: null }] })),
    ...(trick === "no end" ? [] : [{ choices: [{ delta: trick === "nulls" ? null : {}, finish_reason }] }]),
    ...(trick === "no usage" ? [] : [{ choices: [], usage: USAGE }]),
  ], trick);
}

function responsesText({ text, calls, stop }: Saying, trick: typeof MISCHIEF[number]): string {
  const items = calls.map(({ id, name, json }) => ({
    type: "function_call",
    call_id: trick === "one id for all calls" ? "call" : trick === "neither ids nor places" ? undefined : id,
    name,
    arguments: trick === "arguments as objects" ? asObject(json) : json,
  }));
  const message = { type: "message", content: [{ type: "output_text", text }] };
  const output = trick === "nulls" ? null : [message, ...items];
  const isCut = stop === "max_tokens";
  const response = {
    ...{ id: "r", object: "response", output, status: isCut ? "incomplete" : "completed" },
    ...(isCut && { incomplete_details: { reason: "max_output_tokens" } }),
    ...(trick !== "no usage" && { usage: { input_tokens: 5, output_tokens: 5 } }),
  };
  if (trick === "whole") return JSON.stringify(response);
  return frames([
    { type: "response.output_text.delta", item_id: "i", delta: text.slice(0, 1) },
    ...items.map((item, i) => ({ type: "response.output_item.done", output_index: i, item })),
    ...(trick === "no end" ? [] : [{ type: `response.${response.status}`, response }]),
  ], trick);
}

function frames(values: readonly object[], trick: typeof MISCHIEF[number]): string {
  const extra = {
    "garbage between events": "data: {nope\n\n",
    "an error in the stream": 'data: {"error":{"message":"broken","code":500}}\n\n',
  } as { readonly [trick: string]: string };
  const texts = values.map((value) => `data: ${JSON.stringify(value)}\n\n`);
  if (extra[trick]) texts.splice(1, 0, extra[trick]);
  return texts.join("");
}

function asObject(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return json;
  }
}

type Json = { readonly [key: string]: any };

/** Results that do not follow their calls, in their order. */
function unpairedChat(request: ModelRequest): string[] {
  const messages = chatBody(request, "127.0.0.1").messages as Json[];
  return messages.flatMap(({ tool_calls = [] }: Json, i) => {
    const asked = tool_calls.map(({ id }: Json) => id);
    const answered = messages.slice(i + 1, i + 1 + asked.length).map(({ tool_call_id }) => tool_call_id);
    return String(asked) === String(answered) ? [] : [`${asked} is answered by ${answered}`];
  });
}

function unpairedItems(request: ModelRequest): string[] {
  const items = responsesBody(request).input as Json[];
  const ids = (type: string) => items.filter((item) => item.type === type).map(({ call_id }) => call_id);
  const [asked, answered] = [ids("function_call"), ids("function_call_output")];
  return String(asked) === String(answered) ? [] : [`${asked} is answered by ${answered}`];
}
