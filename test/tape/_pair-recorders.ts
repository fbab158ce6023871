import { stringify } from "yaml";
import { base64, eventsIn, isJson, json, jsonLines, type Recorder, URL, valueOf, type Written } from "./_written.ts";

/** Recorders that keep requests and answers in pairs, each under names of its own: but for ReqCassette one reader reads them all. */
export const PAIR_RECORDERS: { readonly [recorder: string]: Recorder } = {
  "exvcr": ["pairs", (calls) =>
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
    })))],
  "Hoverfly": ["pairs", (calls) => hoverfly(calls, (value) => [{ matcher: "exact", value }])],
  "Hoverfly, of before": ["pairs", (calls) => hoverfly(calls, (exactMatch) => ({ exactMatch }))],
  "Mastra": ["pairs", (calls) =>
    json({
      meta: { name: "x" },
      recordings: calls.map((c) => ({
        request: { url: URL, method: "POST", body: c.request, timestamp: 1791238236460 },
        response: {
          status: c.status,
          headers: { "content-type": c.type },
          ...(isJson(c) ? { body: valueOf(c) } : { chunks: [c.body.slice(0, 21), c.body.slice(21)] }),
        },
      })),
    })],
  "claude-trace": ["pairs", (calls) =>
    jsonLines(...calls.map((c) => ({
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
        ...(isJson(c) ? { body: valueOf(c) } : { body_raw: c.body }),
      },
    })))],
  "ReqLLM, several of its files": ["pairs", (calls) =>
    json(calls.map((c) => ({
      captured_at: "2025-10-02T15:44:09.129629Z",
      chunks: [c.body.slice(0, 33), c.body.slice(33)].map((piece) => ({ b64: base64(piece) })),
      request: { body: { b64: base64(JSON.stringify(c.request)) }, method: "POST", url: URL },
      response: { body: null, headers: [["content-type", c.type]], status: c.status },
    })))],
  "llm-vcr": ["pairs", (calls) =>
    json({
      version: 1,
      name: "x",
      recordedAt: "2026-11-15T11:23:04.000Z",
      entries: calls.map((c) => ({
        request: { provider: "anthropic", url: URL, method: "POST", headers: {}, body: c.request },
        response: { status: c.status, headers: { "content-type": c.type }, body: valueOf(c) },
        metadata: {},
      })),
    })],
  "llm-cassette, several of its files": ["pairs", (calls) =>
    json(calls.map((c) => ({
      version: "1",
      recordedAt: "2026-11-15T11:23:04.000Z",
      request: { url: URL, method: "POST", headers: {}, body: c.request },
      response: isJson(c)
        ? { status: c.status, headers: {}, body: valueOf(c), isStreaming: false, chunks: [] }
        : { status: c.status, headers: {}, body: null, isStreaming: true, chunks: delayed(c.body) },
    })))],
  "talkback, several of its files": [
    "pairs",
    (calls) => Buffer.from(`// recorded\n[${calls.map(talkback).join(",\n")},]`),
  ],
  "EasyVCR": ["pairs", (calls) =>
    json(calls.map((c) => ({
      Duration: 834,
      RecordedAt: "2026-11-15T11:23:04+01:00",
      Request: { Body: JSON.stringify(c.request), Method: "POST", RequestHeaders: { Accept: "*/*" }, Uri: URL },
      Response: { Body: c.body, ResponseHeaders: { "request-id": "r" }, Status: { Code: c.status, Message: "" } },
    })))],
  "WireMock.Net, several of its stubs": [
    "pairs",
    (calls) => json(calls.map((c) => wireMockNet(c, { Body: c.body }))),
  ],
  "WireMock.Net, as values": [
    "pairs",
    (calls) => json(calls.map((c) => wireMockNet(c, isJson(c) ? { BodyAsJson: valueOf(c) } : { Body: c.body }))),
  ],
  "WireMock.Net, as bytes": [
    "pairs",
    (calls) => json(calls.map((c) => wireMockNet(c, { BodyAsBytes: base64(c.body) }))),
  ],
  "govcr": ["pairs", (calls) =>
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
    })],
  "go-replayers": ["pairs", (calls) =>
    json({
      Version: "0.2",
      Entries: calls.map((c, i) => ({
        ID: String(i),
        Request: { Method: "POST", URL, Header: {}, BodyParts: [base64(JSON.stringify(c.request))] },
        Response: { StatusCode: c.status, Header: {}, Body: base64(c.body) },
      })),
    })],
  "langchaingo, with the status in words and its code beside it": ["pairs", (calls) =>
    json({
      name: "x",
      interactions: calls.map((c) => ({
        request: { method: "POST", url: URL, headers: {}, body: JSON.stringify(c.request) },
        response: { status: `${c.status} OK`, status_code: c.status, headers: {}, body: c.body },
      })),
    })],
  "Braintrust's, before seinfeld": ["pairs", (calls) =>
    json({
      version: 1,
      scenario: "x",
      entries: calls.map((c) => ({
        key: "k",
        request: { method: "POST", url: URL, headers: {}, bodyEncoding: "json", body: c.request },
        response: {
          status: c.status,
          headers: { "content-type": c.type },
          ...(isJson(c) ? { bodyEncoding: "json", body: valueOf(c) } : {
            bodyEncoding: "sse-chunks",
            chunks: c.body.split(/(?<=\n\n)/).map((frame) => ({ data: base64(frame), encoding: "base64" })),
          }),
        },
      })),
    })],
  "undici, with all answers to a question beside it": ["pairs", (calls) =>
    json([{
      hash: "k",
      snapshot: {
        request: { method: "POST", url: URL, headers: {}, body: JSON.stringify(calls[0]!.request) },
        responses: calls.map((c) => ({
          statusCode: c.status,
          headers: { "content-type": c.type },
          body: base64(c.body),
          trailers: {},
        })),
        callCount: 0,
        timestamp: "2026-11-15T11:23:04.000Z",
      },
    }])],
  "Keploy": ["pairs", (calls) =>
    Buffer.from(
      calls.map((c) =>
        stringify({
          version: "api.keploy.io/v1beta1",
          kind: "Http",
          spec: {
            metadata: { type: "HTTP_CLIENT" },
            req: { method: "POST", url: "/v1/messages", header: {}, body: JSON.stringify(c.request) },
            resp: { status_code: c.status, header: { "Content-Type": c.type }, body: c.body, status_message: "" },
          },
        })
      ).join("---\n"),
    )],
  "Azure's test proxy": ["pairs", (calls) => azure(calls, valueOf)],
  "Azure's test proxy, line by line": [
    "pairs",
    (calls) => azure(calls, (c) => isJson(c) ? valueOf(c) : c.body.split(/(?<=\n)/)),
  ],
  "a script of mitmproxy": ["pairs", (calls) =>
    json(calls.map((c) => ({
      request: { method: "POST", host: "api.anthropic.com", path: "/v1/messages", headers: [], content: c.request },
      response: { status_code: c.status, headers: [["content-type", c.type]], content: c.body },
    })))],
  "a cassette for each key, in base64": ["pairs", (calls) =>
    json(Object.fromEntries(calls.map((c, i) => [`key${i}`, {
      request: { method: "POST", url: URL, body_b64: base64(JSON.stringify(c.request)) },
      response: { status_code: c.status, headers: [["content-type", c.type]], body_b64: base64(c.body) },
    }])))],
  "ReqCassette": ["cassetter", (calls) =>
    json({
      version: "1.0",
      interactions: calls.map((c) => ({
        request: { method: "POST", uri: URL, headers: {}, body_type: "json", body_json: c.request },
        response: {
          status: c.status,
          headers: { "content-type": [c.type] },
          ...(isJson(c) ? { body_type: "json", body_json: valueOf(c) } : { body_type: "text", body: c.body }),
        },
      })),
    })],
  "claude-api-test": ["pairs", (calls) =>
    Buffer.concat([
      Buffer.from("# recorded\n\n"),
      jsonLines(
        { kind: "header", created: "2026-11-15" },
        ...calls.map((c) => ({
          method: "POST",
          path: "/v1/messages",
          status: c.status,
          request: c.request,
          response: valueOf(c),
        })),
        { method: "GET", path: "/v1/models", status: 200, request: null, response: { data: [] } },
      ),
    ])],
  "Helicone": ["pairs", (calls) =>
    jsonLines(...calls.map((c) => ({
      request_created_at: "2026-11-15T11:23:04Z",
      request_path: URL,
      request_body: c.request,
      response_status: c.status,
      response_body: valueOf(c),
    })))],
  "a log of bodies alone": [
    "pairs",
    (calls) => jsonLines(...calls.map((c) => ({ request: c.request, response: valueOf(c) }))),
  ],
  "a log of bodies alone, as texts": [
    "pairs",
    (calls) =>
      jsonLines(...calls.map((c) => ({ path: "v1/messages", request: JSON.stringify(c.request), response: c.body }))),
  ],
  "Charles": ["pairs", (calls) =>
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
    })))],
};

function azure(calls: readonly Written[], body: (call: Written) => unknown): Uint8Array {
  return json({
    Entries: calls.map((c) => ({
      RequestUri: URL,
      RequestMethod: "POST",
      RequestHeaders: { Accept: "*/*" },
      RequestBody: c.request,
      StatusCode: c.status,
      ResponseHeaders: { "Content-Type": c.type },
      ResponseBody: body(c),
    })),
    Variables: {},
  });
}

function hoverfly(calls: readonly Written[], exactly: (value: string) => unknown): Uint8Array {
  const pairs = calls.map((c) => ({
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
      body: base64(c.body),
      encodedBody: true,
      headers: { "Content-Type": [c.type] },
    },
  }));
  return json({ data: { pairs }, meta: {} });
}

function delayed(body: string): object[] {
  return eventsIn(body).map((event) => ({ data: JSON.stringify(event), delayMs: 3 }));
}

/** JSON5, with a comment and commas too many. */
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
