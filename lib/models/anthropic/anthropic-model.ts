import type { BaseAnthropic, ClientOptions } from "@anthropic-ai/sdk/client";
import { abortedError, boundedFetch, callError } from "../../http/errors.ts";
import { type Cache, requestWriter } from "./request-bytes.ts";
import { type OpenReply, replyStream } from "../../http/reply-stream.ts";
import { type JsonSchema, type Model, ModelError, type ModelRequest } from "../../core/model.ts";
import { present, quietly } from "../../core/json.ts";
import { checkOptions, type OptionKind } from "../../input/options.ts";
import { builtProgram } from "../../runtime/importing.ts";
import { PACKAGE } from "../../runtime/own-copy.ts";
import type { Middleware } from "../../http/middleware.ts";

/** The model an agent talks to when none is named. */
export const DEFAULT_MODEL = "claude-opus-5-5";

export interface AnthropicOptions {
  /** The model's name. @default `DEFAULT_MODEL` */
  model?: string;
  /** A client of the SDK to call with: `AnthropicBedrock`, `AnthropicVertex`, `AnthropicFoundry`, or your own. It has its own key and address. */
  client?: AnthropicClient;
  /** @default the environment variable ANTHROPIC_API_KEY */
  apiKey?: string;
  /** @default the environment variable ANTHROPIC_BASE_URL, else the public API */
  baseURL?: string;
  /** How often the SDK sends a request again that was refused for now or not answered. @default 2 */
  maxRetries?: number;
  /** Milliseconds to wait for an answer to begin, and for one that has begun to say more than that it is alive. @default 600_000 */
  timeout?: number;
  /** Milliseconds a reply that has begun may be silent. @default 60_000 */
  idleTimeout?: number;
  /** Whether to mark breakpoints of the prompt cache (system prompt, tools, the last two user messages), for five minutes or an hour. @default true */
  cache?: Cache;
  /** Headers to send with every request. */
  headers?: { readonly [name: string]: string };
  /** Sees every HTTP attempt, and may answer it; the first is the outermost. */
  middleware?: readonly Middleware[];
}

/** What is used of a client: `BaseAnthropic` of the SDK is one, and so is each class made of it. */
export interface AnthropicClient {
  readonly baseURL: string;
  readonly maxRetries: number;
  readonly timeout: number;
  post(path: string, options: object): { asResponse(): Promise<Response> };
}

/**
 * A model of the Messages API. The SDK is loaded by the first call; it does authentication and retries, while
 * requests are sent as ready bytes and replies are read here, event by event.
 *
 * @example
 * ```ts
 * import { agent, anthropic } from "crochet";
 *
 * const helper = agent({ model: anthropic({ model: "claude-sonnet-5-5", idleTimeout: 30_000 }) });
 * ```
 */
export function anthropic(options: AnthropicOptions = {}): Model {
  // Here and not in the SDK, which would complain at the first call.
  checkOptions(options, OPTIONS, "use anthropic()");
  checkClient(options);
  const wire = wireFor(options);
  const model: Model = (request, signal) => wire.call(request, signal);
  wires.set(model, wire);
  // An agent asks a model function for the model that the function is named after.
  return Object.defineProperty(model, "name", { value: options.model ?? DEFAULT_MODEL });
}

/** Where the SDK finds the API if nothing names another place. */
export const PUBLIC_API = "https://api.anthropic.com";

/** A wire on which middleware answers: no key is needed, and the SDK does not wait between attempts. */
export function offlineWire({ client: _, ...options }: AnthropicOptions): Wire {
  return wireFor(
    { baseURL: PUBLIC_API, ...options, apiKey: "replayed" },
    (client) => void Object.assign(client, { calculateDefaultRetryTimeoutMillis: () => 0 }),
  );
}

function wireFor(options: AnthropicOptions, prepare?: (client: BaseAnthropic) => void): Wire {
  const write = requestWriter({ cache: options.cache ?? true });
  const { idleTimeout = 60_000, timeout = options.client?.timeout ?? 600_000 } = options;
  let own: { readonly client: AnthropicClient; readonly environment: string } | undefined;

  /** One client for one address and key: the SDK reads both of the environment once, when a client is made. */
  async function clientNow(): Promise<AnthropicClient> {
    const { BaseAnthropic } = await loadSdk();
    const environment = JSON.stringify(CLIENT_VARIABLES.map((name) => process.env[name]));
    if (own?.environment !== environment) {
      const client = new BaseAnthropic({ ...clientOptions(options), fetch: boundedFetch(idleTimeout) });
      prepare?.(client);
      own = { client, environment };
    }
    return own.client;
  }

  async function open(
    request: ModelRequest,
    signal: AbortSignal,
    middleware: readonly Middleware[] = [],
  ): Promise<OpenReply> {
    if (signal.aborted) throw abortedError(signal);
    const client = options.client ?? await clientNow();
    if (signal.aborted) throw abortedError(signal);
    const body = write(request);
    // A given client was made without our middleware.
    const around = options.client ? [...options.middleware ?? [], ...middleware] : middleware;
    // Not the caller's signal: a reply that stalls is ended too, and no listener is left on it.
    const connection = new AbortController();
    const abort = () => connection.abort();
    signal.addEventListener("abort", abort, { once: true });
    try {
      const response = await client.post("/v1/messages", {
        // Middleware that reads the body as the SDK's own does expects a text, and so do the clients of Bedrock and Vertex.
        body: options.middleware?.length || options.client ? decoder.decode(body.bytes) : body.bytes,
        headers: { "content-type": "application/json", ...betaHeader(request, options) },
        stream: true,
        signal: connection.signal,
        ...(around.length > 0 && { middleware: around }),
      }).asResponse();
      return { response, connection };
    } catch (error) {
      if (signal.aborted) throw abortedError(signal);
      // Of its own class: a client may be of another copy of the SDK.
      const { APIConnectionError, APIConnectionTimeoutError } = client.constructor as Sdk["BaseAnthropic"];
      const missing = error instanceof APIConnectionTimeoutError
        ? "timeout"
        : error instanceof APIConnectionError
        ? "network"
        : undefined;
      const { baseURL, maxRetries, timeout } = client;
      throw callError(error, { missing, model: request.model, baseURL, attempts: maxRetries + 1, timeout });
    } finally {
      body.release();
      signal.removeEventListener("abort", abort);
    }
  }

  return {
    options,
    call: (request, signal, middleware) =>
      replyStream(() => open(request, signal, middleware), { signal, idleTimeout, timeout }),
  };
}

const decoder = new TextDecoder();

const CLIENT_VARIABLES = [
  "ANTHROPIC_BASE_URL",
  "ANTHROPIC_API_KEY",
  "ANTHROPIC_AUTH_TOKEN",
  "ANTHROPIC_CUSTOM_HEADERS",
];

const BETA = "anthropic-beta";

/** The header of betas: those of the request, and those that all requests have. */
function betaHeader({ params }: ModelRequest, { headers = {} }: AnthropicOptions): { [BETA]?: string } {
  const betas = params?.betas as readonly string[] | undefined;
  if (!betas?.length) return {};
  const always = Object.entries(headers).filter(([name]) => name.toLowerCase() === BETA).map(([, value]) => value);
  return { [BETA]: [...new Set([...always, ...betas])].join(",") };
}

/** A model of the Messages API with its wire laid open. */
export interface Wire {
  readonly options: AnthropicOptions;
  /** As the model, with middleware for this call only; it is next to the wire. */
  readonly call: (
    request: ModelRequest,
    signal: AbortSignal,
    middleware?: readonly Middleware[],
  ) => ReturnType<Model>;
}

const wires = new WeakMap<Model, Wire>();

/** The wire of a model that `anthropic()` made; undefined for any other. */
export function wireOf(model: Model): Wire | undefined {
  return wires.get(model);
}

/** An error that the SDK takes for a connection that failed, and tries again after. */
export async function connectionError(why: string): Promise<Error> {
  const { BaseAnthropic } = await loadSdk();
  return new BaseAnthropic.APIConnectionError({ cause: new Error(why) });
}

type Sdk = Pick<typeof import("@anthropic-ai/sdk/client"), "BaseAnthropic">;

let sdk: Promise<Sdk> | undefined;

function loadSdk(): Promise<Sdk> {
  return sdk ??= client().catch((cause) => {
    sdk = undefined;
    throw new ModelError(`Cannot load '@anthropic-ai/sdk', install it again: ${cause.message}`, {
      code: "no_sdk",
      cause,
    });
  });
}

/** The SDK's client: the bundle of exactly the installed version if there is one, as that loads in a sixth of the time. */
async function client(): Promise<Sdk> {
  const whole = () => import("@anthropic-ai/sdk/client");
  // An application that collects spans may instrument the package itself; a built program has the bundle in its place.
  if (Symbol.for("opentelemetry.js.api.1") in globalThis || builtProgram()) return await whole();
  const { VERSION } = await import("@anthropic-ai/sdk/version");
  return await import(`${PACKAGE}/dist/sdk-${VERSION}.js`).catch(whole);
}

/** A schema with what the API can hold an answer to; the rest stands in descriptions, for the model to read. */
export async function reducedSchema(schema: JsonSchema): Promise<JsonSchema> {
  const { transformJSONSchema } = await import("@anthropic-ai/sdk/lib/transform-json-schema");
  // A part without a type: the API says itself what it does not take.
  return quietly(() => transformJSONSchema(schema as never) as JsonSchema) ?? schema;
}

/** Starts to load the SDK, so that it is there when the first call is made: its import is most of a cold start. */
export function warm(): void {
  loadSdk().catch(() => {}); // the first call reports it
}

const OPTIONS: { readonly [option in keyof AnthropicOptions]-?: OptionKind } = {
  model: "a text",
  client: "any",
  apiKey: "a text",
  baseURL: "a text",
  maxRetries: "0 or more",
  timeout: "0 or more",
  idleTimeout: "0 or more",
  cache: [true, false, "1h"],
  headers: "an object",
  middleware: "a list",
};

/** @throws {TypeError} if a client is given that has no requests, or beside it what belongs into the client */
function checkClient({ client, ...options }: AnthropicOptions): void {
  if (client === undefined) return;
  if (typeof client?.post !== "function") {
    throw new TypeError("Cannot use anthropic() as 'client' makes no requests: give a client of @anthropic-ai/sdk 1.x");
  }
  const both = (["apiKey", "baseURL", "headers", "maxRetries", "timeout"] as const)
    .find((name) => options[name] !== undefined);
  if (both) throw new TypeError(`Cannot use anthropic() as '${both}' is given beside 'client': set it in the client`);
}

function clientOptions({ apiKey, baseURL, maxRetries, timeout, headers, middleware }: AnthropicOptions): ClientOptions {
  return {
    ...(apiKey && { apiKey }),
    ...present({ baseURL, maxRetries, timeout, middleware, defaultHeaders: headers && { ...headers } }),
  };
}
