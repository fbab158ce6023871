import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { stringify } from "yaml";
import { base64, isJson, json, type Recorder, URL, valueOf, type Written } from "./_written.ts";

/** Every recorder, once for each form in which it writes bodies. */
export const RECORDERS: { readonly [recorder: string]: Recorder } = {
  "vcrpy": ["vcrpy", (calls) => python(calls, ({ body }) => ({ string: body }))],
  "vcrpy, gzip": compressed(gzipSync, "gzip"),
  "vcrpy, decompressed with a stale header": compressed((body) => body, "gzip"),
  "vcrpy, Brotli": compressed(brotliCompressSync, "br"),
  "vcrpy, deflate": compressed(deflateSync, "deflate"),
  "vcrpy, JSON": [
    "vcrpy",
    (calls) => json({ version: 1, interactions: calls.map((c) => interaction(c, { base64_string: base64(c.body) })) }),
  ],
  "LangChain": ["langchain-gz", (calls) =>
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
  "Ruby's VCR": ["ruby-vcr", (calls) => ruby(calls, ({ body }) => ({ encoding: "UTF-8", string: body }))],
  "Ruby's VCR, bytes as letters": [
    "ruby-vcr",
    (calls) => ruby(calls, ({ body }) => ({ encoding: "ASCII-8BIT", string: Buffer.from(body).toString("latin1") })),
  ],
  "Ruby's VCR, in base64": [
    "ruby-vcr",
    (calls) => ruby(calls, ({ body }) => ({ encoding: "ASCII-8BIT", base64_string: base64(body) })),
  ],
  "R's vcr": ["ruby-vcr", (calls) =>
    bytes(yaml11({
      http_interactions: calls.map((c) => ({
        request: { method: "POST", uri: URL, body: { string: JSON.stringify(c.request) } },
        response: { status: c.status, headers: { "content-type": c.type }, body: { string: c.body } },
        recorded_at: "2026-05-19 16:51:14",
      })),
      recorded_with: "VCR-vcr/2.1.0",
    }))],
  "go-vcr": ["go-vcr", (calls) =>
    bytes(stringify({
      version: 2,
      interactions: calls.map((c, id) => ({
        id,
        request: { body: JSON.stringify(c.request), url: URL, method: "POST", headers: {} },
        response: { body: c.body, headers: {}, status: `${c.status} OK`, code: c.status, duration: "1m2.5s" },
      })),
    }))],
  "httpmock": ["httpmock", (calls) =>
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
  "seinfeld": ["seinfeld", (calls) => seinfeld(calls, ({ body }) => ({ kind: "text", value: body }))],
  "seinfeld, in base64": [
    "seinfeld",
    (calls) => seinfeld(calls, ({ body }) => ({ kind: "base64", value: base64(body) })),
  ],
  "seinfeld, as values": [
    "seinfeld",
    (calls) =>
      seinfeld(calls, (c) =>
        isJson(c) ? { kind: "json", value: valueOf(c) } : {
          kind: "sse",
          chunks: c.body.replace(/\r\n?/g, "\n").split("\n\n").filter((chunk) => chunk !== ""),
        }),
  ],
  "opencode": ["opencode", (calls) =>
    json({
      version: 1,
      metadata: { recordedAt: "2026-05-11T01:52:54.319Z" },
      interactions: calls.map((c) => ({
        transport: "http",
        request: { method: "POST", url: URL, headers: {}, body: JSON.stringify(c.request) },
        response: { status: c.status, headers: { "content-type": c.type }, body: c.body },
      })),
    })],
  "nock": ["nock", (calls) => nock(calls, valueOf)],
  "nock, gzip": ["nock", (calls) => nock(calls, ({ body }) => [gzipSync(body).toString("hex")])],
  "HAR": ["har", (calls) => archive(calls, (text) => ({ text }))],
  "HAR, in base64": ["har", (calls) => archive(calls, (text) => ({ encoding: "base64", text: base64(text) }))],
  "HAR of Polly.js, gzip in pieces": [
    "har",
    (calls) => archive(calls, (text) => ({ encoding: "base64", text: pieces(gzipSync(text)) }), "gzip"),
  ],
};

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

function seinfeld(
  calls: readonly Written[],
  body: (call: Written) => object,
): Uint8Array {
  return json({
    version: 1,
    entries: calls.map((c, callIndex) => ({
      id: String(callIndex),
      matchKey: "POST api.anthropic.com/v1/messages",
      callIndex,
      recordedAt: "2026-04-28T23:04:55.016Z",
      request: { method: "POST", url: URL, headers: {}, body: { kind: "json", value: c.request } },
      response: { status: c.status, headers: { "content-type": c.type }, body: body(c) },
    })).reverse(),
  });
}

function nock(calls: readonly Written[], response: (call: Written) => unknown): Uint8Array {
  return json(calls.map((c) => ({
    scope: "https://api.anthropic.com:443",
    method: "POST",
    path: "/v1/messages?beta=true",
    body: c.request,
    status: c.status,
    response: response(c),
    rawHeaders: ["Content-Type", c.type],
    responseIsBinary: false,
  })));
}

function archive(calls: readonly Written[], content: (body: string) => object, encoding?: string): Uint8Array {
  const coding = encoding === undefined ? [] : [{ name: "content-encoding", value: encoding }];
  return json({
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
  });
}

/** Two pieces in a list, written as JSON text. */
function pieces(whole: Uint8Array): string {
  return JSON.stringify(
    [whole.subarray(0, 20), whole.subarray(20)].map((part) => Buffer.from(part).toString("base64")),
  );
}

function python(calls: readonly Written[], body: (call: Written) => object, encoding?: string): Uint8Array {
  return bytes(yaml11({ interactions: calls.map((c) => interaction(c, body(c), encoding)), version: 1 }));
}

function compressed(compress: (body: string) => string | Uint8Array, encoding: string): Recorder {
  return ["vcrpy", (calls) => python(calls, ({ body }) => ({ string: compress(body) }), encoding)];
}

function interaction(call: Written, body: object, encoding?: string): object {
  const coding = encoding === undefined ? {} : { "Content-Encoding": [encoding] };
  return {
    request: { body: JSON.stringify(call.request), headers: { Accept: ["*/*"] }, method: "POST", uri: URL },
    response: { body, headers: { "Content-Type": [call.type], ...coding }, status: { code: call.status, message: "" } },
  };
}

function yaml11(value: unknown): string {
  return stringify(value, { version: "1.1" });
}

function bytes(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}
