import { Buffer } from "node:buffer";
import { bytesOf, isByteList, looksLikeBody } from "./_body.ts";
import { exchangesIn, plainNames, type Sides } from "./_sides.ts";
import { exchangeOf } from "./_written.ts";
import { type Exchange, type Fields, fieldsOf, type Format, isFields, type Opened } from "./exchange.ts";

/**
 * Requests with their responses, as many recorders write them under names of their own: exvcr, Hoverfly, Mastra,
 * ReqLLM, claude-trace, llm-vcr, talkback, undici, EasyVCR, Helicone, WireMock.Net and whatever a team has made for itself.
 */
export const pairs: Format = {
  name: "pairs",
  about: "requests with their responses, in one JSON or YAML value or one a line",
  recognises: (file) => pairsIn(file) !== undefined,
  read: (file) => pairsIn(file)!.map(exchange),
};

function pairsIn({ json, lines, documents }: Opened): readonly Sides[] | undefined {
  // A log may begin with what it is, and have other things to tell.
  if (lines) return allPairs(lines.filter((line) => isFields(line) && exchangesIn(line))) ?? allPairs(deepPairs(lines));
  const top = json ?? (documents?.length === 1 ? documents[0] : documents);
  const lists = isFields(top) ? [[top], ...Object.values(top), ...below(top), Object.values(top)] : [top];
  return lists.map(allPairs).find((list) => list !== undefined) ?? allPairs(deepPairs(top));
}

/** What is one step below, as Hoverfly's pairs are in its `data`. */
function below(top: Fields): unknown[] {
  return Object.values(top).filter(isFields).flatMap((inner) => Object.values(inner));
}

/** Where logs keep what was asked and what was answered. */
const LOGGED = [["request", "response"], ["input", "output"], ["inputs", "outputs"]] as const;

/** Calls anywhere in a log, as Inspect, LangSmith and Langfuse have them: a request of the API beside an answer of it, nothing less. */
function deepPairs(value: unknown): Fields[] {
  if (Array.isArray(value)) return value.flatMap(deepPairs);
  if (!isFields(value)) return [];
  for (const [asked, answered] of LOGGED) {
    const [request, response] = [value[asked], value[answered]];
    const isCall = Array.isArray(fieldsOf(request).messages) &&
      ["message", "error"].includes(String(fieldsOf(response).type));
    if (isCall) return [{ request, response }];
  }
  return Object.values(value).flatMap(deepPairs);
}

function allPairs(list: unknown): readonly Sides[] | undefined {
  if (!Array.isArray(list)) return undefined;
  const sides = list.map((item) => isFields(item) ? exchangesIn(item) : undefined);
  if (!sides.every((pairs) => pairs !== undefined)) return undefined;
  const all = sides.flat();
  return all.some(({ response }) => response) ? all : undefined;
}

function exchange({ pair, request, response }: Sides): Exchange {
  const url = urlOf(request) ?? urlOf(pair);
  const exchanged = exchangeOf({
    method: exact(request.method) ?? firstOf(request.methods) ?? pair.method,
    ...(url !== undefined && { url }),
    requestHeaders: request.headers,
    request: exact(askedBody(request)),
    status: statusOf(response ?? {}),
    headers: response?.headers,
    body: () => bodyOf(response ?? {}, pair.chunks),
    at: timeOf(pair, request),
  });
  return response ? exchanged : { ...exchanged, unanswered: true };
}

function askedBody(request: Fields): unknown {
  const { parsed_body, body, json, request_body, bodyparts } = request;
  return parsed_body ?? body ?? json ?? request_body ?? firstOf(bodyparts) ?? bodyAmong(request);
}

/** A body under a name that only its recorder has (`content`, `body_b64`): the one thing of a side that looks like one. */
function bodyAmong(side: Fields): unknown {
  const [body, ...others] = Object.values(side).filter(looksLikeBody);
  return others.length === 0 ? body : undefined;
}

function firstOf(list: unknown): unknown {
  return Array.isArray(list) ? list[0] : undefined;
}

/**
 * What a field was, where it is kept as what it must be: Hoverfly has `[{ matcher: "exact", value }]`, and had
 * `{ exactMatch }`; WireMock.Net has `{ Matchers: [{ Pattern }] }`, and `{ Matcher: { Pattern } }` for a body.
 */
function exact(field: unknown): unknown {
  const { exactMatch, Matcher, Matchers } = fieldsOf(field);
  if (exactMatch !== undefined) return exactMatch;
  const rules = Matcher === undefined ? Matchers ?? field : [Matcher];
  if (!Array.isArray(rules) || rules.length !== 1) return field;
  const { matcher, value, Pattern } = fieldsOf(rules[0]);
  return matcher !== undefined ? value : Pattern ?? field;
}

function urlOf(request: Fields): string | undefined {
  const given = exact(request.url ?? request.uri);
  if (given !== undefined && !isFields(given)) return String(given);
  const parts = isFields(given) ? plainNames(given) : request;
  const [scheme, host, path] = [parts.scheme, parts.destination ?? parts.host, parts.path].map(exact);
  if (path === undefined || path === null) return undefined;
  // Of several patterns none is the address: they are shown as they are.
  const place = typeof path === "object" ? JSON.stringify(path) : String(path);
  return typeof host === "string" && host !== "" ? `${scheme ?? "https"}://${host}${place}` : place;
}

/** A number, `{ code }`, or a line of text with the code in front. */
function statusOf(response: Fields): unknown {
  const { status, status_code, statusCode, statuscode, code } = response;
  const beside = status_code ?? statusCode ?? statuscode;
  const given = plainNames(fieldsOf(status)).code ?? beside ?? status ?? code;
  return typeof given === "string" ? Number.parseInt(given, 10) : given;
}

const TIMES = ["recorded_at", "recordedAt", "captured_at", "createdAt", "RecordedAt", "request_created_at"];

function timeOf(pair: Fields, { timestamp }: Fields): unknown {
  const own = TIMES.map((name) => pair[name] ?? fieldsOf(pair.meta)[name]).find((given) => given !== undefined);
  return own ?? timestamp ?? pair.timestamp;
}

function bodyOf(response: Fields, chunks: unknown): unknown {
  const { body_raw, bodyRaw, parsed_body, body, bodyasjson, bodyasbytes, encodedBody, binary } = response;
  const whole = body_raw ?? bodyRaw ?? parsed_body ?? body ?? bodyasjson ?? response.json ?? response.data;
  if (encodedBody === true || binary === true) return { b64: whole };
  if (whole === undefined && bodyasbytes !== undefined) return { b64: bodyasbytes };
  const isThere = whole !== undefined && whole !== null && whole !== "";
  const found = isThere ? whole : response.chunks ?? chunks ?? response.events ?? bodyAmong(response);
  return Array.isArray(found) && !isByteList(found) ? Buffer.concat(found.map(pieceOf)) : found;
}

/** A piece of the wire, or one event of the stream: itself, or its JSON with a time beside it. */
function pieceOf(piece: unknown): Uint8Array {
  if (!isFields(piece)) return bytesOf(piece);
  if (typeof piece.type === "string") return Buffer.from(`data: ${JSON.stringify(piece)}\n\n`);
  const { data, encoding } = piece;
  if (typeof data !== "string") return bytesOf(piece);
  if (encoding === "base64") return Buffer.from(data, encoding);
  return Buffer.from(data.startsWith("{") ? `data: ${data}\n\n` : data);
}
