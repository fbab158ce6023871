import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from "node:zlib";
import { stringify } from "yaml";
import { base64, json, type Recorder, URL, type Written } from "./_written.ts";

/** vcrpy's forms of a body, and LangChain's. */
export const PYTHON_RECORDERS: { readonly [recorder: string]: Recorder } = {
  "vcrpy": ["vcrpy", (calls) => python(calls, ({ body }) => ({ string: body }))],
  "vcrpy, zipped": packed(gzipSync, "gzip"),
  "vcrpy, unzipped with the header of before": packed((body) => body, "gzip"),
  "vcrpy, in brotli": packed(brotliCompressSync, "br"),
  "vcrpy, deflated": packed(deflateSync, "deflate"),
  "vcrpy, deflated, and the header left out": packed(deflateSync),
  "vcrpy, deflated as some servers do": packed(deflateRawSync, "deflate"),
  "vcrpy, packed twice": packed((body) => gzipSync(brotliCompressSync(body)), "br, gzip"),
  "vcrpy, as JSON": [
    "vcrpy",
    (calls) => json({ version: 1, interactions: calls.map((c) => interaction(c, { base64_string: base64(c.body) })) }),
  ],
  "vcrpy, asked by httpx before version 6": ["vcrpy", (calls) => httpx(calls, ({ body }) => body)],
  "vcrpy, asked by httpx before version 6, as bytes": [
    "vcrpy",
    (calls) => httpx(calls, ({ body }) => Buffer.from(body)),
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
};

function python(calls: readonly Written[], body: (call: Written) => object, encoding?: string): Uint8Array {
  return bytes(yaml11({ interactions: calls.map((c) => interaction(c, body(c), encoding)), version: 1 }));
}

function packed(pack: (body: string) => string | Uint8Array, encoding?: string): Recorder {
  return ["vcrpy", (calls) => python(calls, ({ body }) => ({ string: pack(body) }), encoding)];
}

function interaction(call: Written, body: object, encoding?: string): object {
  const coding = encoding === undefined ? {} : { "Content-Encoding": [encoding] };
  return {
    request: { body: JSON.stringify(call.request), headers: { Accept: ["*/*"] }, method: "POST", uri: URL },
    response: { body, headers: { "Content-Type": [call.type], ...coding }, status: { code: call.status, message: "" } },
  };
}

function httpx(calls: readonly Written[], content: (call: Written) => string | Uint8Array): Uint8Array {
  const interactions = calls.map((c) => ({
    request: { body: JSON.stringify(c.request), headers: { accept: ["*/*"] }, method: "POST", uri: URL },
    response: {
      content: content(c),
      headers: { "content-type": c.type },
      http_version: "HTTP/1.1",
      status_code: c.status,
    },
  }));
  return bytes(yaml11({ interactions, version: 1 }));
}

function yaml11(value: unknown): string {
  return stringify(value, { version: "1.1" });
}

function bytes(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}
