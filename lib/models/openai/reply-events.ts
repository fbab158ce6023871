import { isObject, type JsonObject } from "../../core/json.ts";
import { isToolUse, type Usage } from "../../core/messages.ts";
import type { ModelEvent, ModelRequest, RawBlock } from "../../core/model.ts";
import { toolNames } from "./tool-names.ts";

/** Makes events of what a server says, piece by piece or all at once. */
export interface ReplyReader {
  /** The data of one event of a stream, or `DONE`. */
  take(value: unknown, name: string): void;
  /** A reply that was not streamed. */
  whole(value: unknown): void;
  end(): void;
  /** Whether the server has said that the reply is over, and has not broken it since. */
  isWhole(): boolean;
}

/** A tool call as a server gave it; what it left out is undefined or empty. */
export interface GivenCall {
  readonly id: unknown;
  readonly name: string | undefined;
  readonly json: string;
  readonly openai?: object;
}

/** Writes a reply as events: it begins with its first word, and its calls come when it has ended. */
export class ReplyEvents {
  readonly #emit: (event: ModelEvent) => void;
  readonly #used: Set<string>;
  readonly #names: ReturnType<typeof toolNames>;
  readonly #open = new Set<number>();
  #id = "";
  #model = "";
  #usage: (Usage & { cost?: number }) | null = null;
  #begun = false;
  ended = false;

  constructor(request: ModelRequest, emit: (event: ModelEvent) => void) {
    this.#emit = emit;
    this.#names = toolNames(request);
    this.#used = new Set(request.messages.flatMap(({ content }) => content.filter(isToolUse).map(({ id }) => id)));
  }

  /** What a piece of a reply says about it: the first id and model, the last usage. */
  note({ id, model }: { readonly [key: string]: unknown }, usage: unknown): void {
    if (this.#id === "" && typeof id === "string") this.#id = id;
    if (this.#model === "" && typeof model === "string") this.#model = model;
    if (isObject(usage)) this.#usage = usageOf(usage);
  }

  start(index: number, content_block: RawBlock): void {
    this.#begin();
    this.#open.add(index);
    this.#emit({ type: "content_block_start", index, content_block });
  }

  delta(index: number, delta: RawBlock): void {
    this.#emit({ type: "content_block_delta", index, delta });
  }

  stop(index: number): void {
    if (this.#open.delete(index)) this.#emit({ type: "content_block_stop", index });
  }

  /** A block that is all there. */
  block(index: number, content_block: RawBlock): void {
    this.start(index, content_block);
    this.stop(index);
  }

  /** No arguments are an empty object, whatever a server writes for them. */
  call(index: number, { id, name, json, openai }: GivenCall): void {
    const called = name === undefined ? {} : { name: this.#names.long(name) };
    this.start(index, { type: "tool_use", id: this.#unique(id), ...called, input: {}, ...(openai && { openai }) });
    const raw = json.trim() === "null" ? "" : json;
    if (raw.trim() !== "") this.delta(index, { type: "input_json_delta", partial_json: raw });
    this.stop(index);
  }

  #unique(given: unknown): string {
    const isNew = typeof given === "string" && given !== "" && !this.#used.has(given);
    const id = isNew ? given : `call_${crypto.randomUUID().replaceAll("-", "")}`;
    this.#used.add(id);
    return id;
  }

  finish(stop_reason: string): void {
    this.#begin();
    for (const index of [...this.#open]) this.stop(index);
    this.#emit({ type: "message_delta", delta: { stop_reason }, usage: this.#usage });
    this.#emit({ type: "message_stop" });
    this.ended = true;
  }

  #begin(): void {
    if (this.#begun) return;
    this.#begun = true;
    this.#emit({ type: "message_start", message: { id: this.#id, model: this.#model } });
  }
}

/** Tokens as both APIs and their many imitations count them. */
function usageOf(given: JsonObject): Usage & { cost?: number; output_tokens_details?: { thinking_tokens: number } } {
  const prompt = count(given.prompt_tokens ?? given.input_tokens);
  const completion = count(given.completion_tokens ?? given.output_tokens);
  const details = [given.prompt_tokens_details, given.input_tokens_details].find(isObject) ?? {};
  const read = count(details.cached_tokens ?? given.prompt_cache_hit_tokens);
  const written = count(details.cache_write_tokens);
  const { reasoning_tokens } = [given.completion_tokens_details, given.output_tokens_details].find(isObject) ?? {};
  const thinking_tokens = count(reasoning_tokens);
  return {
    input_tokens: Math.max(0, prompt - read - written),
    // Some servers leave thinking out of the completion, but not out of the total.
    output_tokens: Math.max(completion, count(given.total_tokens) - prompt),
    cache_creation_input_tokens: written,
    cache_read_input_tokens: read,
    ...(thinking_tokens > 0 && { output_tokens_details: { thinking_tokens } }),
    ...(typeof given.cost === "number" && { cost: given.cost }),
  };
}

function count(value: unknown): number {
  return typeof value === "number" && Number.isFinite(value) && value > 0 ? value : 0;
}
