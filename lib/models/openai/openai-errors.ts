import { isObject, parsed } from "../../core/json.ts";
import { ModelError } from "../../core/model.ts";
import { callError, errorType, type FailedCall, wait } from "../../http/errors.ts";

/** What a server says went wrong, in any of the shapes that servers give it. */
interface ErrorBody {
  readonly message: string;
  readonly code: string;
  readonly type: string;
  readonly status: number | undefined;
}

function said(value: unknown): ErrorBody {
  const top = Array.isArray(value) ? value[0] : value;
  const inner = isObject(top) && top.error ? top.error : top;
  if (!isObject(inner)) return { message: String(inner ?? "no words"), code: "", type: "", status: undefined };
  const { message = inner.detail ?? inner.error, code, type, status_code, metadata } = inner;
  const status = [code, status_code, inner.status].map(Number).find((n) => n >= 400 && n < 600);
  const words = typeof message === "string" ? message : JSON.stringify(message ?? inner);
  const raw = isObject(metadata) && typeof metadata.raw === "string" ? metadata.raw : "";
  const kind = typeof code === "string" ? code : typeof type === "string" ? type : "";
  const more = [raw, kind].filter((text) => text !== "" && Number.isNaN(Number(text)) && !words.includes(text));
  return {
    message: more.length === 0 ? words : `${words} (${more.join(", ").slice(0, 500)})`,
    code: String(code ?? ""),
    type: String(type ?? ""),
    status,
  };
}

/** The status that the words for an error stand for, if it does not say one. */
const STATUSES: readonly (readonly [RegExp, number])[] = [
  [/rate_?limit|too_many_requests/i, 429],
  [/overloaded|unavailable/i, 503],
  [/authentication|api_key/i, 401],
  [/permission/i, 403],
  [/not_?found/i, 404],
  [/server|internal/i, 500],
  [/invalid|context_(length|size)|too_many_prompt_tokens|tool_use_failed|bad_?request/i, 400],
];

function kindOf({ code, type, status }: ErrorBody, given: number | undefined): { code: string; retryable: boolean } {
  const words = `${code} ${type}`;
  if (/insufficient_quota/.test(words)) return { code: "billing_error", retryable: false };
  const known = given ?? status ?? STATUSES.find(([kind]) => kind.test(words))?.[1] ?? 500;
  const retryable = known === 408 || known === 409 || known === 429 || known >= 500 || /tool_use_failed/.test(words);
  return { code: known === 503 ? "overloaded_error" : errorType(known), retryable };
}

/** Why a server refused a request. */
export function refusal(status: number, headers: Headers, body: string, about: FailedCall): ModelError {
  const words = said(parsed(body) ?? body.slice(0, 500));
  const { code, retryable } = kindOf(words, status);
  const failure = Object.assign(new Error(words.message), {
    status: status === 422 ? 400 : status,
    error: { error: { type: code, message: words.message } },
  });
  const { message } = callError(failure, about);
  const retryAfter = wait({ headers });
  return new ModelError(message, { code, retryable, ...(retryAfter !== undefined && { retryAfter }) });
}

/** An error that came in place of a reply, or of its rest. */
export function replyError(value: unknown): ModelError {
  const words = said(value);
  const { code, retryable } = kindOf(words, undefined);
  return new ModelError(`Cannot finish the reply as the model reported ${code}: ${words.message}`, { code, retryable });
}

/** @throws {ModelError} if a piece of a reply is an error, or holds one */
export function throwErrorIn(value: unknown, name = ""): void {
  if (name === "error" || (isObject(value) && (value.error || value.object === "error"))) throw replyError(value);
}

export function cutError(): ModelError {
  return new ModelError("Cannot use the reply as its stream ended without finish_reason and [DONE]", {
    code: "cut",
    retryable: true,
  });
}
