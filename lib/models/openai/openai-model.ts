import type { Model } from "../../core/model.ts";
import { checkOptions, type OptionKind } from "../../input/options.ts";
import type { Middleware } from "../../http/middleware.ts";
import { replyStream } from "../../http/reply-stream.ts";

export interface OpenAIOptions {
  model: string;
  /** @default the environment variable OPENAI_BASE_URL, else the public API */
  baseURL?: string;
  /** Needed by the public API; most local servers take requests without one. @default the environment variable OPENAI_API_KEY */
  apiKey?: string;
  /** Which API the server speaks: Chat Completions, as nearly all do, or Responses. @default "chat" */
  api?: "chat" | "responses";
  /** Headers to send with every request, or a function that gives them each time. */
  headers?: OpenAIHeaders | (() => OpenAIHeaders | Promise<OpenAIHeaders>);
  /** Milliseconds to wait for an answer to begin, and for one that has begun to say more than that it is alive. @default 600_000 */
  timeout?: number;
  /** Milliseconds a reply that has begun may be silent. @default 60_000 */
  idleTimeout?: number;
  /** Sees every HTTP attempt, and may answer it; the first is the outermost. */
  middleware?: readonly Middleware[];
  /** How many tokens the model reads at most: a conversation is summarised before it has as many. */
  contextWindow?: number;
}

interface OpenAIHeaders {
  readonly [name: string]: string;
}

/**
 * A model of a server that speaks the API of OpenAI: OpenAI, Azure, OpenRouter, Gemini, Mistral, Groq, vLLM, llama.cpp,
 * Ollama, LM Studio. What it needs is loaded by the first call.
 *
 * @example
 * ```ts
 * import { agent, openai } from "crochet";
 *
 * const local = agent({ model: openai({ model: "qwen3", baseURL: "http://127.0.0.1:11434/v1" }) });
 * ```
 */
export function openai(options: OpenAIOptions): Model {
  checkOptions(options, OPTIONS, "use openai()");
  const { model: name, baseURL, timeout = 600_000, idleTimeout = 60_000, contextWindow } = options;
  if (!name) throw new TypeError("Cannot use openai() as it names no model: set the option 'model'");
  if (baseURL !== undefined && !URL.canParse(baseURL)) {
    throw new TypeError(`Cannot use openai() as its baseURL '${baseURL}' is not a URL: write it with https://`);
  }
  const model: Model = (given, signal) => {
    const request = { ...given, model: given.model.replace(OPENAI_NAME, "") };
    let api: typeof import("./call.ts") | undefined;
    return replyStream(async () => {
      api = await import("./call.ts");
      return await api.open(request, signal, { ...options, timeout, idleTimeout });
    }, {
      signal,
      timeout,
      idleTimeout,
      variable: "OPENAI_BASE_URL",
      parser: (response) => api!.parserFor(response, request, options.api),
    });
  };
  models.add(model);
  // An agent asks a model function for the model that the function is named after.
  Object.defineProperty(model, "name", { value: name.replace(OPENAI_NAME, "") });
  return contextWindow === undefined ? model : Object.assign(model, { contextWindow });
}

/** How a name says that its model is of such a server: `openai:NAME`. */
export const OPENAI_NAME: RegExp = /^openai:/;

const models = new WeakSet<Model>();

export function isOpenAI(model: Model): boolean {
  return models.has(model);
}

const OPTIONS: { readonly [option in keyof OpenAIOptions]-?: OptionKind } = {
  model: "a text",
  baseURL: "a text",
  apiKey: "a text",
  api: ["chat", "responses"],
  headers: "any",
  timeout: "0 or more",
  idleTimeout: "0 or more",
  middleware: "a list",
  contextWindow: "0 or more",
};
