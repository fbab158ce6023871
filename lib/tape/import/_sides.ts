import { errorStatus } from "../../api-errors.ts";
import { isBody, requestBody } from "./_body.ts";
import { type Fields, fieldsOf, isFields } from "./exchange.ts";

/** The two sides of a pair under one set of names, and the pair as it was written. */
export interface Sides {
  readonly pair: Fields;
  readonly request: Fields;
  /** Undefined where there was no answer. */
  readonly response: Fields | undefined;
}

/** The sides of what was written as a pair; undefined where it is none. */
export function sidesOf(pair: Fields): Sides | undefined {
  const asked = first(pair, ["request", "req", "Request", "requestBody", "request_body"]);
  const answered = first(pair, ["response", "res", "Response", "response_body", "responseBody"]);
  if (!asked) return answerOf(fieldsOf(answered?.value ?? pair), pair);
  if (!answered) return undefined;
  const request = sideOf(asked, pair.request_path);
  const status = pair.response_status ?? pair.status;
  const response = answered.value === null ? undefined : sideOf(answered, undefined, status);
  const isAsked = isFields(asked.value) || isText(asked.value) || (asked.value === null && "path" in pair);
  return isAsked ? { pair, request, response } : undefined;
}

/** An answer that was kept without its question, as Saloon and Python's responses do; it may say where it came from. */
function answerOf(answer: Fields, pair: Fields): Sides | undefined {
  const response = plainNames(answer);
  const { url, method, status, statusCode, body, data } = response;
  const isAnswer = typeof (status ?? statusCode) === "number" && (isText(body ?? data) || isFields(body ?? data));
  return isAnswer ? { pair, request: { url, method }, response } : undefined;
}

interface Found {
  readonly name: string;
  readonly value: unknown;
}

function first(pair: Fields, names: readonly string[]): Found | undefined {
  const name = names.find((given) => given in pair);
  return name === undefined ? undefined : { name, value: pair[name] };
}

function isText(value: unknown): boolean {
  return typeof value === "string" && isBody(value);
}

/** What a side has that was written down from the wire. */
const OF_THE_WIRE =
  "status status_code statusCode code Status StatusCode body Body headers method Methods url uri URL Uri path Path chunks events"
    .split(" ");

/** A side that is a body has no more than that: those who log bodies log no addresses. */
function sideOf({ name, value }: Found, path: unknown, status?: unknown): Fields {
  if (!isFields(value)) return { body: value, path, status: status ?? bodyStatus(fieldsOf(requestBody(value))) };
  const isAll = /body$/i.test(name) || Array.isArray(value.messages) || !OF_THE_WIRE.some((key) => key in value) ||
    value.type === "message" || (value.type === "error" && isFields(value.error));
  if (!isAll) return plainNames(value);
  return { body: value, path, status: status ?? bodyStatus(value) };
}

function bodyStatus({ type, error }: Fields): number {
  return type === "error" ? errorStatus(fieldsOf(error).type) : 200;
}

/** Go and .NET begin names with a capital; some say of headers whose they are. */
export function plainNames(side: Fields): Fields {
  return Object.fromEntries(
    Object.entries(side).map(([key, value]) => {
      const name = /^[A-Z]/.test(key) ? key.toLowerCase() : key;
      return [/^(?:request|response)?headers?$/.test(name) ? "headers" : name, value];
    }),
  );
}
