import { isObject, parsed } from "../../core/json.ts";
import type { Usage } from "../../core/messages.ts";
import type { ModelEvent, RawBlock } from "../../core/model.ts";
import type { Attempt, TapeEvent } from "../tape.ts";
import type { Api, Fields } from "./api.ts";

/** The JSON of a frame; undefined for one without JSON, as `data: [DONE]`. */
export function dataOf({ event, raw = "" }: Pick<TapeEvent, "event" | "raw">): Fields | undefined {
  const data = event ?? parsed(/^data:(.*)$/m.exec(raw)?.[1] ?? "");
  return isObject(data) ? data : undefined;
}

/** An answer of another API as events of a reply, each with the number of the frame it comes from. */
export function answerEvents(
  api: Exclude<Api, "anthropic">,
  { events, body }: Attempt,
): { event: ModelEvent; frame: number }[] {
  const frames = events ? events.map(dataOf) : [parsed(body ?? "")];
  const reply = new ReplyEvents();
  const read = { chat: readChat, responses: readResponses, gemini: readGemini }[api];
  for (const [i, data] of frames.entries()) {
    reply.frame = i;
    if (!isObject(data)) continue;
    const { error } = data;
    if (isObject(error)) reply.fail(error);
    else read(data, reply);
  }
  if (reply.ended) reply.end();
  return reply.events;
}

/** Writes the events of a reply: opens and closes its blocks as pieces come. */
class ReplyEvents {
  readonly events: { event: ModelEvent; frame: number }[] = [];
  frame = 0;
  ended: string | undefined;
  usage: Partial<Usage> = {};
  readonly #open = new Map<string, number>();
  #blocks = 0;

  add(event: ModelEvent): void {
    this.events.push({ event, frame: this.frame });
  }

  start(id: unknown, model: unknown): void {
    if (this.events.length === 0) {
      this.add({ type: "message_start", message: { id: String(id), model: String(model) } });
    }
  }

  fail({ type, code, message }: Fields): void {
    this.start("", "");
    this.add({ type: "error", error: { type: String(type ?? code ?? "api_error"), message: String(message) } });
  }

  /** A piece of a block, which opens if it is the first. */
  piece(key: string, block: RawBlock, delta?: RawBlock): void {
    let index = this.#open.get(key);
    if (index === undefined) {
      for (const other of this.#open.keys()) this.close(other);
      this.#open.set(key, index = this.#blocks++);
      this.add({ type: "content_block_start", index, content_block: block });
    }
    if (delta) this.add({ type: "content_block_delta", index, delta });
  }

  text(key: string, text: unknown): void {
    if (typeof text === "string" && text !== "") {
      this.piece(key, { type: "text", text: "" }, { type: "text_delta", text });
    }
  }

  tool(key: string, id: unknown, name: unknown, json?: unknown): void {
    const block = { type: "tool_use", id: String(id ?? key), name: String(name), input: {} };
    this.piece(
      key,
      block,
      typeof json === "string" && json !== "" ? { type: "input_json_delta", partial_json: json } : undefined,
    );
  }

  has(key: string): boolean {
    return this.#open.has(key);
  }

  close(key: string): void {
    const index = this.#open.get(key);
    if (index === undefined) return;
    this.#open.delete(key);
    this.add({ type: "content_block_stop", index });
  }

  end(): void {
    for (const key of this.#open.keys()) this.close(key);
    const calls = this.events.some(({ event }) =>
      event.type === "content_block_start" && event.content_block.type === "tool_use"
    );
    const stop_reason = this.ended === "length" ? "max_tokens" : calls ? "tool_use" : "end_turn";
    this.add({ type: "message_delta", delta: { stop_reason }, usage: this.usage });
    this.add({ type: "message_stop" });
  }
}

function readChat({ id, model, choices, usage }: Fields, reply: ReplyEvents): void {
  reply.start(id, model);
  for (const choice of Array.isArray(choices) ? choices.slice(0, 1) : []) {
    const said: Fields = choice?.delta ?? choice?.message ?? {};
    reply.text("text", said.content);
    for (const [i, call] of (Array.isArray(said.tool_calls) ? said.tool_calls : []).entries()) {
      const { name, arguments: json } = call.function ?? {};
      reply.tool(`tool ${call.index ?? i}`, call.id, name, json);
    }
    if (typeof choice?.finish_reason === "string") reply.ended = choice.finish_reason;
  }
  if (isObject(usage)) reply.usage = usageOf(usage.prompt_tokens, usage.completion_tokens);
}

function readResponses(data: Fields, reply: ReplyEvents): void {
  const response = isObject(data.response) ? data.response : data;
  const { type, output_index: at = 0, item, delta } = data;
  if (type === "response.created") reply.start(response.id, response.model);
  else if (type === "response.output_text.delta") reply.text(`item ${at}`, delta);
  else if (type === "response.function_call_arguments.delta") reply.tool(`item ${at}`, data.item_id, "", delta);
  else if (type === "response.output_item.added" && isObject(item) && item.type === "function_call") {
    reply.tool(`item ${at}`, item.call_id, item.name);
  } else if (type === "response.output_item.done" && isObject(item)) {
    if (!reply.has(`item ${at}`)) readItem(item, `item ${at}`, reply);
    reply.close(`item ${at}`);
  } else if (type === "response.failed") reply.fail(isObject(response.error) ? response.error : {});
  else if (type === undefined || type === "response.completed" || type === "response.incomplete") {
    reply.start(response.id, response.model);
    if (type === undefined && Array.isArray(response.output)) {
      for (const [i, one] of response.output.entries()) readItem(one, `item ${i}`, reply);
    }
    const { input_tokens, output_tokens } = isObject(response.usage) ? response.usage : {};
    reply.usage = usageOf(input_tokens, output_tokens);
    reply.ended = response.status === "incomplete" ? "length" : "stop";
  }
}

/** A whole item of an answer. */
function readItem(item: Fields, key: string, reply: ReplyEvents): void {
  if (item.type === "message") {
    for (const part of Array.isArray(item.content) ? item.content : []) reply.text(key, part?.text ?? part?.refusal);
  } else if (String(item.type).endsWith("_call")) {
    const json = typeof item.arguments === "string"
      ? item.arguments
      : JSON.stringify({ input: item.input ?? item.action ?? null });
    reply.tool(key, item.call_id ?? item.id, item.name ?? item.type, json);
  }
}

function readGemini({ responseId, modelVersion, candidates, usageMetadata }: Fields, reply: ReplyEvents): void {
  reply.start(responseId, modelVersion);
  const [first] = Array.isArray(candidates) ? candidates : [];
  for (const [i, part] of (Array.isArray(first?.content?.parts) ? first.content.parts : []).entries()) {
    if (isObject(part.functionCall)) {
      const { id, name, args } = part.functionCall;
      reply.tool(`call ${reply.frame}.${i}`, id ?? `${name}_${reply.frame}_${i}`, name, JSON.stringify(args ?? {}));
    } else if (part.thought !== true) reply.text("text", part.text);
  }
  if (isObject(usageMetadata)) {
    reply.usage = usageOf(usageMetadata.promptTokenCount, usageMetadata.candidatesTokenCount);
  }
  if (typeof first?.finishReason === "string") reply.ended = first.finishReason === "MAX_TOKENS" ? "length" : "stop";
}

function usageOf(input: unknown, output: unknown): Partial<Usage> {
  return { input_tokens: Number(input ?? 0), output_tokens: Number(output ?? 0) };
}

/** A text of a frame that is a piece of a longer one. */
export interface Piece {
  /** Pieces of one text have one key. */
  readonly key: string;
  readonly path: readonly (string | number)[];
  readonly text: string;
  readonly form: "plain" | "json";
}

/** The pieces of texts in a frame. */
export function piecesOf(api: Api, data: Fields): Piece[] {
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
