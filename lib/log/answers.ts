import { isObject, type JsonObject, parsed } from "../core/json.ts";
import type { ModelEvent, ModelRequest } from "../core/model.ts";
import { DONE } from "../http/sse.ts";
import { chatReader } from "../models/openai/chat-reply.ts";
import { ReplyEvents, type ReplyReader } from "../models/openai/reply-events.ts";
import { responsesReader } from "../models/openai/responses-reply.ts";
import type { Piece } from "./redact/mask.ts";
import type { Attempt, TapeEvent } from "./tape.ts";
import type { Api } from "./entry.ts";

/** The JSON of a frame; undefined for one without JSON, as `data: [DONE]`. */
export function dataOf({ event, raw = "" }: Pick<TapeEvent, "event" | "raw">): JsonObject | undefined {
  const data = event ?? parsed(/^data:(.*)$/m.exec(raw)?.[1] ?? "");
  return isObject(data) ? data : undefined;
}

const READERS = { chat: chatReader, responses: responsesReader, gemini: geminiReader };
const NO_REQUEST: ModelRequest = { model: "", system: "", messages: [], tools: [], max_tokens: 0 };

/** An answer of another API as events of a reply, and what reading it throws at the end, if it does. */
export function answerEvents(
  api: Exclude<Api, "anthropic">,
  { events, body = "" }: Attempt,
): { events: ModelEvent[]; error?: unknown } {
  const found: ModelEvent[] = [];
  const reader = READERS[api](NO_REQUEST, (event) => found.push(event));
  try {
    for (const event of events ?? []) {
      const isDone = event.raw !== undefined && /^data: ?\[DONE\]/m.test(event.raw);
      const name = /^event: ?(.*)$/m.exec(event.raw ?? "")?.[1] ?? "";
      reader.take(isDone ? DONE : dataOf(event), name);
    }
    if (events) reader.end();
    else reader.whole(parsed(body));
  } catch (error) {
    return { events: found, error };
  }
  return { events: found };
}

/** Reads a reply of the Gemini API: its text as it comes, its calls whole. */
function geminiReader(request: ModelRequest, emit: (event: ModelEvent) => void): ReplyReader {
  const reply = new ReplyEvents(request, emit);
  let [speaks, calls, stop] = [false, 0, ""];
  const take = (value: unknown) => {
    if (!isObject(value)) return;
    const { responseId, modelVersion, candidates, usageMetadata, error } = value;
    if (isObject(error)) throw new Error(String(error.message));
    const { promptTokenCount, candidatesTokenCount } = isObject(usageMetadata) ? usageMetadata : {};
    const usage = usageMetadata && { input_tokens: promptTokenCount, output_tokens: candidatesTokenCount };
    reply.note({ id: responseId, model: modelVersion }, usage);
    const [first] = Array.isArray(candidates) ? candidates : [];
    for (const part of Array.isArray(first?.content?.parts) ? first.content.parts : []) {
      if (isObject(part.functionCall)) {
        const { id, name, args } = part.functionCall;
        reply.call(++calls, { id, name: String(name), json: JSON.stringify(args ?? {}) });
      } else if (typeof part.text === "string" && part.thought !== true) {
        if (!speaks) reply.start(0, { type: "text", text: "" });
        speaks = true;
        reply.delta(0, { type: "text_delta", text: part.text });
      }
    }
    if (typeof first?.finishReason === "string") stop = first.finishReason;
  };
  const end = () => {
    if (stop === "") throw new Error("The reply was cut off");
    reply.finish(stop === "MAX_TOKENS" ? "max_tokens" : calls > 0 ? "tool_use" : "end_turn");
  };
  return { take, whole: (value) => (take(value), end()), end, isWhole: () => stop !== "" };
}

export function piecesOf(api: Api, data: JsonObject): Piece[] {
  const pieces: Piece[] = [];
  const add = (key: string, path: Piece["path"], text: unknown, form: Piece["form"] = "plain") => {
    if (typeof text === "string") pieces.push({ key, path, text, form });
  };
  if (api === "responses" && /\.delta$/.test(String(data.type))) {
    add(
      `${data.item_id} ${data.output_index}`,
      ["delta"],
      data.delta,
      /arguments/.test(String(data.type)) ? "json" : "plain",
    );
  }
  if (api === "chat") {
    for (const [i, choice] of (Array.isArray(data.choices) ? data.choices : []).entries()) {
      add(`text ${i}`, ["choices", i, "delta", "content"], choice?.delta?.content);
      for (const [n, call] of (Array.isArray(choice?.delta?.tool_calls) ? choice.delta.tool_calls : []).entries()) {
        const path = ["choices", i, "delta", "tool_calls", n, "function", "arguments"];
        add(`tool ${call?.index ?? n}`, path, call?.function?.arguments, "json");
      }
    }
  }
  if (api === "gemini") {
    for (const [i, candidate] of (Array.isArray(data.candidates) ? data.candidates : []).entries()) {
      for (const [n, part] of (Array.isArray(candidate?.content?.parts) ? candidate.content.parts : []).entries()) {
        add("text", ["candidates", i, "content", "parts", n, "text"], part?.text);
      }
    }
  }
  return pieces;
}
