import { isObject, parsed } from "../../core/json.ts";
import { ModelError, type ModelEvent, type ModelRequest } from "../../core/model.ts";
import { abortedError, boundedFetch, callError, type FailedCall } from "../../http/errors.ts";
import type { AttemptRequest, Middleware, MiddlewareContext } from "../../http/middleware.ts";
import { notAStream, type OpenReply, type ReplyParser } from "../../http/reply-stream.ts";
import { afterMistakes, eventParser } from "../../http/sse.ts";
import { chatBody } from "./chat-request.ts";
import { chatReader } from "./chat-reply.ts";
import { refusal } from "./openai-errors.ts";
import type { OpenAIOptions } from "./openai-model.ts";
import { responsesBody } from "./responses-request.ts";
import { responsesReader } from "./responses-reply.ts";

const PUBLIC = "https://api.openai.com/v1";

/** Sends a request, and gives its answer once that has begun. */
export async function open(
  request: ModelRequest,
  signal: AbortSignal,
  options: OpenAIOptions & { readonly timeout: number; readonly idleTimeout: number },
): Promise<OpenReply> {
  const { api = "chat", timeout } = options;
  const baseURL = options.baseURL ?? (process.env.OPENAI_BASE_URL || PUBLIC);
  const key = options.apiKey ?? process.env.OPENAI_API_KEY;
  const about: FailedCall = {
    ...{ model: request.model, baseURL, attempts: 1, timeout, missing: undefined },
    ...{ key: "OPENAI_API_KEY", mayRetry: true },
  };
  const url = addressOf(baseURL, api === "chat" ? "/chat/completions" : "/responses");
  if (!key && url.hostname === new URL(PUBLIC).hostname) {
    throw new ModelError("Cannot call the model as no API key is set: set OPENAI_API_KEY, or pass apiKey to openai()", {
      code: "no_key",
    });
  }
  const body = api === "chat" ? chatBody(request, url.hostname) : responsesBody(request);
  const connection = new AbortController();
  const abort = () => connection.abort();
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    abort();
  }, Math.min(timeout, 2 ** 31 - 1));
  signal.addEventListener("abort", abort, { once: true });
  try {
    if (signal.aborted) throw abortedError(signal);
    const own = typeof options.headers === "function" ? await options.headers() : options.headers;
    const headers = new Headers({
      "content-type": "application/json",
      accept: "text/event-stream, application/json",
      ...(key && { authorization: `Bearer ${key}` }),
    });
    for (const [name, value] of Object.entries(own ?? {})) headers.set(name, value);
    const text = JSON.stringify(body);
    const attempt = { url: url.href, method: "POST", headers, body: text, signal: connection.signal };
    const send = sender(options.middleware ?? [], options.idleTimeout, { path: url.pathname, body });
    const response = await send(attempt);
    if (!response.ok) throw refusal(response.status, response.headers, await response.text(), about);
    return { response, connection };
  } catch (error) {
    if (signal.aborted) throw abortedError(signal);
    throw callError(error, { ...about, missing: isLate ? "timeout" : isNetwork(error) ? "network" : undefined });
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", abort);
  }
}

function addressOf(baseURL: string, path: string): URL {
  if (!URL.canParse(baseURL)) {
    throw new ModelError(`Cannot call the model as '${baseURL}' is not a URL: set OPENAI_BASE_URL, with https://`, {
      code: "error",
    });
  }
  const url = new URL(baseURL);
  url.pathname = url.pathname.replace(/\/+$/, "") + path;
  return url;
}

/** `fetch` throws a TypeError if a server cannot be reached, and Bun an error with a code. */
function isNetwork(error: unknown): boolean {
  return error instanceof TypeError || typeof (error as { code?: unknown } | undefined)?.code === "string";
}

function sender(
  middleware: readonly Middleware[],
  ms: number,
  asked: { path: string; body: unknown },
): (request: AttemptRequest) => Promise<Response> {
  const silent = () => {};
  const context: MiddlewareContext = {
    options: { method: "post", stream: true, ...asked },
    logger: { error: silent, warn: silent, info: silent, debug: silent },
    parse: async <T>(response: Response) => await response.clone().json() as T,
  };
  const fetched = ({ url, ...init }: AttemptRequest) => boundedFetch(ms)(url, init);
  return middleware.reduceRight<(request: AttemptRequest) => Promise<Response>>(
    (next, layer) => (request) => layer(request, next, context),
    fetched,
  );
}

/** Reads a reply, streamed or whole: its first character says which it is, as the content type may be wrong. */
export function parserFor(response: Response, request: ModelRequest, api: OpenAIOptions["api"] = "chat"): ReplyParser {
  if (/html/.test(response.headers.get("content-type") ?? "")) throw notAStream(response, "OPENAI_BASE_URL");
  const found: ModelEvent[] = [];
  const emit = (event: ModelEvent) => void found.push(event);
  const reader = api === "chat" ? chatReader(request, emit) : responsesReader(request, emit);
  let said = false;
  const stream = eventParser((value, name) => {
    said ||= !(isObject(value) && isSignOfLife(value));
    reader.take(value, name);
    return undefined;
  });
  const decoder = new TextDecoder();
  let isWhole: boolean | undefined;
  let text = "";
  const parser = afterMistakes(found, {
    push(chunk) {
      said = false;
      isWhole ??= firstOf(chunk) === undefined ? undefined : firstOf(chunk) === BRACE;
      if (isWhole) text += decoder.decode(chunk, { stream: true });
      else if (isWhole === false) stream.push(chunk);
    },
    end() {
      if (isWhole) reader.whole(jsonOf(text));
      else {
        stream.end();
        reader.end();
      }
    },
  });
  return { ...parser, saidMore: () => said || isWhole === true, isWhole: () => reader.isWhole() };
}

/** Whether it only shows that the server is alive: a ping, or a piece of a reply in which all is empty. */
function isSignOfLife({ type, delta, choices, usage }: Record<string, unknown>): boolean {
  if (type === "ping" || (typeof type === "string" && type.endsWith(".delta"))) return type === "ping" || delta === "";
  if (!Array.isArray(choices) || choices.length === 0 || isObject(usage)) return false;
  const isEmpty = (one: unknown) => one === null || one === "" || (Array.isArray(one) && one.length === 0);
  return choices.every((choice) =>
    !choice?.finish_reason && Object.entries(choice?.delta ?? {}).every(([key, one]) => key === "role" || isEmpty(one))
  );
}

const BRACE = 0x7b;
const BLANK = [0x20, 0x0a, 0x0d, 0x09, 0xef, 0xbb, 0xbf];

function firstOf(chunk: Uint8Array): number | undefined {
  return chunk.find((byte) => !BLANK.includes(byte));
}

function jsonOf(text: string): unknown {
  const value = parsed(text);
  if (value !== undefined) return value;
  throw new ModelError("Cannot use the reply as it ended before its JSON did", { code: "cut", retryable: true });
}
