import { objectOf } from "../core/json.ts";
import { ModelError } from "../core/model.ts";

/** The classes of errors of the API, each with the one status that it has. */
const STATUS = {
  invalid_request_error: 400,
  authentication_error: 401,
  billing_error: 402,
  permission_error: 403,
  not_found_error: 404,
  request_too_large: 413,
  rate_limit_error: 429,
  api_error: 500,
  timeout_error: 504,
  overloaded_error: 529,
} as const;

type ApiErrorType = keyof typeof STATUS;

const ALL = Object.entries(STATUS) as [ApiErrorType, number][];

export function errorStatus(type: unknown): number {
  return ALL.find(([known]) => known === type)?.[1] ?? STATUS.api_error;
}

export function errorType(status: number): ApiErrorType {
  const own = ALL.find(([, known]) => known === status)?.[0];
  return own ?? (status < 500 ? "invalid_request_error" : "api_error");
}

/** How APIs say that a conversation is longer than the model takes: most have no class of error for it. */
const TOO_LONG = [
  "request_too_large",
  "prompt is too long",
  "context_length_exceeded",
  "exceed_context_size",
  "too_many_prompt_tokens",
  "maximum context length",
  "context window",
];

/** Whether an error of an API says that a conversation is too long. */
export function saysTooLong({ code, message }: { readonly code: string; readonly message: string }): boolean {
  const words = `${code} ${message}`.toLowerCase();
  return TOO_LONG.some((phrase) => words.includes(phrase));
}

export interface FailedCall {
  /** Why no answer came at all, where none did. */
  readonly missing: "timeout" | "network" | undefined;
  readonly model: string;
  readonly baseURL: string;
  readonly attempts: number;
  readonly timeout: number;
  /** The variable that has the API key. @default ANTHROPIC_API_KEY */
  readonly key?: string;
  /** Whether another attempt may go better. @default false, as the SDK has tried again if that could help */
  readonly mayRetry?: boolean;
}

/** The parts of the SDK's errors that are read here; the classes themselves would load the SDK. */
interface SdkError extends Error {
  readonly status?: number | undefined;
  readonly headers?: Headers | undefined;
  readonly error?: unknown;
}

/** Says why a call failed and how to fix it. */
export function callError(error: unknown, call: FailedCall): ModelError {
  if (error instanceof ModelError) return error;
  const failure: SdkError = error instanceof Error ? error : new Error(String(error));
  const [code, why, fix] = failure.status === undefined ? unsent(failure, call) : refused(failure, call);
  const retryAfter = wait(failure);
  return new ModelError(`Cannot call the model as ${why}${fix === "" ? "" : `: ${fix}`}`, {
    code,
    cause: error,
    ...(call.mayRetry && { retryable: true }),
    ...(retryAfter !== undefined && { retryAfter }),
  });
}

export function abortedError(signal: AbortSignal): ModelError {
  return new ModelError("Cannot finish the model call as it was aborted", { code: "aborted", cause: signal.reason });
}

type Explanation = readonly [code: string, why: string, fix: string];

function unsent(error: SdkError, { missing, baseURL, attempts, timeout }: FailedCall): Explanation {
  if (/resolve authentication|x-api-key/i.test(error.message)) {
    return ["no_key", "no API key is set", "set ANTHROPIC_API_KEY, or pass apiKey to anthropic()"];
  }
  if (missing === undefined) return ["error", "the request failed before it was sent", error.message];
  const [why, fix] = missing === "timeout"
    ? [`did not answer within ${timeout / 1000} s`, "try again, or raise timeout"]
    : ["could not be reached", rootCause(error)];
  return [missing, `${baseURL} ${why}${tried(attempts)}`, fix];
}

function tried(attempts: number): string {
  return attempts === 1 ? "" : ` in ${attempts} attempts`;
}

function refused(error: SdkError, call: FailedCall): Explanation {
  // The API's own words, without the JSON the SDK's message repeats them in.
  const { error: inner } = objectOf(error.error) as { error?: { type?: unknown; message?: unknown } };
  const message = typeof inner?.message === "string" ? inner.message : error.message.slice(0, 500);
  return [typeof inner?.type === "string" ? inner.type : errorType(error.status!), ...explained(error, message, call)];
}

function explained(error: SdkError, message: string, call: FailedCall): readonly [why: string, fix: string] {
  const { model, baseURL, attempts, key = "ANTHROPIC_API_KEY" } = call;
  const status = error.status!;
  switch (status) {
    case 400:
      return ["the API refused the request as invalid", message];
    case 401:
      return ["the API key was refused", `check ${key} (${message})`];
    case 402:
    case 403:
      return ["this API key may not do this", message];
    case 404:
      return [`${baseURL} does not know '${model}'`, `check the name of the model (${message})`];
    case 413:
      return ["the conversation is larger than the API takes", "compact it, or start a new run"];
    case 429:
      return [`the rate limit was reached${tried(attempts)}`, waitText(error, message)];
    case 529:
      return [`the API was overloaded${tried(attempts)}`, waitText(error, "try again later")];
  }
  return [
    status >= 500 ? `the API failed with ${status}${tried(attempts)}` : `the API answered with ${status}`,
    message,
  ];
}

function waitText(error: SdkError, otherwise: string): string {
  const ms = wait(error);
  return ms === undefined ? otherwise : `try again in ${Math.ceil(ms / 1000)} s`;
}

/** What a server asks to wait, in milliseconds. */
export function wait({ headers }: Pick<SdkError, "headers">): number | undefined {
  const ms = Number(headers?.get("retry-after-ms") ?? Number.NaN);
  if (ms >= 0) return ms;
  const after = headers?.get("retry-after");
  if (!after) return undefined;
  const seconds = Number(after);
  const value = Number.isNaN(seconds) ? Date.parse(after) - Date.now() : seconds * 1000;
  return Number.isNaN(value) ? undefined : Math.max(0, value);
}

function rootCause(error: Error): string {
  let cause: unknown = error;
  while (cause instanceof Error && cause.cause instanceof Error) cause = cause.cause;
  return (cause as Error).message;
}

/** What is read of an answer that refuses: enough for its words. */
const LONGEST_REFUSAL = 64 * 1024;

/** As `fetch`, but an answer that refuses ends after 64 KiB or `ms`: the SDK reads it whole, however long it goes on. */
export function boundedFetch(ms: number): typeof fetch {
  const bounded = async (...request: Parameters<typeof fetch>): Promise<Response> => {
    const response = await fetch(...request);
    if (response.ok || !response.body) return response;
    const { headers, statusText } = response;
    const status = Math.min(response.status, 599); // a server may send any, and a Response takes no higher one
    return new Response(beginningOf(response.body, ms), { headers, statusText, status });
  };
  return bounded as typeof fetch;
}

function beginningOf(body: ReadableStream<Uint8Array>, ms: number): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  let left = LONGEST_REFUSAL;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const cancel = async () => {
    clearTimeout(timer);
    await reader.cancel().catch(() => {}); // ends a pending read at once
  };
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      timer ??= setTimeout(cancel, Math.min(ms, 2 ** 31 - 1));
      const { value } = await reader.read();
      if (value) controller.enqueue(value.subarray(0, left));
      left -= value?.length ?? 0;
      if (value && left > 0) return;
      controller.close();
      await cancel();
    },
    cancel,
  }, { highWaterMark: 0 }); // nothing is read, and no time runs, before it is read
}
