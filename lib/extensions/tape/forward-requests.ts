import { Buffer } from "node:buffer";
import type { ServerResponse } from "node:http";
import { thrownWords } from "../../core/shown.ts";
import { type Chunk, framesOf } from "../../log/frames.ts";
import { headersNamed } from "../../replay/record/record-call.ts";
import { SeenWire } from "../../replay/record/seen-wire.ts";
import type { Redactor } from "../../log/redact/redact.ts";
import { type Attempt, KEPT_HEADERS } from "../../log/tape.ts";
import { asksModel } from "../../replay/requests/api.ts";
import { type Incoming, type Provider, sendError } from "../../replay/requests/listen.ts";
import { McpRecorder } from "./mcp.ts";
import type { Exchange } from "./tape-of-run.ts";

/** Where each provider's requests go. */
export type Upstreams = { readonly [prefix in Provider]: string };

/** What is between one hop and the next, and what we decide ourselves. */
const DROPPED = new Set([
  ...["connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection", "te", "trailer"],
  ...["transfer-encoding", "upgrade", "host", "content-length", "accept-encoding"],
]);

const MOST_WAITING = 2_000;

/** Passes requests on to the real API and notes what went over the wire. */
export class Recorder {
  readonly exchanges: Exchange[] = [];
  readonly began: number = Date.now();
  readonly mcp: McpRecorder;
  /** What answered, as far as the wire shows. */
  readonly seen: SeenWire;
  readonly #upstreams: Upstreams;
  readonly #secret: Redactor["learn"];
  readonly #underWay = new Set<Promise<void>>();

  /** `secret` gets what must not be shown on a tape. */
  constructor(upstreams: Upstreams, secret: Redactor["learn"]) {
    this.#upstreams = upstreams;
    this.#secret = secret;
    this.mcp = new McpRecorder(secret);
    this.seen = new SeenWire(secret);
  }

  /** Waits a moment for answers that are under way: the program that asked for them has ended. */
  async settled(): Promise<void> {
    const all = Promise.allSettled(this.#underWay);
    await Promise.race([all, new Promise((resolve) => setTimeout(resolve, MOST_WAITING).unref())]);
  }

  answer = (incoming: Incoming, response: ServerResponse): Promise<void> => {
    if (incoming.prefix === "mcp") return this.#passMcp(incoming, response);
    const passed = this.#pass(incoming, incoming.prefix, response).finally(() => this.#underWay.delete(passed));
    this.#underWay.add(passed);
    return passed;
  };

  /** An MCP server that is reached over HTTP; what one that is a process says comes from `crochet mcp`. */
  async #passMcp(incoming: Incoming, response: ServerResponse): Promise<void> {
    if (this.mcp.hears(incoming, response)) return;
    const { sent } = incoming;
    const { to, headers, talk } = this.mcp.sends(incoming);
    const gone = new AbortController();
    response.on("close", () => gone.abort());
    let text = "";
    const decoder = new TextDecoder();
    const hear = (chunk: Uint8Array) => {
      const frames = (text += decoder.decode(chunk, { stream: true })).split(/\r?\n\r?\n/);
      text = frames.pop()!;
      for (const frame of frames) talk.hears(frame.replace(/^(?:data: ?|(?:event|id|retry):.*\n?)/gm, ""));
    };
    const { answered, broken } = await passedOn(to, { ...incoming, headers }, response, gone.signal, hear);
    talk.hears(text);
    const isLocked = answered?.status === 401 &&
      /resource_metadata/.test(answered.headers.get("www-authenticate") ?? "");
    if (isLocked) this.mcp.locked = talk.server;
    if (!answered && !gone.signal.aborted) sendError(response, "anthropic", 502, `Cannot reach ${to}: ${broken!.why}`);
    const status = answered?.status ?? 502;
    if (sent.method === "POST" && !gone.signal.aborted) {
      talk.ends(status < 400 ? undefined : { code: status, message: text.slice(0, 200) });
    }
  }

  async #pass(incoming: Incoming, prefix: Provider, response: ServerResponse): Promise<void> {
    const { sent, headers, query } = incoming;
    if (asksModel(sent)) this.mcp.requests++;
    const began = performance.now();
    const at = Date.now() - this.began;
    const exchange: Exchange = { sent, headers, at, attempt: { ended: "aborted", took: 0 } };
    this.exchanges.push(exchange);
    this.#learn(headers, query);
    const url = upstreamUrl(this.#upstreams[prefix], prefix, sent.path) + query;
    const gone = new AbortController();
    response.on("close", () => setTimeout(() => gone.abort(), A_MOMENT));
    const { answered, chunks, broken } = await passedOn(url, incoming, response, gone.signal);
    const took = Math.round(performance.now() - began);
    exchange.attempt = { ...(answered && answerOf(answered, chunks)), ...broken, took };
    if (answered) {
      this.seen.went(url);
      this.seen.responseHeaders(answered.headers);
    } else if (!gone.signal.aborted) {
      const why = `Cannot reach ${new URL(url).origin}: ${broken!.why}`;
      exchange.attempt = { status: 502, body: why, took };
      sendError(response, sent.api, 502, why);
    }
  }

  #learn(headers: Incoming["headers"], query: string): void {
    this.seen.requestHeaders(new Headers(headers));
    for (const key of [headers["x-goog-api-key"], new URLSearchParams(query).get("key")]) {
      if (key) this.#secret("key", "api-key", key);
    }
  }
}

/** A program that has read all it wants may leave before the end of its answer is seen here. */
const A_MOMENT = 100;

/** A path below our prefix at a provider: the base that OpenAI's clients are given ends with `/v1`. */
function upstreamUrl(base: string, prefix: Provider, path: string): string {
  const bare = base.replace(/\/+$/, "");
  const hasVersion = prefix === "openai" || bare.endsWith("/v1");
  return bare + (hasVersion ? path.replace(/^\/v1(?=\/)/, "") : path);
}

/** What came of a request that is passed on, and how it broke off, if it did. */
async function passedOn(
  url: string,
  { sent: { method }, headers, bytes }: Incoming,
  response: ServerResponse,
  signal: AbortSignal,
  hear?: (chunk: Uint8Array) => void,
): Promise<{ answered: Response | undefined; chunks: readonly Chunk[]; broken?: Pick<Attempt, "ended" | "why"> }> {
  const began = performance.now();
  const kept = Object.entries(headers).filter(([name]) => !DROPPED.has(name));
  const chunks: Chunk[] = [];
  let answered: Response | undefined;
  try {
    answered = await fetch(url, {
      method,
      headers: [...kept, ["accept-encoding", "identity"]] as [string, string][],
      ...(bytes.length > 0 && { body: new Uint8Array(bytes) }),
      redirect: "manual",
      signal,
      ...{ timeout: false }, // Bun would give up after five minutes
    });
    const passed = [...answered.headers].filter(([name]) => !DROPPED.has(name) && name !== "content-encoding");
    response.writeHead(answered.status, Object.fromEntries(passed));
    response.flushHeaders();
    for await (const chunk of answered.body ?? []) {
      chunks.push({ ms: Math.round(performance.now() - began), bytes: chunk });
      hear?.(chunk);
      if (!response.destroyed && !response.write(chunk)) {
        await new Promise<void>((resolve) => {
          response.once("drain", resolve);
          signal.addEventListener("abort", () => resolve(), { once: true });
        });
      }
    }
    response.end();
    return { answered, chunks };
  } catch (error) {
    if (answered) response.destroy();
    return { answered, chunks, broken: { ended: signal.aborted ? "aborted" : "cut", why: thrownWords(error) } };
  }
}

function answerOf({ status, headers }: Response, chunks: readonly Chunk[]): Omit<Attempt, "took"> {
  const head = { status, headers: headersNamed(KEPT_HEADERS, headers) };
  if (/event-stream/.test(headers.get("content-type") ?? "")) return { ...head, events: framesOf(chunks) };
  return chunks.length === 0 ? head : { ...head, body: Buffer.concat(chunks.map(({ bytes }) => bytes)).toString() };
}
