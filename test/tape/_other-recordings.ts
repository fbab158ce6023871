import type { Written } from "./_recordings.ts";

const URL = "https://api.anthropic.com/v1/messages";

/** How recorders of Go, .NET, Node and proxies write calls down, each under names of its own. */
export const OTHER_WRITERS: { readonly [format: string]: ((calls: readonly Written[]) => Uint8Array)[] } = {
  httprr: [
    (calls) => httprr(calls, (text) => text),
    // as a checkout leaves it that changes line breaks: the lengths are those of before
    (calls) => Buffer.from(Buffer.from(httprr(calls, (text) => text)).toString().replaceAll("\r\n", "\n")),
    (calls) => httprr(calls, chunked),
  ],
  pairs: [
    (calls) =>
      // llm-vcr
      json({
        version: 1,
        name: "x",
        recordedAt: "2026-11-15T11:23:04.000Z",
        entries: calls.map((c) => ({
          request: { provider: "anthropic", url: URL, method: "POST", headers: {}, body: c.request },
          response: { status: c.status, headers: { "content-type": c.type }, body: isJson(c) ? parsed(c) : c.body },
          metadata: {},
        })),
      }),
    (calls) =>
      // llm-cassette, which has one exchange a file
      json(calls.map((c) => ({
        version: "1",
        recordedAt: "2026-11-15T11:23:04.000Z",
        request: { url: URL, method: "POST", headers: {}, body: c.request },
        response: isJson(c)
          ? { status: c.status, headers: {}, body: parsed(c), isStreaming: false, chunks: [] }
          : { status: c.status, headers: {}, body: null, isStreaming: true, chunks: eventsOf(c) },
      }))),
    // talkback, which has one exchange a file, in JSON5
    (calls) => Buffer.from(`// recorded\n[${calls.map(talkback).join(",\n")},]`),
    (calls) =>
      // EasyVCR
      json(calls.map((c) => ({
        Duration: 834,
        RecordedAt: "2026-11-15T11:23:04+01:00",
        Request: { Body: JSON.stringify(c.request), Method: "POST", RequestHeaders: { Accept: "*/*" }, Uri: URL },
        Response: { Body: c.body, ResponseHeaders: { "request-id": "r" }, Status: { Code: c.status, Message: "" } },
      }))),
    // WireMock.Net, which has one stub a file
    (calls) => json(calls.map((c) => wireMockNet(c, { Body: c.body }))),
    (calls) => json(calls.map((c) => wireMockNet(c, isJson(c) ? { BodyAsJson: parsed(c) } : { Body: c.body }))),
    (calls) => json(calls.map((c) => wireMockNet(c, { BodyAsBytes: base64(c.body) }))),
    (calls) =>
      // govcr
      json({
        Tracks: calls.map((c) => ({
          Request: {
            Method: "POST",
            URL: { Scheme: "https", Host: "api.anthropic.com", Path: "/v1/messages" },
            Header: { Accept: ["*/*"] },
            Body: base64(JSON.stringify(c.request)),
          },
          Response: { Status: `${c.status} OK`, StatusCode: c.status, Header: {}, Body: base64(c.body) },
        })),
      }),
    (calls) =>
      // go-replayers
      json({
        Version: "0.2",
        Entries: calls.map((c, i) => ({
          ID: String(i),
          Request: { Method: "POST", URL, Header: {}, BodyParts: [base64(JSON.stringify(c.request))] },
          Response: { StatusCode: c.status, Header: {}, Body: base64(c.body) },
        })),
      }),
    (calls) =>
      // langchaingo's first cassettes: the status in words, the code beside it
      json({
        name: "x",
        interactions: calls.map((c) => ({
          request: { method: "POST", url: URL, headers: {}, body: JSON.stringify(c.request) },
          response: { status: `${c.status} OK`, status_code: c.status, headers: {}, body: c.body },
        })),
      }),
    (calls) =>
      // Helicone's export
      lines(calls.map((c) => ({
        request_created_at: "2026-11-15T11:23:04Z",
        request_path: URL,
        request_body: c.request,
        response_status: c.status,
        response_body: isJson(c) ? parsed(c) : c.body,
      }))),
    // a log of bodies alone, as values or as texts
    (calls) => lines(calls.map((c) => ({ request: c.request, response: isJson(c) ? parsed(c) : c.body }))),
    (calls) => lines(calls.map((c) => ({ path: "v1/messages", request: JSON.stringify(c.request), response: c.body }))),
    (calls) =>
      // Charles
      json(calls.map((c) => ({
        method: "POST",
        scheme: "https",
        host: "api.anthropic.com",
        path: "/v1/messages",
        request: { header: { headers: [] }, body: { text: JSON.stringify(c.request), charset: "UTF-8" } },
        response: {
          status: c.status,
          header: { headers: [{ name: "Content-Type", value: c.type }] },
          body: { text: c.body, charset: "UTF-8" },
        },
      }))),
  ],
  opencode: [(calls) =>
    // DVR
    json({
      name: "x",
      interactions: calls.map((c) => ({
        request: { method: "POST", url: URL, headers: {}, body: base64(JSON.stringify(c.request)) },
        response: { url: URL, status: c.status, headers: { "Content-Type": c.type }, body: base64(c.body) },
      })),
    })],
};

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

function talkback(c: Written): string {
  const asked = JSON.stringify(c.request, undefined, 2).replace(/"(\w+)":/g, "$1:").replaceAll('"', "'");
  return `{
    meta: { createdAt: '2026-11-15T11:23:04.000Z', /* it's a comment, "really" */ reqHumanReadable: true, },
    req: { url: '/v1/messages', method: 'POST', headers: { 'x-api-key': 'k', }, body: ${asked}, },
    res: { status: ${c.status}, headers: { 'content-type': [ '${c.type}', ], }, body: '${base64(c.body)}', },
  }`;
}

function wireMockNet(c: Written, body: object): object {
  return {
    Guid: "ff55ac0a-fea9-4d7b-be74-5e483a2c1305",
    Title: "Proxy Mapping for POST /v1/messages",
    Request: {
      Path: { Matchers: [{ Name: "WildcardMatcher", Pattern: "/v1/messages", IgnoreCase: false }] },
      Methods: ["POST"],
      Headers: [{ Name: "Accept", Matchers: [{ Name: "WildcardMatcher", Pattern: "*/*" }] }],
      Body: { Matcher: { Name: "JsonMatcher", Pattern: c.request, IgnoreCase: true } },
    },
    Response: { StatusCode: c.status, Headers: { "Content-Type": c.type }, ...body },
  };
}

function eventsOf(c: Written): object[] {
  return [...c.body.matchAll(/^data: (.*)$/gm)].map(([, data]) => ({ data, delayMs: 3 }));
}

function isJson({ type }: Written): boolean {
  return /json/.test(type);
}

function parsed({ body }: Written): unknown {
  return JSON.parse(body);
}

function base64(text: string): string {
  return Buffer.from(text).toString("base64");
}

function json(value: unknown): Uint8Array {
  return Buffer.from(JSON.stringify(value));
}

function lines(values: readonly unknown[]): Uint8Array {
  return Buffer.from(values.map((value) => JSON.stringify(value)).join("\n"));
}
