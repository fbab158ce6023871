import { Buffer } from "node:buffer";
import { answerText, bytesOf, headersOf, requestBody } from "./_body.ts";
import { plainNames, type Sides, sidesOf } from "./_sides.ts";
import { type Exchange, type Fields, fieldsOf, type Format, isFields, type Opened } from "./exchange.ts";

/**
 * Requests with their responses, as many recorders write them under names of their own: exvcr, Hoverfly, Mastra,
 * ReqLLM, claude-trace, llm-vcr, talkback, EasyVCR, Helicone and whatever a team has made for itself.
 */
export const pairs: Format = {
  name: "pairs",
  about: "requests with their responses, in one JSON or YAML value or one a line",
  recognises: (file) => pairsIn(file) !== undefined,
  read: (file) => pairsIn(file)!.map(exchange),
};

function pairsIn({ json, lines, documents }: Opened): readonly Sides[] | undefined {
  if (lines) return allPairs(lines);
  const top = json ?? (documents?.length === 1 ? documents[0] : documents);
  if (!isFields(top)) return allPairs(top);
  const lists = [[top], ...Object.values(top), ...Object.values(fieldsOf(top.data))];
  return lists.map(allPairs).find((list) => list !== undefined) ?? allPairs(deepPairs(top));
}

/** Calls anywhere in a log, as Inspect has them: a request of the API beside an answer of it, nothing less. */
function deepPairs(value: unknown): Fields[] {
  if (Array.isArray(value)) return value.flatMap(deepPairs);
  if (!isFields(value)) return [];
  const { request, response } = value;
  const isCall = Array.isArray(fieldsOf(request).messages) &&
    ["message", "error"].includes(String(fieldsOf(response).type));
  return isCall ? [value] : Object.values(value).flatMap(deepPairs);
}

function allPairs(list: unknown): readonly Sides[] | undefined {
  if (!Array.isArray(list)) return undefined;
  const sides = list.map((item) => isFields(item) ? sidesOf(item) : undefined);
  if (!sides.some((pair) => pair?.response)) return undefined;
  return sides.every((pair) => pair !== undefined) ? sides : undefined;
}

function exchange({ pair, request, response }: Sides): Exchange {
  const headers = headersOf(response?.headers);
  const at = timeOf(pair, request, headers);
  const url = urlOf(request) ?? urlOf(pair);
  return {
    method: String(exact(request.method) ?? "POST").toUpperCase(),
    ...(url !== undefined && { url }),
    requestHeaders: headersOf(request.headers),
    request: requestBody(exact(askedBody(request))),
    status: statusOf(response ?? {}),
    headers,
    body: answerText(() => bodyOf(response ?? {}, pair.chunks), headers["content-encoding"]),
    ...(!Number.isNaN(at) && { at }),
    ...(!response && { unanswered: true as const }),
  };
}

function askedBody(request: Fields): unknown {
  return request.parsed_body ?? request.body ?? request.json ?? request.request_body ??
    (Array.isArray(request.bodyparts) ? request.bodyparts[0] : undefined);
}

/** Hoverfly keeps what a field was as what it must be: `[{ matcher: "exact", value }]`, and `{ exactMatch }` before. */
function exact(field: unknown): unknown {
  if (isFields(field) && "exactMatch" in field) return field.exactMatch;
  if (!Array.isArray(field) || field.length !== 1 || !("matcher" in fieldsOf(field[0]))) return field;
  return fieldsOf(field[0]).value;
}

function urlOf(request: Fields): string | undefined {
  const given = exact(request.url ?? request.uri);
  if (given !== undefined && !isFields(given)) return String(given);
  const parts = isFields(given) ? plainNames(given) : request;
  const [scheme, host, path] = [parts.scheme, parts.destination ?? parts.host, parts.path].map(exact);
  if (path === undefined || path === null) return undefined;
  return typeof host === "string" && host !== "" ? `${scheme ?? "https"}://${host}${path}` : String(path);
}

/** A number, `{ code }`, or a line of text with the code in front. */
function statusOf(response: Fields): number {
  const { status, status_code, statusCode, statuscode, code } = response;
  const beside = status_code ?? statusCode ?? statuscode;
  const given = plainNames(fieldsOf(status)).code ?? beside ?? status ?? code;
  return typeof given === "string" ? Number.parseInt(given, 10) : Number(given);
}

const TIMES = ["recorded_at", "recordedAt", "captured_at", "createdAt", "RecordedAt", "request_created_at"];

function timeOf(pair: Fields, { timestamp }: Fields, { date }: { readonly [name: string]: string }): number {
  const own = TIMES.map((name) => pair[name] ?? fieldsOf(pair.meta)[name]).find((given) => given !== undefined);
  const given = own ?? timestamp ?? pair.timestamp ?? date;
  if (typeof given !== "number") return Date.parse(String(given));
  return given < 1e11 ? given * 1000 : given; // in seconds
}

function bodyOf(response: Fields, chunks: unknown): unknown {
  const { body_raw, bodyRaw, parsed_body, body, encodedBody, binary } = response;
  const whole = body_raw ?? bodyRaw ?? parsed_body ?? body ?? response.json ?? response.data;
  if (encodedBody === true || binary === true) return { b64: whole };
  const pieces = response.chunks ?? chunks ?? response.events;
  if (!Array.isArray(pieces) || (whole !== undefined && whole !== null && whole !== "")) return whole;
  return Buffer.concat(pieces.map(pieceOf));
}

/** A piece of the wire, or one event of the stream: itself, or its JSON with a time beside it. */
function pieceOf(piece: unknown): Uint8Array {
  if (!isFields(piece)) return bytesOf(piece);
  if (typeof piece.type === "string") return Buffer.from(`data: ${JSON.stringify(piece)}\n\n`);
  const { data } = piece;
  if (typeof data !== "string") return bytesOf(piece);
  return Buffer.from(data.startsWith("{") ? `data: ${data}\n\n` : data);
}
