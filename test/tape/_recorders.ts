import { gzipSync } from "node:zlib";
import { stringify as toml } from "smol-toml";
import { stringify } from "yaml";
import { PYTHON_RECORDERS } from "./_python-recorders.ts";
import { base64, isJson, json, type Recorder, URL, valueOf, type Written } from "./_written.ts";

/** Recorders whose format has a reader of its own; each form of a body that a format has is one entry. */
export const RECORDERS: { readonly [recorder: string]: Recorder } = {
  ...PYTHON_RECORDERS,
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
  "seinfeld, without a version": [
    "seinfeld",
    (calls) => seinfeld(calls, ({ body }) => ({ kind: "text", value: body }), { meta: {} }),
  ],
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
  "DVR": ["opencode", (calls) =>
    json({
      name: "x",
      interactions: calls.map((c) => ({
        request: { method: "POST", url: URL, headers: {}, body: base64(JSON.stringify(c.request)) },
        response: { url: URL, status: c.status, headers: { "Content-Type": c.type }, body: base64(c.body) },
      })),
    })],
  "nock": ["nock", (calls) => nock(calls, valueOf)],
  "nock, zipped": ["nock", (calls) => nock(calls, ({ body }) => [gzipSync(body).toString("hex")])],
  "HAR": ["har", (calls) => archive(calls, (text) => ({ text }))],
  "HAR, in base64": ["har", (calls) => archive(calls, (text) => ({ encoding: "base64", text: base64(text) }))],
  "HAR, zipped, in pieces": [
    "har",
    (calls) => archive(calls, (text) => ({ encoding: "base64", text: pieces(gzipSync(text), "base64") }), "gzip"),
  ],
  "HAR, zipped, in pieces of hex": [
    "har",
    (calls) => archive(calls, (text) => ({ _isBinary: true, text: pieces(gzipSync(text), "hex") }), "gzip"),
  ],
  "cassetter": ["cassetter", (calls) => cassetter(calls, (c) => ({ type: "text", content: c.body }))],
  "cassetter, as values": [
    "cassetter",
    (calls) => cassetter(calls, (c) => ({ type: isJson(c) ? "json" : "text", content: valueOf(c) })),
  ],
  "cassetter, in hex": [
    "cassetter",
    (calls) => cassetter(calls, (c) => ({ type: "binary", content: Buffer.from(c.body).toString("hex") })),
  ],
  "cassetter, as TOML": ["cassetter", (calls) =>
    bytes(toml({
      version: 1,
      interactions: calls.map((c) => ({
        recorded_at: "2026-02-01T00:00:00Z",
        request: {
          method: "POST",
          uri: URL,
          body_type: "json",
          body_content: JSON.stringify(c.request),
          headers: { accept: ["*/*"] },
        },
        response: {
          status: c.status,
          body_type: isJson(c) ? "json" : "text",
          body_content: c.body,
          headers: { "content-type": [c.type] },
        },
      })),
    }))],
  "WireMock": ["wiremock", (calls) => wiremock(calls, ({ body }) => ({ body }))],
  "WireMock, as values": [
    "wiremock",
    (calls) => wiremock(calls, (c) => isJson(c) ? { jsonBody: valueOf(c) } : { body: c.body }),
  ],
  "WireMock, one a document of YAML": ["wiremock", (calls) => {
    const { mappings } = JSON.parse(Buffer.from(wiremock(calls, ({ body }) => ({ body }))).toString());
    return bytes(mappings.map((stub: unknown) => `---\n${stringify(stub)}`).join(""));
  }],
  "WireMock, zipped": [
    "wiremock",
    (calls) => wiremock(calls, ({ body }) => ({ base64Body: gzipSync(body).toString("base64") })),
  ],
  "httprr": ["httprr", (calls) => httprr(calls, (text) => text)],
  "httprr, in a checkout that changed line breaks and no lengths": [
    "httprr",
    (calls) => bytes(Buffer.from(httprr(calls, (text) => text)).toString().replaceAll("\r\n", "\n")),
  ],
  "httprr, chunked": ["httprr", (calls) => httprr(calls, chunked)],
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
  top: object = { version: 1 },
): Uint8Array {
  return json({
    ...top,
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

/** Two pieces in a list, itself a text. */
function pieces(whole: Uint8Array, form: "base64" | "hex"): string {
  return JSON.stringify([whole.subarray(0, 20), whole.subarray(20)].map((piece) => Buffer.from(piece).toString(form)));
}

function cassetter(calls: readonly Written[], body: (call: Written) => object): Uint8Array {
  return bytes(stringify({
    version: 1,
    interactions: calls.map((c) => ({
      request: { method: "POST", uri: URL, headers: {}, body: { type: "json", content: c.request } },
      response: { status: c.status, headers: { "content-type": [c.type] }, body: body(c) },
      recorded_at: "2026-03-06T19:26:02.829948+00:00",
    })),
  }, { version: "1.2" }));
}

/** As a running server lists its stubs: the newest first. */
function wiremock(calls: readonly Written[], body: (call: Written) => object): Uint8Array {
  return json({
    mappings: calls.map((c, insertionIndex) => ({
      request: {
        url: "/v1/messages",
        method: "POST",
        headers: { "anthropic-version": { equalTo: "2023-06-01" } },
        bodyPatterns: [{ equalToJson: JSON.stringify(c.request), ignoreArrayOrder: true }],
      },
      response: { status: c.status, headers: { "Content-Type": c.type }, ...body(c) },
      insertionIndex,
    })).reverse(),
  });
}

function httprr(calls: readonly Written[], wrap: (body: string) => string): Uint8Array {
  return Buffer.from(`httprr trace v1\n${
    calls.map((c) => {
      const body = JSON.stringify(c.request);
      const written = wrap(c.body);
      const length = written === c.body
        ? `Content-Length: ${Buffer.byteLength(written)}`
        : "Transfer-Encoding: chunked";
      const asks = `POST ${URL} HTTP/1.1\r\nHost: api.anthropic.com\r\nContent-Length: ${
        Buffer.byteLength(body)
      }\r\n\r\n${body}`;
      const answers = `HTTP/2.0 ${c.status} OK\r\nContent-Type: ${c.type}\r\n${length}\r\n\r\n${written}`;
      return `${Buffer.byteLength(asks)} ${Buffer.byteLength(answers)}\n${asks}${answers}`;
    }).join("")
  }`);
}

function chunked(body: string): string {
  const pieces = [body.slice(0, 21), body.slice(21)];
  return `${pieces.map((piece) => `${Buffer.byteLength(piece).toString(16)}\r\n${piece}\r\n`).join("")}0\r\n\r\n`;
}

function yaml11(value: unknown): string {
  return stringify(value, { version: "1.1" });
}

function bytes(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}
