import { Buffer } from "node:buffer";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { text as wholeText } from "node:stream/consumers";
import { setImmediate as nextTick, setTimeout as sleep } from "node:timers/promises";
import { errorType } from "../http/errors.ts";
import { parsed } from "../core/json.ts";
import type { Block } from "../core/messages.ts";
import { ModelError, type ModelRequest } from "../core/model.ts";
import { goesOn } from "../core/reply.ts";
import { checkOptions } from "../input/options.ts";
import { checkCuts, cut, type Cuts } from "../log/frames.ts";
import { messageOf } from "../log/recorded-reply.ts";
import { opened } from "../replay/requests/listen.ts";
import { asModelRequest, invalidRequest } from "./_check-request.ts";
import {
  type Answer,
  readScript,
  SCRIPT_OPTIONS,
  type ScriptEntry,
  type ScriptOptions,
  sentEvents,
} from "../models/scripted.ts";

export interface ServedRequest {
  /** The port it came from: requests with the same one shared a connection. */
  readonly port: number;
  readonly headers: { readonly [name: string]: string };
  readonly body: any;
  /** The body as the core would have asked it; absent if it was refused. */
  readonly request?: ModelRequest;
  /** The HTTP status of the answer; 0 if it stalled before one. */
  status: number;
  /** Why it was refused; absent if it was not. */
  refused?: string;
}

/** The Messages API on this machine, answering from a script. */
export interface ScriptedServer extends AsyncDisposable {
  readonly url: string;
  readonly requests: readonly ServedRequest[];
  /** @throws {Error} if replies were not used, or a request was refused as invalid */
  done(): void;
  /** Ends every connection at once. */
  close(): Promise<void>;
}

/**
 * Serves a script as the Messages API over HTTP on 127.0.0.1: streams and plain replies, HTTP errors, cuts, stalls and
 * delays. Requests the API would refuse are refused, so that a test sees a broken conversation. `cutAt` says where a
 * streamed body is cut into writes; by default each event is one.
 *
 * @example
 * ```ts
 * import { agent, anthropic } from "crochet";
 * import { scriptedServer } from "crochet/testing";
 *
 * await using server = await scriptedServer([{ http: 529 }, { text: "hi" }]); // the first attempt fails
 * const model = anthropic({ apiKey: "test", baseURL: server.url });
 * console.log((await agent({ model }).run("hello")).text); // "hi"
 * server.done();
 * ```
 */
export async function scriptedServer(
  replies: readonly ScriptEntry[],
  options: ScriptOptions & { readonly cutAt?: Cuts } = {},
): Promise<ScriptedServer> {
  checkOptions(options, { ...SCRIPT_OPTIONS, cutAt: "any" }, "serve a script");
  if (options.cutAt !== undefined) checkCuts(options.cutAt);
  const script = readScript(replies, options);
  const requests: ServedRequest[] = [];
  const refusals: string[] = [];
  /** The last blocks of replies that paused. */
  const paused = new Set<string>();
  const closing = new AbortController();

  const server = createServer((incoming, response) => {
    answer(incoming, response).catch((error) => {
      if (!closing.signal.aborted) response.destroy(error as Error);
    });
  });

  async function answer(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const text = await wholeText(incoming);
    const body: any = parsed(text);
    const headers = Object.fromEntries(Object.entries(incoming.headers).map(([name, value]) => [name, String(value)]));
    const served: ServedRequest = { port: incoming.socket.remotePort ?? 0, headers, body, status: 0 };
    requests.push(served);
    response.setHeader("request-id", `req_scripted_${String(requests.length).padStart(4, "0")}`);
    const refuse = (status: number, message: string) => {
      served.refused = message;
      refusals.push(`request ${requests.length} got ${status} (${message})`);
      sendError(response, served, status, message);
    };
    if (incoming.method !== "POST" || !/^\/v1\/messages(\?|$)/.test(incoming.url ?? "")) {
      return refuse(404, "Not found");
    }
    if (!headers["authorization"] && !headers["x-api-key"]) return refuse(401, "x-api-key header is required");
    if (!headers["anthropic-version"]) return refuse(400, "anthropic-version: header is required");
    const isPaused = (block: Block) => paused.has(JSON.stringify(block));
    const problem = body === undefined
      ? "The request body is not valid JSON"
      : invalidRequest(body, isPaused, headers["anthropic-beta"]);
    if (problem !== undefined) return refuse(400, problem);
    const request = asModelRequest(body);
    Object.assign(served, { request });
    let next: Answer;
    try {
      next = await script.next(request);
    } catch (error) {
      return refuse(error instanceof ModelError ? 400 : 500, (error as Error).message);
    }
    const { delay, http, retryAfter, stall } = next.reply;
    if (next.events.some((event) => event.type === "message_delta" && goesOn(event.delta.stop_reason ?? ""))) {
      const { content } = await messageOf(next.events);
      paused.add(JSON.stringify(content.at(-1)));
    }
    if (delay !== undefined) await sleep(delay, undefined, { signal: closing.signal });
    if (http !== undefined) {
      if (retryAfter !== undefined) response.setHeader("retry-after", String(retryAfter));
      return sendError(response, served, http, "Scripted error");
    }
    if (stall === "start") return;
    if (body.stream !== true) return await sendMessage(response, served, next);
    await sendStream(response, served, next, options.cutAt);
  }

  const { url, close: end } = await opened(server, 0);
  const close = async () => {
    closing.abort();
    server.closeAllConnections();
    await end();
  };
  return {
    url,
    requests,
    close,
    [Symbol.asyncDispose]: close,
    done() {
      if (refusals.length > 0) throw new Error(`Cannot end the script as ${refusals.join(", ")}`);
      script.done();
    },
  };
}

function sendError(response: ServerResponse, served: ServedRequest, status: number, message: string): void {
  served.status = status;
  sendJson(response, status, {
    type: "error",
    error: { type: errorType(status), message },
    request_id: response.getHeader("request-id"),
  });
}

function sendJson(response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(value));
}

async function sendMessage(response: ServerResponse, served: ServedRequest, answer: Answer): Promise<void> {
  const failure = answer.events.find((event) => event.type === "error");
  if (failure) {
    const status = failure.error.type === "overloaded_error" ? 529 : 500;
    return sendError(response, served, status, failure.error.message);
  }
  if (answer.reply.stall) return;
  if (answer.reply.cut !== undefined) return void response.destroy();
  const message = await messageOf(answer.events);
  served.status = 200;
  sendJson(response, 200, message);
}

async function sendStream(
  response: ServerResponse,
  served: ServedRequest,
  answer: Answer,
  cutAt: Cuts | undefined,
): Promise<void> {
  served.status = 200;
  response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache" });
  const events = sentEvents(answer).map((event) =>
    Buffer.from(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
  );
  for (const part of cutAt === undefined ? events : cut(Buffer.concat(events), cutAt)) {
    if (response.destroyed) return;
    response.write(part);
    if (cutAt !== undefined) await nextTick(); // lets the part leave by itself
  }
  if (answer.reply.stall) return;
  if (answer.reply.cut === undefined) response.end();
  else {
    await nextTick();
    response.destroy();
  }
}
