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

/** Every class with its status in front: `429 rate_limit_error`. */
export const API_ERRORS: readonly string[] = ALL.map(([type, status]) => `${status} ${type}`);

/** The status that a class of error has on the wire. */
export function errorStatus(type: unknown): number {
  return ALL.find(([known]) => known === type)?.[1] ?? STATUS.api_error;
}

/** The API's name for an HTTP error. */
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
