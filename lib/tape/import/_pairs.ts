import { Buffer } from "node:buffer";
import { answerText, bytesOf, headersOf, requestBody } from "./_body.ts";
import { type Exchange, type Fields, fieldsOf, type Format, isFields, type Opened } from "./exchange.ts";

/**
 * Requests with their responses, as many recorders write them under names of their own: exvcr, Hoverfly, Mastra,
 * ReqLLM, claude-trace and whatever a team has made for itself.
 */
export const pairs: Format = {
  name: "pairs",
  about: "requests with their responses, in one JSON or YAML value or one a line",
  recognises: (file) => pairsIn(file) !== undefined,
  read: (file) => pairsIn(file)!.map(exchange),
};

function pairsIn({ json, lines, documents }: Opened): readonly Fields[] | undefined {
  if (lines) return allPairs(lines);
  const top = json ?? (documents?.length === 1 ? documents[0] : documents);
  if (!isFields(top)) return allPairs(top);
  const lists = [[top], ...Object.values(top), ...Object.values(fieldsOf(top.data))];
  return lists.map(allPairs).find((list) => list !== undefined);
}

function allPairs(list: unknown): readonly Fields[] | undefined {
  if (!Array.isArray(list) || !list.some((item) => isFields(item) && isFields(item.response))) return undefined;
  return list.every(isPair) ? list : undefined;
}

function isPair(item: unknown): item is Fields {
  if (!isFields(item) || !("response" in item)) return false;
  return isFields(item.request) || isFields(item.requestBody);
}

function exchange(pair: Fields): Exchange {
  const request = isFields(pair.request) ? pair.request : { body: pair.requestBody };
  const response = fieldsOf(pair.response);
  const headers = headersOf(response.headers);
  const at = timeOf(pair, request, headers);
  const url = urlOf(request);
  return {
    method: String(exact(request.method) ?? "POST").toUpperCase(),
    ...(url !== undefined && { url }),
    requestHeaders: headersOf(request.headers),
    request: requestBody(exact(request.parsed_body ?? request.body ?? request.json ?? request.request_body)),
    status: Number(fieldsOf(response.status).code ?? response.status ?? response.status_code ?? response.statusCode),
    headers,
    body: answerText(() => bodyOf(response, pair.chunks), headers["content-encoding"]),
    ...(!Number.isNaN(at) && { at }),
    ...(!isFields(pair.response) && { unanswered: true as const }),
  };
}

/** Hoverfly keeps what a field was as what it must be: `[{ matcher: "exact", value }]`, and `{ exactMatch }` before. */
function exact(field: unknown): unknown {
  if (isFields(field) && "exactMatch" in field) return field.exactMatch;
  if (!Array.isArray(field) || field.length !== 1 || !("matcher" in fieldsOf(field[0]))) return field;
  return fieldsOf(field[0]).value;
}

function urlOf(request: Fields): string | undefined {
  const given = exact(request.url ?? request.uri);
  if (given !== undefined) return String(given);
  const [scheme, host, path] = [request.scheme, request.destination ?? request.host, request.path].map(exact);
  if (path === undefined) return undefined;
  return typeof host === "string" && host !== "" ? `${scheme ?? "https"}://${host}${path}` : String(path);
}

function timeOf(pair: Fields, { timestamp }: Fields, { date }: { readonly [name: string]: string }): number {
  const given = pair.recorded_at ?? pair.recordedAt ?? pair.captured_at ?? timestamp ?? pair.timestamp ?? date;
  if (typeof given !== "number") return Date.parse(String(given));
  return given < 1e11 ? given * 1000 : given; // in seconds
}

function bodyOf(response: Fields, chunks: unknown): unknown {
  const { body_raw, bodyRaw, parsed_body, body, encodedBody, binary } = response;
  const whole = body_raw ?? bodyRaw ?? parsed_body ?? body ?? response.json;
  if (encodedBody === true || binary === true) return { b64: whole };
  const pieces = response.chunks ?? chunks ?? response.events;
  if (!Array.isArray(pieces) || (whole !== undefined && whole !== null && whole !== "")) return whole;
  return Buffer.concat(pieces.map(pieceOf));
}

/** A piece of the wire, or one event of the stream. */
function pieceOf(piece: unknown): Uint8Array {
  return isFields(piece) && typeof piece.type === "string"
    ? Buffer.from(`data: ${JSON.stringify(piece)}\n\n`)
    : bytesOf(piece);
}
