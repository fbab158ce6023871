import { gzipSync } from "node:zlib";
import { stringify } from "yaml";
import { stringify as toml } from "smol-toml";
import type { Written } from "./_recordings.ts";

const URL = "https://api.anthropic.com/v1/messages";

/** How more tools write calls down: the ways of each that differ. */
export const MORE_WRITERS: { readonly [format: string]: ((calls: readonly Written[]) => Uint8Array)[] } = {
  cassetter: [
    (calls) => cassetter(calls, (c) => ({ type: "text", content: c.body })),
    (calls) =>
      cassetter(
        calls,
        (c) => isJson(c) ? { type: "json", content: JSON.parse(c.body) } : { type: "text", content: c.body },
      ),
    (calls) => cassetter(calls, (c) => ({ type: "binary", content: Buffer.from(c.body).toString("hex") })),
    (calls) =>
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
      })),
  ],
  wiremock: [
    (calls) => wiremock(calls, ({ body }) => ({ body })),
    (calls) => wiremock(calls, (c) => isJson(c) ? { jsonBody: JSON.parse(c.body) } : { body: c.body }),
    (calls) => wiremock(calls, ({ body }) => ({ base64Body: gzipSync(body).toString("base64") })),
  ],
  "ruby-vcr": [(calls) =>
    // as R writes it
    bytes(stringify({
      http_interactions: calls.map((c) => ({
        request: { method: "POST", uri: URL, body: { string: JSON.stringify(c.request) } },
        response: { status: c.status, headers: { "content-type": c.type }, body: { string: c.body } },
        recorded_at: "2026-05-19 16:51:14",
      })),
      recorded_with: "VCR-vcr/2.1.0",
    }, { version: "1.1" }))],
  pairs: [
    (calls) =>
      // exvcr
      json(calls.map((c) => ({
        request: {
          body: JSON.stringify(c.request),
          headers: {},
          method: "post",
          options: [],
          request_body: "",
          url: URL,
        },
        response: {
          binary: false,
          body: c.body,
          headers: { "Content-Type": c.type },
          status_code: c.status,
          type: "ok",
        },
      }))),
    (calls) =>
      // Hoverfly
      json({ data: { pairs: calls.map((c) => hoverfly(c, (value) => [{ matcher: "exact", value }])) }, meta: {} }),
    (calls) => json({ data: { pairs: calls.map((c) => hoverfly(c, (exactMatch) => ({ exactMatch }))) }, meta: {} }),
    (calls) =>
      // Mastra
      json({
        meta: { name: "x" },
        recordings: calls.map((c) => ({
          request: { url: URL, method: "POST", body: c.request, timestamp: 1791238236460 },
          response: {
            status: c.status,
            headers: { "content-type": c.type },
            ...(isJson(c) ? { body: JSON.parse(c.body) } : { chunks: [c.body.slice(0, 21), c.body.slice(21)] }),
          },
        })),
      }),
    (calls) =>
      // claude-trace
      bytes(
        calls.map((c) =>
          JSON.stringify({
            request: {
              timestamp: 1791238236.46,
              method: "POST",
              url: `${URL}?beta=true`,
              headers: {},
              body: c.request,
            },
            response: {
              timestamp: 1791238237,
              status_code: c.status,
              headers: {},
              ...(isJson(c) ? { body: JSON.parse(c.body) } : { body_raw: c.body }),
            },
          })
        ).join("\n"),
      ),
    (calls) =>
      // ReqLLM, which has one exchange a file
      json(calls.map((c) => ({
        captured_at: "2025-10-02T15:44:09.129629Z",
        chunks: [c.body.slice(0, 33), c.body.slice(33)].map((piece) => ({
          b64: Buffer.from(piece).toString("base64"),
        })),
        request: { body: { b64: Buffer.from(JSON.stringify(c.request)).toString("base64") }, method: "POST", url: URL },
        response: { body: null, headers: [["content-type", c.type]], status: c.status },
      }))),
  ],
};

function isJson({ type }: Written): boolean {
  return /json/.test(type);
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

function hoverfly(c: Written, exactly: (value: string) => unknown): object {
  return {
    request: {
      scheme: exactly("https"),
      method: exactly("POST"),
      destination: exactly("api.anthropic.com"),
      path: exactly("/v1/messages"),
      query: {},
      body: exactly(JSON.stringify(c.request)),
    },
    response: {
      status: c.status,
      body: Buffer.from(c.body).toString("base64"),
      encodedBody: true,
      headers: { "Content-Type": [c.type] },
    },
  };
}

function json(value: unknown): Uint8Array {
  return bytes(JSON.stringify(value));
}

function bytes(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}
