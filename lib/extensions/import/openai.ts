import { type Message, textOf } from "../../core/messages.ts";
import { ModelError, type ModelEvent, type ModelRequest } from "../../core/model.ts";
import { replyFrom } from "../../core/reply.ts";
import { parserFor } from "../../models/openai/call.ts";
import { refusal } from "../../models/openai/openai-errors.ts";
import type { CallError } from "../../log/entry.ts";
import type { Attempt, TapeRequest } from "../../log/tape.ts";
import { readable } from "../../replay/requests/readable.ts";
import { objectOf } from "../../core/json.ts";
import type { Exchange } from "./exchange.ts";

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

/** Parameters that say how an answer is sent. */
const NO_PARAMS = ["stream", "stream_options", "store", "include"];
const LIMITS = ["max_tokens", "max_completion_tokens", "max_output_tokens"];

/** A recorded request as the core would have asked it; `replies` are those recorded before it. */
export function requestOf(body: unknown, api: "chat" | "responses", replies: readonly Message[]): TapeRequest {
  const given = objectOf(body);
  const read = readable({ api, method: "POST", path: "unknown", headers: {}, body: given });
  const limit = LIMITS.map((name) => given[name]).find((value) => typeof value === "number");
  const rest = Object.entries(read.params).filter(([key]) => !NO_PARAMS.includes(key) && !LIMITS.includes(key));
  return {
    ...read,
    params: { ...Object.fromEntries(rest), ...(limit !== undefined && { max_tokens: limit }) },
    tools: read.tools.map(({ parameters, ...tool }) => {
      const { name, description } = tool;
      return parameters === undefined ? tool : { name, description, input_schema: parameters };
    }),
    messages: read.messages.map((message) => asReplied(message, replies)),
  };
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
