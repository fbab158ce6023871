import { errorStatus } from "../../anthropic/api-errors.ts";
import { isBody, requestBody } from "./_body.ts";
import { type Fields, fieldsOf, isFields } from "./exchange.ts";

/** The two sides of a pair under one set of names, and the pair as it was written. */
export interface Sides {
  readonly pair: Fields;
  readonly request: Fields;
  /** Undefined where there was no answer. */
  readonly response: Fields | undefined;
}

const NAMES = {
  request: ["request", "req", "Request"],
  response: ["response", "res", "resp", "Response"],
} as const;

/** The sides of what was written as a pair; undefined where it is none. */
export function sidesOf(pair: Fields): Sides | undefined {
  const [asked, answered] = [named(pair, "request"), named(pair, "response")];
  const [request, response] = [flat(pair, "request"), flat(pair, "response")];
  if (!asked && !("body" in request)) return answerOf(fieldsOf(answered?.value ?? pair), pair);
  if (!answered && !("body" in response)) return undefined;
  const isAsked = !asked || isFields(asked.value) || isText(asked.value) || (asked.value === null && "path" in pair);
  if (!isAsked) return undefined;
  const status = response.status ?? pair.status ?? pair.status_code ?? pair.StatusCode;
  const answer = answered
    ? { ...response, ...sideOf(answered.value, status) }
    : { ...bare(response.body, status), ...response };
  return {
    pair,
    request: { ...request, ...(asked && sideOf(asked.value)) },
    response: answered?.value === null ? undefined : answer,
  };
}

/** The sides of each exchange that one thing keeps: undici has all answers to a question beside it, others a wrapping around both. */
export function exchangesIn(kept: Fields): readonly Sides[] | undefined {
  if (Array.isArray(kept.responses) && named(kept, "request")) {
    const all = kept.responses.map((response) => sidesOf({ ...kept, response }));
    return all.every((sides) => sides !== undefined) ? all : undefined;
  }
  const own = sidesOf(kept);
  if (own) return [own];
  const [wrapped, ...others] = Object.values(kept).filter(isFields).flatMap((inner) =>
    named(inner, "request") ? [exchangesIn(inner)] : []
  );
  return others.length === 0 ? wrapped : undefined;
}

/** An answer that was kept without its question, as Saloon and Python's responses do; it may say where it came from. */
function answerOf(answer: Fields, pair: Fields): Sides | undefined {
  const response = plainNames(answer);
  const { url, method, status, statusCode, body, data } = response;
  const isAnswer = typeof (status ?? statusCode) === "number" && (isText(body ?? data) || isFields(body ?? data));
  return isAnswer ? { pair, request: { url, method }, response } : undefined;
}

function named(pair: Fields, side: keyof typeof NAMES): { readonly value: unknown } | undefined {
  const name = NAMES[side].find((given) => given in pair);
  return name === undefined ? undefined : { value: pair[name] };
}

/** What a pair has of a side without a side of its own: `request_path`, `responseBody`, `RequestUri`. */
function flat(pair: Fields, side: keyof typeof NAMES): Fields {
  const part = new RegExp(`^${side}_?(uri|url|path|method|headers?|body|status(?:_?code)?)$`, "i");
  return plainNames(Object.fromEntries(
    Object.entries(pair).flatMap(([key, value]) => {
      const [, name] = part.exec(key) ?? [];
      return name === undefined ? [] : [[name, value]];
    }),
  ));
}

function isText(value: unknown): boolean {
  return typeof value === "string" && isBody(value);
}

/** What a side has that was written down from the wire. */
const OF_THE_WIRE =
  "status status_code statusCode code Status StatusCode body Body headers method Methods url uri URL Uri path Path chunks events"
    .split(" ");

/** A side that is a body has no more than that: those who log bodies log no addresses. */
function sideOf(value: unknown, status?: unknown): Fields {
  if (!isFields(value)) return bare(value, status);
  const isAll = Array.isArray(value.messages) || !OF_THE_WIRE.some((key) => key in value) ||
    value.type === "message" || (value.type === "error" && isFields(value.error));
  return isAll ? bare(value, status) : plainNames(value);
}

/** A body alone: its status is what stands beside it, or it says itself whether it is an error. */
function bare(body: unknown, status: unknown): Fields {
  return { body, status: status ?? bodyStatus(fieldsOf(requestBody(body))) };
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
