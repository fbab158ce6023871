import { isObject, parsed } from "../../core/json.ts";
import { type Block, type Message, textOf } from "../../core/messages.ts";
import { ModelError, type ModelEvent, type ModelRequest } from "../../core/model.ts";
import { replyFrom } from "../../core/reply.ts";
import { parserFor } from "../../openai/call.ts";
import { refusal } from "../../openai/errors.ts";
import type { Attempt, CallError, TapeRequest } from "../tape.ts";
import { type Exchange, type JsonObject, objectOf } from "./exchange.ts";

/** Which of OpenAI's APIs a call is of, by its address, or by its answer if only that was recorded. */
export function apiOf({ url, status, body }: Exchange): "chat" | "responses" | undefined {
  if (url !== undefined) {
    const [, path] = /\/(chat\/completions|responses)\/?(?:[?#]|$)/.exec(url) ?? [];
    return path === undefined ? undefined : path === "responses" ? path : "chat";
  }
  if (status >= 400) return undefined;
  const start = body().slice(0, 4096);
  if (/"object"\s*:\s*"chat\.completion/.test(start)) return "chat";
  return /"object"\s*:\s*"response"|"type"\s*:\s*"response\./.test(start) ? "responses" : undefined;
}

/** What `openai()` makes of a recorded answer, as a tape has it: the events at the Model seam, or what was thrown. */
export function answerOf(
  exchange: Exchange,
  api: "chat" | "responses",
  request: TapeRequest,
): { attempt: Attempt; error?: CallError; reply?: Message } {
  const { status, took = 0 } = exchange;
  const events: ModelEvent[] = [];
  const asked: ModelRequest = { ...request, system: "", tools: request.tools as never, max_tokens: 0 };
  try {
    if (status >= 400) {
      const about = { model: request.model, baseURL: "the API", attempts: 1, timeout: 0, missing: undefined };
      throw refusal(status, new Headers(), exchange.body(), about);
    }
    const parser = parserFor(new Response(null), asked, api);
    events.push(...parser.push(new TextEncoder().encode(exchange.body())));
    events.push(...parser.end());
    const { message } = replyFrom(events, () => {});
    return { attempt: { events: events.map((event) => ({ ms: 0, event })), took }, reply: message };
  } catch (error) {
    if (!(error instanceof ModelError)) throw error;
    const { code, message, retryable } = error;
    return {
      attempt: { events: events.map((event) => ({ ms: 0, event })), ended: "cut", why: message, took },
      error: { code, message, ...(retryable && { retryable }) },
    };
  }
}

/** Parameters that say how an answer is sent, or have a place of their own on a tape. */
const NO_PARAMS = [
  "model",
  "messages",
  "input",
  "instructions",
  "tools",
  "stream",
  "stream_options",
  "store",
  "include",
];
const LIMITS = ["max_tokens", "max_completion_tokens", "max_output_tokens"];

/** A recorded request as the core would have asked it; `replies` are those recorded before it. */
export function requestOf(body: unknown, replies: readonly Message[]): TapeRequest {
  const given = objectOf(body);
  const items = [given.messages, given.input].find(Array.isArray)?.filter(isObject) ??
    [{ role: "user", content: given.input }];
  const system = items.filter(isSystem).flatMap((item) => blocksOf(item.content));
  const limit = LIMITS.map((name) => given[name]).find((value) => typeof value === "number");
  const rest = Object.entries(given).filter(([key]) => !NO_PARAMS.includes(key) && !LIMITS.includes(key));
  return {
    model: String(given.model ?? "unknown"),
    params: { ...Object.fromEntries(rest), ...(limit !== undefined && { max_tokens: limit }) },
    system: [...(typeof given.instructions === "string" ? blocksOf(given.instructions) : []), ...system],
    tools: (Array.isArray(given.tools) ? given.tools.filter(isObject) : []).map(toolOf),
    messages: joined(items.filter((item) => !isSystem(item)).map(messageOf)).map((message) =>
      asReplied(message, replies)
    ),
  };
}

function isSystem({ role }: JsonObject): boolean {
  return role === "system" || role === "developer";
}

function toolOf(tool: JsonObject): JsonObject {
  const { name, description, parameters } = isObject(tool.function) ? tool.function : tool;
  return parameters === undefined ? tool : { name, description, input_schema: parameters };
}

/** A message of Chat Completions, or an item of Responses. */
function messageOf(item: JsonObject): Message {
  const { role, type, content, tool_calls, tool_call_id, call_id, output } = item;
  if (role === "tool" || type === "function_call_output") {
    return { role: "user", content: [resultOf(tool_call_id ?? call_id, type === undefined ? content : output)] };
  }
  if (type === "function_call") return { role: "assistant", content: [callOf(call_id, item)] };
  if (type === "reasoning") return { role: "assistant", content: [] };
  if (role !== "assistant") return { role: "user", content: blocksOf(content) };
  const calls = (Array.isArray(tool_calls) ? tool_calls.filter(isObject) : []).map(({ id, function: called }) =>
    callOf(id, objectOf(called))
  );
  return { role, content: [...blocksOf(content), ...calls] };
}

function callOf(id: unknown, { name, arguments: json }: JsonObject): Block {
  const input = isObject(json) ? json : parsed(String(json));
  return { type: "tool_use", id: String(id), name: String(name), input: isObject(input) ? input : {} };
}

function resultOf(id: unknown, content: unknown): Block {
  const blocks = blocksOf(content);
  const isText = blocks.every(({ type }) => type === "text");
  const given = isText ? textOf({ role: "user", content: blocks }) : blocks;
  return { type: "tool_result", tool_use_id: String(id), content: given };
}

function blocksOf(content: unknown): Block[] {
  if (typeof content === "string") return content === "" ? [] : [{ type: "text", text: content }];
  return (Array.isArray(content) ? content.filter(isObject) : []).map((part) => {
    if (typeof part.text === "string") return { type: "text", text: part.text };
    const image = part.image_url;
    const url = isObject(image) ? image.url : image;
    if (typeof url !== "string") return part as Block;
    const [, media_type, data] = /^data:([^;,]+);base64,(.*)$/s.exec(url) ?? [];
    return { type: "image", source: data === undefined ? { type: "url", url } : { type: "base64", media_type, data } };
  });
}

/** Neighbours of one role as one message; what comes to nothing is left out. */
function joined(messages: readonly Message[]): Message[] {
  const out: Message[] = [];
  for (const { role, content } of messages) {
    if (content.length === 0) continue;
    const last = out.at(-1);
    if (last?.role === role) out[out.length - 1] = { role, content: [...last.content, ...content] };
    else out.push({ role, content });
  }
  return out;
}

/** The recorded reply that a message repeats: with its thinking, which other clients send back in their own ways. */
function asReplied(message: Message, replies: readonly Message[]): Message {
  if (message.role !== "assistant") return message;
  return replies.findLast((reply) => said(reply) === said(message)) ?? message;
}

function said(message: Message): string {
  const calls = message.content.flatMap((block) => block.type === "tool_use" ? [block.id] : []);
  return JSON.stringify([textOf(message), calls]);
}
