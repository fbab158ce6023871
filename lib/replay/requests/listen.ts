import { Buffer } from "node:buffer";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { type AddressInfo, connect, createServer as createSocketServer, type Server, type Socket } from "node:net";
import { isObject, type JsonObject, parsed } from "../../core/json.ts";
import { decompressed } from "./decompress.ts";
import { apiOf, errorBody } from "./api.ts";
import { keptHeaders } from "./compared-program.ts";
import type { Sent } from "../../log/tape.ts";

/** The providers, each by the first part of the paths below which it is served, and MCP servers. */
const PREFIXES = ["anthropic", "openai", "gemini", "mcp"] as const;
type Prefix = typeof PREFIXES[number];
export type Provider = Exclude<Prefix, "mcp">;

export interface Incoming {
  readonly prefix: Prefix;
  readonly sent: Sent;
  /** All headers, credentials too. */
  readonly headers: { readonly [name: string]: string };
  readonly query: string;
  /** The bytes of the body as they came. */
  readonly bytes: Uint8Array;
}

export interface Listening {
  /** Where providers are served: `<url>/anthropic`, `<url>/openai/v1`, `<url>/gemini`; MCP servers: `<url>/mcp/<name>`. */
  readonly url: string;
  /** Ends every connection at once. */
  close(): Promise<void>;
}

interface ListenOptions {
  /** @default any that is free */
  readonly port?: number;
  /** The first part of every path: a client that does not know it is not served. @default one that cannot be guessed */
  readonly token?: string;
  /** The largest body that is read, in bytes. @default 64 MiB, twice what any of the APIs takes */
  readonly largest?: number;
  /** Lets the process end although it listens. @default false */
  readonly unref?: boolean;
}

/** Listens on 127.0.0.1 for requests to the providers' APIs. */
export async function listen(
  answer: (incoming: Incoming, response: ServerResponse) => Promise<void>,
  { port = 0, token = crypto.randomUUID().replaceAll("-", ""), largest = 64 * 2 ** 20, unref = false }: ListenOptions =
    {},
): Promise<Listening> {
  const base = `/${token}`;
  const server = createServer((request, response) => {
    const refused = refusal(request, base);
    if (refused) return refuse(refused, request, response);
    received(request, response, base, largest).then((incoming) => incoming && answer(incoming, response))
      .catch((error) => response.destroy(error as Error));
  });
  // A model may think for minutes.
  server.requestTimeout = 0;
  // Codex asks for a WebSocket first, and goes on at once after this answer alone.
  server.on(
    "upgrade",
    (_, socket) => socket.end("HTTP/1.1 426 Upgrade Required\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"),
  );
  const { url, close } = await opened(server, port);
  if (unref) server.unref();
  return { url: `${url}${base}`, close: () => (server.closeAllConnections(), close()) };
}

/** Lets a server listen on 127.0.0.1; to close it ends its connections. */
export async function opened(server: Server, port: number): Promise<Listening> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    socket.on("error", () => {}); // a client that hangs up
  });
  await new Promise<void>((resolve, reject) => server.once("error", reject).listen(port, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

/** Why a request is not served, said before its body is read: only who was given the address is, by no other name. */
function refusal({ headers: { host = "" }, url = "" }: IncomingMessage, base: string): [number, string] | undefined {
  if (!/^(?:127\.0\.0\.1|localhost)(?::\d+)?$/.test(host)) return [403, "Cannot serve this host: use 127.0.0.1"];
  const [, prefix = ""] = /^\/(\w+)\//.exec(pathOf(url).slice(base.length)) ?? [];
  return pathOf(url).startsWith(`${base}/`) && PREFIXES.includes(prefix as Prefix)
    ? undefined
    : [404, "Cannot find this path"];
}

/** A client that goes through a proxy names the server as well. */
function pathOf(url: string): string {
  return url.replace(/^http:\/\/[^/]*/, "");
}

/** Answers, and hangs up on what is still to come. */
function refuse([status, why]: [number, string], request: IncomingMessage, response: ServerResponse): void {
  response.setHeader("connection", "close");
  response.on("finish", () => request.destroy());
  sendError(response, "anthropic", status, why);
}

/** A request with its body; undefined if that is too large, which is answered. */
async function received(
  request: IncomingMessage,
  response: ServerResponse,
  base: string,
  largest: number,
): Promise<Incoming | undefined> {
  const chunks: Uint8Array[] = [];
  let size = Number(request.headers["content-length"] ?? 0);
  if (size <= largest) {
    size = 0;
    for await (const chunk of request) {
      size += chunk.length;
      if (size > largest) break;
      chunks.push(chunk);
    }
  }
  if (size > largest) return void refuse([413, `Cannot read a body of more than ${largest} bytes`], request, response);
  const bytes = Buffer.concat(chunks);
  const { method = "GET", url = "/" } = request;
  const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]));
  const [, prefix, path, query = ""] = /^\/(\w+)(\/[^?]*)(\?.*)?$/s.exec(pathOf(url).slice(base.length))!;
  const plain = path === "/messages" ? "/v1/messages" : path!;
  const sent: Sent = {
    api: apiOf(prefix!, plain),
    method,
    path: plain,
    query: withoutKey(query),
    headers: keptHeaders(headers),
    ...(method === "POST" && { body: bodyOf(bytes, headers["content-encoding"]) }),
  };
  return { prefix: prefix as Prefix, sent, headers, query, bytes };
}

/** Google's API takes a key in the query. */
function withoutKey(query: string): string {
  const params = new URLSearchParams(query);
  params.delete("key");
  return params.toString();
}

/** A body as a value; one that is not a JSON object is kept as a text. */
function bodyOf(bytes: Uint8Array, encoding = ""): JsonObject {
  const text = new TextDecoder().decode(decompressed(bytes, encoding));
  const value = parsed(text);
  return isObject(value) ? value : text === "" ? {} : { $body: value ?? text };
}

export function sendError(response: ServerResponse, api: Sent["api"], status: number, message: string): void {
  response.writeHead(status, { "content-type": "application/json", "x-should-retry": "false" });
  response.end(errorBody(api, status, message));
}

/** A proxy that lets nothing through but to our own server, and says which hosts were asked for. */
export async function refusingProxy(ours: string, asked: (host: string) => void): Promise<Listening> {
  const { port } = new URL(ours);
  const server = createSocketServer((socket) => {
    socket.once("data", (bytes: Uint8Array) => {
      const [, method, host = ""] = /^(\w+) (?:https?:\/\/)?([^\s/]+)/.exec(new TextDecoder().decode(bytes)) ?? [];
      if (host === `127.0.0.1:${port}` || host === `localhost:${port}`) {
        const there = connect(Number(port), "127.0.0.1");
        socket.on("close", () => there.destroy());
        there.on("error", () => socket.destroy()).pipe(socket).pipe(there);
        if (method === "CONNECT") return socket.write("HTTP/1.1 200 Connection Established\r\n\r\n");
        return there.write(bytes);
      }
      if (host !== "") asked(host.replace(/:(?:443|80)$/, ""));
      socket.end("HTTP/1.1 403 Forbidden\r\nconnection: close\r\ncontent-length: 0\r\n\r\n");
    });
  });
  return await opened(server, 0);
}
