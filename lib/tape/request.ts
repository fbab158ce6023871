import type { Block, Message } from "../core/messages.ts";
import type { ModelRequest } from "../core/model.ts";
import type { TapeRequest } from "./tape.ts";

type Fields = { readonly [key: string]: unknown };

/** Whether the answer is streamed, who asks and what is cached change nothing about the question. */
const NOT_COMPARED = new Set(["stream", "metadata", "cache_control"]);

/** What the core asks, as a tape has it. The messages stay the same objects. */
export function fromModel({ model, system, messages, tools, max_tokens, params }: ModelRequest): TapeRequest {
  return {
    model,
    params: paramsOf({ ...params, max_tokens }),
    system: system === "" ? [] : [{ type: "text", text: system }],
    tools: tools as unknown as readonly Fields[],
    messages,
  };
}

/**
 * What the SDK sends, as a tape has it.
 *
 * @throws {TypeError} where it is no request to the Messages API
 */
export function fromBody(body: unknown): TapeRequest {
  const { model, system, messages, tools = [], ...rest } = body as Fields;
  if (typeof model !== "string" || !Array.isArray(messages) || !Array.isArray(tools)) {
    throw new TypeError("Cannot read a request as it has no model or no messages");
  }
  return {
    model,
    params: paramsOf(rest),
    system: blocks(system as string | readonly Block[] | undefined),
    tools: tools as readonly Fields[],
    messages: messages.map(({ role, content }: Message) => ({ role, content: blocks(content) })),
  };
}

function paramsOf(given: Fields): Fields {
  const kept = Object.entries(given).filter(([key, value]) => !NOT_COMPARED.has(key) && value !== undefined);
  return Object.fromEntries(kept.filter(([key]) => !["model", "system", "messages", "tools"].includes(key)));
}

function blocks(content: string | readonly Block[] | undefined): readonly Block[] {
  if (content === undefined || content === "") return [];
  return typeof content === "string" ? [{ type: "text", text: content }] : content;
}
