import { Buffer } from "node:buffer";
import { errorStatus } from "../../http/errors.ts";
import { isObject, parsed } from "../../core/json.ts";
import { beginsAsStream } from "./accumulate.ts";
import {
  type Exchange,
  exchangeOf,
  type Format,
  ImportRefused,
  type JsonObject,
  objectOf,
  type RecordingFile,
} from "./exchange.ts";

/** A list of requests with their responses. */
function listed(name: string, key: string, isIts: (first: Sides) => boolean): Format {
  return {
    name,
    recognises: (file) => {
      const first = listIn(topOf(file), key)?.[0];
      return isObject(first?.request) && isObject(first.response) && isIts(sidesOf(first));
    },
    read: (file) => sidesIn(file, key).map((sides) => exchangeIn(sides)),
  };
}

/** Python's vcrpy and pytest-recording, YAML or JSON; bodies are text, bytes or parsed. */
const vcrpy = listed("vcrpy", "interactions", ({ request, response }) => "uri" in request && "status" in response);

/** Go's go-vcr: the status is a line of text with the code beside it. */
const goVcr = listed("go-vcr", "interactions", ({ request, response }) => "url" in request && "code" in response);

/** VCR of Ruby and of R, YAML or JSON: Ruby writes the status as `{ code, message }`, R as a number. */
const rubyVcr = listed("ruby-vcr", "http_interactions", () => true);

/** LangChain's: requests and responses in two lists. */
const langchain: Format = {
  name: "langchain-gz",
  recognises: (file) => listIn(topOf(file), "requests") !== undefined && listIn(topOf(file), "responses") !== undefined,
  read: (file) => {
    const requests = listIn(topOf(file), "requests")!;
    const responses = listIn(topOf(file), "responses")!;
    if (requests.length !== responses.length) {
      throw new ImportRefused(`it has ${requests.length} requests and ${responses.length} responses`);
    }
    return requests.map((request, i) => exchangeIn({ request, response: responses[i]!, entry: {} }));
  },
};

/** Datadog's test agent: one exchange per file. */
const ddapm: Format = {
  name: "ddapm-json",
  recognises: (file) => {
    const { request, response } = objectOf(topOf(file));
    return isObject(request) && "url" in request && isObject(response) && isObject(response.status);
  },
  read: (file) => [exchangeIn(sidesOf(topOf(file)!))],
};

/** An exchange by the names that recorders give to its parts; `body` if the response has its own form. */
function exchangeIn({ request, response, entry }: Sides, body = () => bodyIn(response)): Exchange {
  const { code, status_code } = objectOf(response.status);
  return exchangeOf({
    method: request.method,
    url: request.uri ?? request.url ?? "",
    requestHeaders: request.headers,
    request: request.parsed_body ?? request.body,
    status: code ?? status_code ?? response.code ?? response.status,
    headers: response.headers,
    body,
    at: entry.recorded_at ?? entry.recordedAt ?? entry.startedDateTime,
    took: goMilliseconds(response.duration) ?? entry.time,
  });
}

function bodyIn({ body, bodyEncoding, parsed_body }: JsonObject): unknown {
  return bodyEncoding === "base64" ? { base64_string: body } : parsed_body ?? body;
}

const GO_UNITS: { readonly [unit: string]: number } = { ns: 1e-6, "µs": 1e-3, ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/** A duration as Go prints it: `1m2.5s`, `968.753458ms`. */
function goMilliseconds(duration: unknown): number | undefined {
  const parts = [...String(duration ?? "").matchAll(/([\d.]+)(ns|µs|ms|s|m|h)/g)];
  return parts.length === 0 ? undefined : parts.reduce((sum, [, n, unit]) => sum + Number(n) * GO_UNITS[unit!]!, 0);
}

/** Rust's httpmock: one YAML document per exchange. */
const httpmock: Format = {
  name: "httpmock",
  recognises: ({ documents }) =>
    documents !== undefined && documents.length > 0 &&
    documents.every((d) => isObject(d) && isObject(d.when) && isObject(d.then)),
  read: ({ documents }) =>
    documents!.map((document) => {
      const { when, then } = document as { when: JsonObject; then: JsonObject };
      return exchangeOf({
        method: when.method,
        url: when.path ?? "",
        requestHeaders: when.header,
        request: when.json_body ?? when.body,
        status: then.status ?? 200,
        headers: then.header,
        body: () => then.json_body ?? then.body,
      });
    }),
};

/** Braintrust's seinfeld, JSON: bodies say what kind they are, and a stream is a list of events. */
const seinfeld: Format = {
  ...listed("seinfeld", "entries", ({ entry }) => "matchKey" in entry),
  read: (file) => {
    const { version = 1 } = topOf(file)!;
    if (version !== 1) throw new ImportRefused(`it is version ${version} of seinfeld, and only version 1 is supported`);
    return inCallOrder(sidesIn(file, "entries")).map(({ request, response, entry }) =>
      exchangeIn(
        { request: { ...request, body: seinfeldBody(objectOf(request.body)) }, response, entry },
        () => seinfeldBody(objectOf(response.body)),
      )
    );
  },
};

/** Entries with the same key are numbered. */
function inCallOrder(entries: readonly Sides[]): readonly Sides[] {
  const oneKey = new Set(entries.map(({ entry }) => entry.matchKey)).size === 1;
  return oneKey ? entries.toSorted((a, b) => Number(a.entry.callIndex) - Number(b.entry.callIndex)) : entries;
}

function seinfeldBody({ kind, value, chunks }: JsonObject): unknown {
  switch (kind) {
    case "empty":
      return undefined;
    case "json":
      return Buffer.from(JSON.stringify(value ?? null));
    case "base64":
      return { base64_string: value };
    case "sse":
      return (Array.isArray(chunks) ? chunks : []).map((chunk) => `${chunk}\n\n`).join("");
    case "text":
      return value;
    default:
      throw new ImportRefused(`it has a body of kind '${kind}', which is not supported`);
  }
}

/** opencode's http-recorder, JSON: bodies as text. */
const opencode: Format = {
  ...listed(
    "opencode",
    "interactions",
    ({ request, response }) => "url" in request && typeof response.status === "number",
  ),
  read: (file) =>
    sidesIn(file, "interactions").map((sides) => exchangeIn({ ...sides, entry: objectOf(topOf(file)!.metadata) })),
};

/** nock's recorder, JSON: flat objects; a compressed response is a list of chunks in hexadecimal digits. */
const nock: Format = {
  name: "nock",
  recognises: ({ json }) =>
    Array.isArray(json) && json.length > 0 &&
    json.every((item) => isObject(item) && "scope" in item && "method" in item && "path" in item),
  read: ({ json }) =>
    (json as JsonObject[]).map((item) =>
      exchangeOf({
        method: item.method,
        url: `${item.scope}${item.path}`,
        requestHeaders: item.reqheaders,
        request: item.body,
        status: item.status ?? 200,
        headers: item.rawHeaders,
        body: () => isHexList(item.response) ? Buffer.from(item.response.join(""), "hex") : item.response,
      })
    ),
};

function isHexList(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((part) => typeof part === "string" && /^([0-9a-f]{2})+$/i.test(part));
}

/** HTTP archives, as browsers and Polly.js write them. */
const har: Format = {
  name: "har",
  recognises: (file) => listIn(objectOf(topOf(file)?.log), "entries")?.some((entry) => "response" in entry) ?? false,
  read: (file) =>
    listIn(objectOf(topOf(file)!.log), "entries")!.map(sidesOf).map(({ request, response, entry }) =>
      exchangeIn({
        request: { ...request, body: objectOf(request.postData).text },
        response: { ...response, status: response.status ?? 0 },
        entry,
      }, () => harBody(objectOf(response.content)))
    ),
};

/** Polly.js writes a compressed body as a JSON list of pieces in base64. */
function harBody({ text, encoding }: JsonObject): unknown {
  if (encoding !== "base64") return text;
  const pieces = parsed(String(text));
  return Array.isArray(pieces)
    ? Buffer.concat(pieces.map((piece) => Buffer.from(String(piece), "base64")))
    : { base64_string: text };
}

/** The body of a response that was not streamed, as the AI SDK keeps it. */
const vercelJson: Format = {
  name: "vercel-json",
  recognises: ({ json }) => {
    const { type, content, error, object, choices, output } = objectOf(json);
    if ((object === "chat.completion" && Array.isArray(choices)) || (object === "response" && Array.isArray(output))) {
      return true;
    }
    return (type === "message" && Array.isArray(content)) || (type === "error" && isObject(error));
  },
  read: ({ json }) => {
    const { type, error } = json as JsonObject;
    const status = type === "error" ? errorStatus(objectOf(error).type) : 200;
    return [responseOnly(status, JSON.stringify(json), "application/json")];
  },
};

/** The events of one stream, one line of JSON each, as the AI SDK keeps them. */
const vercelChunks: Format = {
  name: "vercel-chunks",
  recognises: ({ lines }) =>
    lines !== undefined && lines.every((line) => isObject(line) && typeof (line.type ?? line.object) === "string") &&
    lines.some((line) => /^(message_start|error|response\.\w+|chat\.completion\.chunk)$/.test(kindOf(line))),
  read: ({ lines }) => [
    responseOnly(200, lines!.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(""), "text/event-stream"),
  ],
};

function kindOf(line: unknown): string {
  const { type, object } = objectOf(line);
  return String(type ?? object);
}

/** The text of one stream. */
const rawSse: Format = {
  name: "raw-sse",
  recognises: ({ text }) => beginsAsStream(text),
  read: ({ text }) => [responseOnly(200, text, "text/event-stream")],
};

function responseOnly(status: number, body: string, type: string): Exchange {
  return { method: "POST", requestHeaders: {}, status, headers: { "content-type": type }, body: () => body };
}

/** Every format that can be imported; the first that recognises a file reads it. */
export const FORMATS: readonly Format[] = [
  vcrpy,
  goVcr,
  rubyVcr,
  httpmock,
  seinfeld,
  opencode,
  nock,
  har,
  ddapm,
  langchain,
  vercelJson,
  vercelChunks,
  rawSse,
];

/** The two sides of a recorded entry, and the entry itself. */
interface Sides {
  readonly request: JsonObject;
  readonly response: JsonObject;
  readonly entry: JsonObject;
}

function sidesOf(entry: JsonObject): Sides {
  return { request: objectOf(entry.request), response: objectOf(entry.response), entry };
}

function sidesIn(file: RecordingFile, key: string): Sides[] {
  return listIn(topOf(file), key)!.map(sidesOf);
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
