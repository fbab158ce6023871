import { Buffer } from "node:buffer";
import { errorStatus } from "../../http/errors.ts";
import { isObject, type JsonObject, objectOf, parsed } from "../../core/json.ts";
import { hashOf } from "../../runtime/sha256.ts";
import { ImportRefused } from "../../replay/accumulate.ts";
import { beginsAsStream } from "./accumulate.ts";
import { type Exchange, exchangeOf, type RecordingFile } from "./exchange.ts";

/** Reads a file of one format; undefined if it is not one. @throws {ImportRefused} if the file is broken */
type Read = (file: RecordingFile) => Exchange[] | undefined;

/** Every format that can be imported, by its name; the first that recognises a file reads it. */
export const FORMATS: { readonly [name: string]: Read } = {
  // Python's vcrpy and pytest-recording, YAML or JSON; bodies are text, bytes or parsed.
  "vcrpy": (file) => exchangesIn(file, "interactions", (first) => "uri" in first.request && "status" in first.response),

  // Go's: the status is a line of text with the code beside it.
  "go-vcr": (file) => exchangesIn(file, "interactions", (first) => "url" in first.request && "code" in first.response),

  // VCR of Ruby and of R, YAML or JSON: Ruby writes the status as `{ code, message }`, R as a number.
  "ruby-vcr": (file) => exchangesIn(file, "http_interactions"),

  // Rust's: one YAML document per exchange.
  "httpmock": ({ documents = [] }) => {
    const isIts = (document: unknown): document is { when: JsonObject; then: JsonObject } =>
      isObject(document) && isObject(document.when) && isObject(document.then);
    if (documents.length === 0 || !documents.every(isIts)) return undefined;
    return documents.map(({ when, then }) =>
      exchangeIn({
        request: { method: when.method, url: when.path, headers: when.header, body: when.json_body ?? when.body },
        response: { status: then.status ?? 200, headers: then.header, body: then.json_body ?? then.body },
        entry: {},
      })
    );
  },

  // Braintrust's, JSON: bodies say what kind they are, and a stream is a list of events.
  "seinfeld": (file) => {
    const entries = sidesIn(file, "entries", ({ entry }) => "matchKey" in entry);
    if (!entries) return undefined;
    const { version = 1 } = topOf(file)!;
    if (version !== 1) throw new ImportRefused(`it is version ${version} of seinfeld, and only version 1 is supported`);
    return inCallOrder(entries).map(({ request, response, entry }) =>
      exchangeIn(
        { request: { ...request, body: seinfeldBody(objectOf(request.body), file) }, response, entry },
        () => seinfeldBody(objectOf(response.body), file),
      )
    );
  },

  // Its http-recorder, JSON: bodies as text.
  "opencode": (file) =>
    sidesIn(file, "interactions", ({ request, response }) => "url" in request && typeof response.status === "number")
      ?.map((sides) => exchangeIn({ ...sides, entry: objectOf(topOf(file)!.metadata) })),

  // Its recorder, JSON: flat objects; a compressed response is a list of chunks in hexadecimal digits.
  "nock": ({ json }) => {
    const isIts = (item: unknown) => isObject(item) && "scope" in item && "method" in item && "path" in item;
    if (!Array.isArray(json) || json.length === 0 || !json.every(isIts)) return undefined;
    return (json as JsonObject[]).map(({ method, scope, path, reqheaders, body, status, rawHeaders, response }) =>
      exchangeIn({
        request: { method, url: `${scope}${path}`, headers: reqheaders, body },
        response: { status: status ?? 200, headers: rawHeaders },
        entry: {},
      }, () => isHexList(response) ? Buffer.from(response.join(""), "hex") : response)
    );
  },

  // HTTP archives, as browsers and Polly.js write them.
  "har": (file) => {
    const entries = listIn(objectOf(topOf(file)?.log), "entries");
    if (!entries?.some((entry) => "response" in entry)) return undefined;
    return entries.map(sidesOf).map(({ request, response, entry }) =>
      exchangeIn({
        request: { ...request, body: objectOf(request.postData).text },
        response: { ...response, status: response.status ?? 0 },
        entry,
      }, () => harBody(objectOf(response.content)))
    );
  },

  // Datadog's test agent: one exchange per file.
  "ddapm-json": (file) => {
    const sides = sidesOf(topOf(file) ?? {});
    return "url" in sides.request && isObject(sides.response.status) ? [exchangeIn(sides)] : undefined;
  },

  // LangChain's: requests and responses in two lists.
  "langchain-gz": (file) => {
    const [requests, responses] = ["requests", "responses"].map((key) => listIn(topOf(file), key));
    if (!requests || !responses) return undefined;
    if (requests.length !== responses.length) {
      throw new ImportRefused(`it has ${requests.length} requests and ${responses.length} responses`);
    }
    return requests.map((request, i) => exchangeIn({ request, response: responses[i]!, entry: {} }));
  },

  // The body of a response that was not streamed, as the AI SDK keeps it.
  "vercel-json": ({ json }) => {
    const { type, content, error, object, choices, output } = objectOf(json);
    const isError = type === "error" && isObject(error);
    const isAnswer = (type === "message" && Array.isArray(content)) ||
      (object === "chat.completion" && Array.isArray(choices)) || (object === "response" && Array.isArray(output));
    if (!isError && !isAnswer) return undefined;
    const status = isError ? errorStatus(objectOf(error).type) : 200;
    return [responseOnly(status, JSON.stringify(json), "application/json")];
  },

  // The events of one stream, one line of JSON each, as the AI SDK keeps them.
  "vercel-chunks": ({ lines = [] }) => {
    const kinds = lines.map((line) => objectOf(line).type ?? objectOf(line).object);
    const begins = /^(message_start|error|response\.\w+|chat\.completion\.chunk)$/;
    if (!kinds.every((kind) => typeof kind === "string") || !kinds.some((kind) => begins.test(kind))) return undefined;
    return [
      responseOnly(200, lines.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(""), "text/event-stream"),
    ];
  },

  // The text of one stream.
  "raw-sse": ({ text }) => beginsAsStream(text) ? [responseOnly(200, text, "text/event-stream")] : undefined,
};

function responseOnly(status: number, body: string, type: string): Exchange {
  return { method: "POST", requestHeaders: {}, status, headers: { "content-type": type }, body: () => body };
}

/** The two sides of a recorded entry, and the entry itself. */
interface Sides {
  readonly request: JsonObject;
  readonly response: JsonObject;
  readonly entry: JsonObject;
}

function sidesOf(entry: JsonObject): Sides {
  return { request: objectOf(entry.request), response: objectOf(entry.response), entry };
}

/** A list of requests with their responses; undefined if there is none of the kind. */
function sidesIn(file: RecordingFile, key: string, isIts: (first: Sides) => boolean): Sides[] | undefined {
  const list = listIn(topOf(file), key);
  const [first] = list ?? [];
  const has = isObject(first?.request) && isObject(first.response) && isIts(sidesOf(first));
  return has ? list!.map(sidesOf) : undefined;
}

function exchangesIn(file: RecordingFile, key: string, isIts: (first: Sides) => boolean = () => true) {
  return sidesIn(file, key, isIts)?.map((sides) => exchangeIn(sides));
}

/** An exchange by the names that recorders give to its parts; `ownBody` if the response has its own form. */
function exchangeIn({ request, response, entry }: Sides, ownBody?: () => unknown): Exchange {
  const { code, status_code } = objectOf(response.status);
  const { body, bodyEncoding, parsed_body = body } = response;
  return exchangeOf({
    method: request.method,
    url: request.uri ?? request.url ?? "",
    requestHeaders: request.headers,
    request: request.parsed_body ?? request.body,
    status: code ?? status_code ?? response.code ?? response.status,
    headers: response.headers,
    body: ownBody ?? (() => bodyEncoding === "base64" ? { base64_string: body } : parsed_body),
    at: entry.recorded_at ?? entry.recordedAt ?? entry.startedDateTime,
    took: goMilliseconds(response.duration) ?? entry.time,
  });
}

const GO_UNITS: { readonly [unit: string]: number } = { ns: 1e-6, "µs": 1e-3, ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/** A duration as Go prints it: `1m2.5s`, `968.753458ms`. */
function goMilliseconds(duration: unknown): number | undefined {
  const parts = [...String(duration ?? "").matchAll(/([\d.]+)(ns|µs|ms|s|m|h)/g)];
  return parts.length === 0 ? undefined : parts.reduce((sum, [, n, unit]) => sum + Number(n) * GO_UNITS[unit!]!, 0);
}

/** Entries with the same key are numbered. */
function inCallOrder(entries: readonly Sides[]): readonly Sides[] {
  const oneKey = new Set(entries.map(({ entry }) => entry.matchKey)).size === 1;
  return oneKey ? entries.toSorted((a, b) => Number(a.entry.callIndex) - Number(b.entry.callIndex)) : entries;
}

function seinfeldBody({ kind, value, chunks, path, sha256: hash }: JsonObject, { beside }: RecordingFile): unknown {
  const bodies: { readonly [kind: string]: () => unknown } = {
    empty: () => undefined,
    json: () => Buffer.from(JSON.stringify(value ?? null)),
    base64: () => ({ base64_string: value }),
    sse: () => (Array.isArray(chunks) ? chunks : []).map((chunk) => `${chunk}\n\n`).join(""),
    text: () => value,
    binary: () => blob(String(path), hash, beside),
  };
  if (Object.hasOwn(bodies, String(kind))) return bodies[String(kind)]!();
  throw new ImportRefused(`it has a body of kind '${kind}', which is not supported`);
}

/** A body in a file of its own, which is known by the hash of its bytes. */
function blob(path: string, hash: unknown, beside: RecordingFile["beside"]): Uint8Array {
  const bytes = beside?.(path);
  if (!bytes) throw new ImportRefused(`the file of one of its bodies is not beside it: copy '${path}' there too`);
  if (hashOf(bytes) === hash) return Buffer.from(bytes);
  throw new ImportRefused(`'${path}' beside it has other bytes than were recorded: copy it again`);
}

function isHexList(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((part) => typeof part === "string" && /^([0-9a-f]{2})+$/i.test(part));
}

/** Polly.js writes a compressed body as a JSON list of pieces in base64. */
function harBody({ text, encoding }: JsonObject): unknown {
  if (encoding !== "base64") return text;
  const pieces = parsed(String(text));
  return Array.isArray(pieces)
    ? Buffer.concat(pieces.map((piece) => Buffer.from(String(piece), "base64")))
    : { base64_string: text };
}

/** The JSON value or the only YAML document of a file, if it is an object. */
function topOf({ json, documents }: RecordingFile): JsonObject | undefined {
  const value = json ?? (documents?.length === 1 ? documents[0] : undefined);
  return isObject(value) ? value : undefined;
}

function listIn(value: JsonObject | undefined, key: string): readonly JsonObject[] | undefined {
  const list = value?.[key];
  return Array.isArray(list) && list.every(isObject) ? list : undefined;
}
