import { BaseAnthropic } from "@anthropic-ai/sdk/client";
import type { IncomingMessage, ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import type { Middleware } from "../../../lib/http/middleware.ts";
import { serve } from "../../_server.ts";

type Json = { readonly [key: string]: unknown };

/** A request as it came over the wire of a cloud. */
interface Asked {
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: Json;
}

/** How a cloud takes a request and gives the events of an answer. */
export interface Cloud {
  /** The class of its own package, and what that is made with. */
  readonly package: string;
  readonly className: string;
  readonly options: (url: string) => object;
  /** A client that adapts requests and answers as the package does. */
  readonly client: (url: string) => BaseAnthropic;
  readonly answer: (events: readonly Json[], response: ServerResponse) => void;
  /** What a request must look like there. */
  readonly path: RegExp;
  readonly hasModel: boolean;
}

/** What the classes of the clouds override of the SDK's. */
class CloudClient extends BaseAnthropic {
  readonly #adapt: Middleware;
  constructor(url: string, adapt: Middleware) {
    super({ baseURL: url, apiKey: null, authToken: null, maxRetries: 1 });
    this.#adapt = adapt;
  }
  protected override validateHeaders(): void {}
  protected override backendMiddleware() {
    return [this.#adapt];
  }
}

/** Moves model and version to where a cloud has them. */
function adapted(pathOf: (model: string) => string, keepsStream: boolean): Middleware {
  return async (request, next) => {
    if (typeof request.body !== "string") throw new Error("Expected request body to be a JSON object");
    const { model, stream, ...body } = JSON.parse(request.body);
    const url = new URL(request.url);
    url.pathname = url.pathname.replace(/\/v1\/messages$/, pathOf(model));
    const sent = { ...body, ...(keepsStream && { stream }), anthropic_version: "cloud" };
    return await next({ ...request, url: url.href, body: JSON.stringify(sent) });
  };
}

const bedrock: Cloud = {
  package: "@anthropic-ai/bedrock-sdk",
  className: "AnthropicBedrock",
  options: (baseURL) => ({ baseURL, apiKey: "bedrock-key", maxRetries: 1 }),
  client: (url) =>
    new CloudClient(url, async (request, next, context) => {
      const adapt = adapted((model) => `/model/${encodeURIComponent(model)}/invoke-with-response-stream`, false);
      const response = await adapt(request, next, context);
      return response.ok ? fromEventStream(response) : response;
    }),
  answer: (events, response) => {
    response.writeHead(200, { "content-type": "application/vnd.amazon.eventstream" });
    for (const event of events) response.write(eventStreamMessage(event));
    response.end();
  },
  path: /^\/model\/us\.anthropic\.claude-sonnet-4-5-20250929-v1(?::|%3A)0\/invoke-with-response-stream$/,
  hasModel: false,
};

function asSse(events: readonly Json[], response: ServerResponse): void {
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.end(events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(""));
}

const vertex: Cloud = {
  package: "@anthropic-ai/vertex-sdk",
  className: "AnthropicVertex",
  options: (baseURL) => ({
    ...{ baseURL, region: "us-east5", projectId: "project", maxRetries: 1 },
    authClient: {
      projectId: "project",
      getRequestHeaders: () => Promise.resolve(new Headers({ authorization: "Bearer t" })),
    },
  }),
  client: (url) =>
    new CloudClient(
      url,
      adapted(
        (model) => `/projects/project/locations/us-east5/publishers/anthropic/models/${model}:streamRawPredict`,
        true,
      ),
    ),
  answer: asSse,
  path: /\/publishers\/anthropic\/models\/us\.anthropic\.claude-sonnet-4-5-20250929-v1(?::|%3A)0:streamRawPredict$/,
  hasModel: false,
};

const foundry: Cloud = {
  package: "@anthropic-ai/foundry-sdk",
  className: "AnthropicFoundry",
  options: (baseURL) => ({ baseURL, apiKey: "foundry-key", maxRetries: 1 }),
  client: (url) => new CloudClient(url, (request, next) => next(request)),
  answer: asSse,
  path: /^\/v1\/messages$/,
  hasModel: true,
};

export const CLOUDS: { readonly [name: string]: Cloud } = { Bedrock: bedrock, Vertex: vertex, Foundry: foundry };

/** A server of a cloud that refuses some requests, then answers all with these events. */
export async function cloudServer(cloud: Cloud, events: readonly Json[], refuses: readonly number[] = []) {
  const asked: Asked[] = [];
  const server = await serve(async (request, response) => {
    asked.push({ path: request.url!, headers: request.headers, body: JSON.parse(await text(request)) });
    const status = refuses[asked.length - 1];
    if (status === undefined) return cloud.answer(events, response);
    response.writeHead(status, { "content-type": "application/json", "retry-after-ms": "1" });
    response.end(JSON.stringify({ type: "error", error: { type: "rate_limit_error", message: "too many" } }));
  });
  return { url: server.url, asked, [Symbol.dispose]: () => server[Symbol.dispose]() };
}

/** One message of AWS's event stream: lengths, checksums, three headers, and the event in base64. */
function eventStreamMessage(event: Json): Buffer {
  const given = { ":event-type": "chunk", ":content-type": "application/json", ":message-type": "event" };
  const headers = Buffer.concat(
    Object.entries(given).map(([name, value]) => {
      const start = Buffer.from([name.length, ...Buffer.from(name), 7, 0, value.length]);
      return Buffer.concat([start, Buffer.from(value)]);
    }),
  );
  const payload = Buffer.from(JSON.stringify({ bytes: Buffer.from(JSON.stringify(event)).toString("base64") }));
  const prelude = Buffer.alloc(12);
  prelude.writeUInt32BE(16 + headers.length + payload.length, 0);
  prelude.writeUInt32BE(headers.length, 4);
  prelude.writeUInt32BE(crc32(prelude.subarray(0, 8)), 8);
  const whole = Buffer.concat([prelude, headers, payload]);
  const end = Buffer.alloc(4);
  end.writeUInt32BE(crc32(whole), 0);
  return Buffer.concat([whole, end]);
}

function crc32(bytes: Uint8Array): number {
  let crc = ~0;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  }
  return ~crc >>> 0;
}

/** The events in an event stream, as the API itself would have sent them. */
async function fromEventStream(response: Response): Promise<Response> {
  const bytes = Buffer.from(await response.arrayBuffer());
  let sse = "";
  for (let at = 0; at < bytes.length; at += bytes.readUInt32BE(at)) {
    const payload = bytes.subarray(at + 12 + bytes.readUInt32BE(at + 4), at + bytes.readUInt32BE(at) - 4);
    const json = Buffer.from(JSON.parse(payload.toString()).bytes, "base64").toString();
    sse += `event: ${JSON.parse(json).type}\ndata: ${json}\n\n`;
  }
  return new Response(sse, { headers: { "content-type": "text/event-stream" } });
}
