import { brotliCompressSync, deflateSync, gunzipSync, gzipSync } from "node:zlib";
import { parseAllDocuments, stringify } from "yaml";

/** What an answer says, found without a reader of any format: by walking all that a file holds. */
export type Said = { readonly message: any } | { readonly error: any } | { readonly broken: string };

/** Every answer of a recording in the order of the file, whatever its format. */
export function answersIn(bytes: Uint8Array): Said[] {
  const text = new TextDecoder().decode(bytes[0] === 0x1f ? gunzipSync(bytes) : bytes);
  const found: Said[] = [];
  const lines = text.trim().split("\n");
  if (lines.every((line) => json(line)?.type)) return [folded(lines.map(json))];
  const whole = json(text);
  if (whole !== undefined) walk(whole, found);
  else if (/^(event|data):/.test(text)) walk(text, found);
  else {
    const tag = { tag: "!binary", resolve: (value: string) => Buffer.from(value, "base64") };
    for (const document of parseAllDocuments(text, { customTags: ["binary", tag], logLevel: "silent" })) {
      walk(document.toJS(), found);
    }
  }
  return found;
}

function walk(value: any, found: Said[]): void {
  if (typeof value === "string" || value instanceof Uint8Array) return fromText(value, found);
  if (typeof value !== "object" || value === null) return;
  if (value.type === "message" && value.usage) return void found.push({ message: value });
  if (value.type === "error" && value.error) return void found.push({ error: value.error });
  for (const part of Object.values(value)) walk(part, found);
}

function fromText(value: string | Uint8Array, found: Said[]): void {
  const text = typeof value === "string"
    ? value
    : (value[0] === 0x1f ? gunzipSync(value) : Buffer.from(value)).toString();
  if (/"type": ?"message_start"/.test(text)) {
    const data = [...text.matchAll(/^data:(.*)$/gm)].map(([, line]) => json(line!)).filter((event) =>
      event !== undefined
    );
    return void found.push(folded(data));
  }
  const inner = json(text);
  if (typeof inner === "object") walk(inner, found);
}

function json(text: string): any {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** One message of its events, by the words of the API's documentation. */
function folded(events: readonly any[]): Said {
  const starts = events.filter((event) => event.type === "message_start");
  if (starts.length !== 1) return { broken: `${starts.length} starts` };
  const message = structuredClone(starts[0].message);
  const texts: Record<number, string> = {};
  for (const { type, index, content_block, delta, usage } of events) {
    if (type === "content_block_start") message.content[index] = structuredClone(content_block);
    if (type === "content_block_start" && content_block.to) message.model = content_block.to.model;
    if (type === "message_delta") {
      Object.assign(message, delta);
      for (const [key, count] of Object.entries(usage ?? {})) if (count !== null) message.usage[key] = count;
    }
    if (type !== "content_block_delta") continue;
    const block = message.content[index];
    if (delta.type === "text_delta") block.text += delta.text;
    if (delta.type === "thinking_delta") block.thinking += delta.thinking;
    if (delta.type === "signature_delta") block.signature = delta.signature;
    if (delta.type === "citations_delta") block.citations = [...block.citations ?? [], delta.citation];
    if (delta.type === "compaction_delta") block.content = delta.content;
    if (delta.type === "input_json_delta") texts[index] = (texts[index] ?? "") + delta.partial_json;
  }
  for (const [index, text] of Object.entries(texts)) {
    if (text !== "") message.content[index].input = json(text) ?? { unparsed: text };
  }
  return { message };
}

/** One call to be written down. */
export interface Written {
  readonly request: object;
  readonly status: number;
  readonly type: string;
  readonly body: string;
}

const URL = "https://api.anthropic.com/v1/messages";

/** How each tool would write calls down; every form of a body that its format has is one entry. */
export const WRITERS: { readonly [format: string]: ((calls: readonly Written[]) => Uint8Array)[] } = {
  vcrpy: [
    (calls) => python(calls, ({ body }) => ({ string: body })),
    (calls) => python(calls, ({ body }) => ({ string: gzipSync(body) }), "gzip"),
    (calls) => python(calls, ({ body }) => ({ string: body }), "gzip"),
    (calls) => python(calls, ({ body }) => ({ string: brotliCompressSync(body) }), "br"),
    (calls) => python(calls, ({ body }) => ({ string: deflateSync(body) }), "deflate"),
    (calls) => bytes(JSON.stringify({ version: 1, interactions: calls.map((c) => interaction(c, inBase64(c.body))) })),
  ],
  "langchain-gz": [(calls) =>
    gzipSync(yaml11({
      requests: calls.map((c) => ({
        body: Buffer.from(JSON.stringify(c.request)),
        method: "POST",
        uri: URL,
        headers: {},
      })),
      responses: calls.map((c) => ({
        body: { string: Buffer.from(c.body) },
        headers: { "Content-Type": "**REDACTED**" },
        status: { code: c.status, message: "" },
      })),
    }))],
  "ruby-vcr": [
    (calls) => ruby(calls, ({ body }) => ({ encoding: "UTF-8", string: body })),
    (calls) => ruby(calls, ({ body }) => ({ encoding: "ASCII-8BIT", string: Buffer.from(body).toString("latin1") })),
    (calls) => ruby(calls, ({ body }) => ({ encoding: "ASCII-8BIT", ...inBase64(body) })),
  ],
  "go-vcr": [(calls) =>
    bytes(stringify({
      version: 2,
      interactions: calls.map((c, id) => ({
        id,
        request: { body: JSON.stringify(c.request), url: URL, method: "POST", headers: {} },
        response: { body: c.body, headers: {}, status: `${c.status} OK`, code: c.status, duration: "1m2.5s" },
      })),
    }))],
  httpmock: [(calls) =>
    bytes(
      calls.map((c) =>
        stringify({
          when: {
            path: "/v1/messages",
            method: "POST",
            header: [{ name: "anthropic-version", value: "2023-06-01" }],
            body: JSON.stringify(c.request),
          },
          then: { status: c.status, header: [{ name: "content-type", value: c.type }], body: c.body },
        })
      ).join("---\n"),
    )],
  seinfeld: [
    (calls) => seinfeld(calls, ({ body }) => ({ kind: "text", value: body })),
    (calls) => seinfeld(calls, ({ body }) => ({ kind: "base64", value: Buffer.from(body).toString("base64") })),
    (calls) =>
      seinfeld(
        calls,
        ({ body, type }) =>
          /stream/.test(type)
            ? { kind: "sse", chunks: body.replace(/\r\n?/g, "\n").split("\n\n").filter((chunk) => chunk !== "") }
            : { kind: "json", value: JSON.parse(body) },
      ),
  ],
  opencode: [(calls) =>
    bytes(JSON.stringify({
      version: 1,
      metadata: { recordedAt: "2026-05-11T01:52:54.319Z" },
      interactions: calls.map((c) => ({
        transport: "http",
        request: { method: "POST", url: URL, headers: {}, body: JSON.stringify(c.request) },
        response: { status: c.status, headers: { "content-type": c.type }, body: c.body },
      })),
    }))],
  nock: [
    (calls) => nock(calls, ({ body, type }) => /json/.test(type) ? JSON.parse(body) : body),
    (calls) => nock(calls, ({ body }) => [gzipSync(body).toString("hex")]),
  ],
  har: [
    (calls) => archive(calls, (text) => ({ text })),
    (calls) => archive(calls, (text) => ({ encoding: "base64", text: Buffer.from(text).toString("base64") })),
    (calls) => archive(calls, (text) => ({ encoding: "base64", text: pieces(gzipSync(text), "base64") }), "gzip"),
    (calls) => archive(calls, (text) => ({ _isBinary: true, text: pieces(gzipSync(text), "hex") }), "gzip"),
  ],
};

function archive(calls: readonly Written[], content: (body: string) => object, encoding?: string): Uint8Array {
  const coding = encoding === undefined ? [] : [{ name: "content-encoding", value: encoding }];
  return bytes(JSON.stringify({
    log: {
      version: "1.2",
      creator: { name: "Polly.JS", version: "6.0.6" },
      entries: calls.map((c) => ({
        startedDateTime: "2026-04-28T23:04:55.016Z",
        time: 12.5,
        request: {
          method: "POST",
          url: `${URL}?beta=true`,
          headers: [{ name: "anthropic-version", value: "2023-06-01" }],
          postData: { mimeType: "application/json", text: JSON.stringify(c.request) },
        },
        response: {
          status: c.status,
          headers: [{ name: "content-type", value: c.type }, ...coding],
          content: { mimeType: c.type, size: 1, ...content(c.body) },
        },
      })),
    },
  }));
}

function python(calls: readonly Written[], body: (call: Written) => object, encoding?: string): Uint8Array {
  return bytes(yaml11({ interactions: calls.map((c) => interaction(c, body(c), encoding)), version: 1 }));
}

function interaction(call: Written, body: object, encoding?: string): object {
  const coding = encoding === undefined ? {} : { "Content-Encoding": [encoding] };
  return {
    request: { body: JSON.stringify(call.request), headers: { Accept: ["*/*"] }, method: "POST", uri: URL },
    response: { body, headers: { "Content-Type": [call.type], ...coding }, status: { code: call.status, message: "" } },
  };
}

function ruby(calls: readonly Written[], body: (call: Written) => object): Uint8Array {
  return bytes(yaml11({
    http_interactions: calls.map((c) => ({
      request: {
        method: "post",
        uri: URL,
        body: { encoding: "UTF-8", string: JSON.stringify(c.request) },
        headers: {},
      },
      response: { status: { code: c.status, message: "" }, headers: { "Content-Type": [c.type] }, body: body(c) },
      recorded_at: "Wed, 19 Aug 2026 14:34:52 GMT",
    })),
    recorded_with: "VCR 6.4.0",
  }));
}

function seinfeld(calls: readonly Written[], body: (call: Written) => object): Uint8Array {
  return bytes(JSON.stringify({
    version: 1,
    entries: calls.map((c, callIndex) => ({
      id: String(callIndex),
      matchKey: "POST api.anthropic.com/v1/messages",
      callIndex,
      recordedAt: "2026-04-28T23:04:55.016Z",
      request: { method: "POST", url: URL, headers: {}, body: { kind: "json", value: c.request } },
      response: { status: c.status, headers: { "content-type": c.type }, body: body(c) },
    })).reverse(),
  }));
}

function nock(calls: readonly Written[], response: (call: Written) => unknown): Uint8Array {
  return bytes(JSON.stringify(calls.map((c) => ({
    scope: "https://api.anthropic.com:443",
    method: "POST",
    path: "/v1/messages?beta=true",
    body: c.request,
    status: c.status,
    response: response(c),
    rawHeaders: ["Content-Type", c.type],
    responseIsBinary: false,
  }))));
}

/** Two pieces in a list, itself a text. */
function pieces(whole: Uint8Array, form: "base64" | "hex"): string {
  return JSON.stringify([whole.subarray(0, 20), whole.subarray(20)].map((piece) => Buffer.from(piece).toString(form)));
}

function inBase64(text: string): object {
  return { base64_string: Buffer.from(text).toString("base64") };
}

function yaml11(value: unknown): string {
  return stringify(value, { version: "1.1" });
}

function bytes(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}
