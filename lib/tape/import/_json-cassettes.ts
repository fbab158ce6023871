import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { exchangeOf } from "./_written.ts";
import {
  type Beside,
  type Exchange,
  type Fields,
  fieldsOf,
  type Format,
  ImportRefused,
  isFields,
  listOf,
  topOf,
} from "./exchange.ts";

/**
 * Braintrust's seinfeld: entries whose bodies say what kind they are; a stream is kept event by event, and what is long
 * in a file beside the cassette. Newer ones say no version.
 */
export const seinfeld: Format = {
  name: "seinfeld",
  about: "Braintrust's seinfeld, JSON",
  recognises: (file) => {
    const first = listOf(topOf(file), "entries")?.[0];
    return isFields(first?.request) && isFields(first.response) &&
      ("matchKey" in first || "kind" in fieldsOf(first.response.body));
  },
  read: (file) => {
    const top = topOf(file)!;
    if ((top.version ?? 1) !== 1) {
      throw new ImportRefused(`it is version ${top.version} of seinfeld, and only 1 is known`);
    }
    const body = (given: unknown) => seinfeldBody(fieldsOf(given), file.beside);
    return inCallOrder(listOf(top, "entries")!).map((entry) => exchange(entry, { body, at: entry.recordedAt }));
  },
};

/** Entries are kept by key; calls of one key are counted. */
function inCallOrder(entries: readonly Fields[]): readonly Fields[] {
  const oneKey = new Set(entries.map((e) => e.matchKey)).size === 1;
  return oneKey ? [...entries].sort((a, b) => Number(a.callIndex) - Number(b.callIndex)) : entries;
}

function seinfeldBody({ kind, value, chunks, path, sha256 }: Fields, beside: Beside | undefined): unknown {
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
    case "binary":
      return blob(String(path), sha256, beside);
    default:
      throw new ImportRefused(`a body of it is of kind '${kind}', which is not known`);
  }
}

/** Only what has the right hash is the body: a cassette could name any file that lies beside it. */
function blob(path: string, sha256: unknown, beside: Beside | undefined): Uint8Array {
  const bytes = beside?.(".", path);
  if (bytes && createHash("sha256").update(bytes).digest("hex") === sha256) return bytes;
  throw new ImportRefused(`a body of it is in another file that is ${bytes ? "another by now" : "not there"}: ${path}`);
}

/** opencode's http-recorder: interactions with a transport, bodies as text. */
export const opencode: Format = {
  name: "opencode",
  about: "opencode's http-recorder, JSON",
  recognises: (file) => {
    const first = listOf(topOf(file), "interactions")?.[0];
    return isFields(first?.request) && isFields(first.response) && "url" in first.request &&
      typeof first.response.status === "number";
  },
  read: (file) => {
    const top = topOf(file)!;
    const at = fieldsOf(top.metadata).recordedAt;
    return listOf(top, "interactions")!
      .filter(({ transport }) => transport === undefined || transport === "http")
      .map((interaction) => exchange(interaction, { body: (body, side) => encoded(body, side), at }));
  },
};

function encoded(body: unknown, { bodyEncoding }: Fields): unknown {
  return bodyEncoding === "base64" ? { base64_string: body } : body;
}

/** nock's recorder: flat objects; an answer that was compressed is a list of chunks in hexadecimal digits. */
export const nock: Format = {
  name: "nock",
  about: "nock's recordings, JSON",
  recognises: ({ json }) =>
    Array.isArray(json) && json.length > 0 &&
    json.every((item) => isFields(item) && "scope" in item && "method" in item && "path" in item),
  read: ({ json }) =>
    (json as Fields[]).map((item) =>
      exchangeOf({
        method: item.method,
        url: `${item.scope}${item.path}`,
        requestHeaders: item.reqheaders,
        request: item.body,
        status: item.status ?? 200,
        headers: item.rawHeaders ?? item.headers,
        body: () => nockBody(item.response, item.responseIsBinary),
      })
    ),
};

function nockBody(response: unknown, binary: unknown): unknown {
  const hex = (text: unknown) => typeof text === "string" && /^([0-9a-f]{2})+$/i.test(text);
  if (Array.isArray(response) && response.every(hex)) return Buffer.from(response.join(""), "hex");
  return binary === true && hex(response) ? Buffer.from(response as string, "hex") : response;
}

interface Reading {
  readonly body: (body: unknown, side: Fields) => unknown;
  readonly at: unknown;
}

function exchange(entry: Fields, reading: Reading): Exchange {
  const request = fieldsOf(entry.request);
  const response = fieldsOf(entry.response);
  return exchangeOf({
    method: request.method,
    url: String(request.url ?? ""),
    requestHeaders: request.headers,
    request: readable(() => reading.body(request.body, request)),
    status: response.status,
    headers: response.headers,
    body: () => reading.body(response.body, response),
    at: reading.at,
  });
}

/** A request whose body is elsewhere is one that was not recorded. */
function readable(read: () => unknown): unknown {
  try {
    return read();
  } catch (error) {
    if (error instanceof ImportRefused) return undefined;
    throw error;
  }
}
