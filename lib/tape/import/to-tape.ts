import { createHash } from "node:crypto";
import { basename } from "node:path";
import { parsed } from "../../core/json.ts";
import { framesOf } from "../frames.ts";
import { canonical } from "../canonical.ts";
import type { Header } from "../format.ts";
import { TAPE_VERSION } from "../lines.ts";
import { fromBody, noRequest } from "../request.ts";
import { type Attempt, type Call, KEPT_HEADERS, MAIN, type Tape, type TapeEvent, type TapeRequest } from "../tape.ts";
import { accumulate, isStream, streamed } from "./accumulate.ts";
import { asMessagesCall } from "./_clouds.ts";
import { type Left, leftOut, ofCalls, others, placeOf } from "./_notes.ts";
import { promptsOf } from "./_prompts.ts";
import { type Exchange, ImportRefused } from "./exchange.ts";
import type { Recording } from "./read.ts";

/** A recording as a tape, with what stands behind each attempt and what was left behind. */
interface Converted {
  readonly tape: Tape;
  /** The exchanges of each call, attempt by attempt. */
  readonly origins: readonly (readonly Exchange[])[];
  /** What is not on the tape, or not as it was, in sentences. */
  readonly notes: readonly string[];
}

/** What stands for a question that was not recorded. */
const UNRECORDED = "(the request was not recorded)";

/**
 * Makes a tape of a recording: calls of the Messages API only, attempts at one call together.
 *
 * @throws {ImportRefused} where it holds no such call, or one that is no answer of that API
 */
export function toTape({ format, exchanges }: Recording, name: string): Converted {
  const left: Left[] = [];
  const wanted = exchanges.flatMap((exchange) => {
    const call = asMessagesCall(exchange);
    const leave = (one: string, several: string) => void left.push({ place: placeOf(exchange), one, several });
    if (!call) leave("is no call of the Messages API", "are no calls of the Messages API");
    // A browser that gave up has a status of 0, and one of Playwright's -1.
    else if (call.unanswered || call.status <= 0) leave("has no answer", "have no answer");
    else if (isRedirect(call)) leave(`was sent elsewhere (${call.status})`, `were sent elsewhere (${call.status})`);
    else return [call];
    return [];
  });
  if (wanted.length === 0) {
    throw new ImportRefused(`it holds no call of the Messages API with an answer${others(exchanges)}`);
  }
  const began = wanted.reduce((first, { at = Infinity }) => Math.min(first, at), Infinity);
  const calls: Call[] = [];
  const origins: Exchange[][] = [];
  for (const exchange of wanted) {
    const last = origins.at(-1);
    if (last && isRetry(last.at(-1)!, exchange)) {
      last.push(exchange);
      calls[calls.length - 1] = inCall(calls.length, wanted, () => withAttempt(calls.at(-1)!, exchange));
      continue;
    }
    const id = `${MAIN}#${calls.length + 1}`;
    const at = Math.max(0, (exchange.at ?? began) - began);
    calls.push(inCall(calls.length + 1, wanted, () => {
      const call = { id, lane: MAIN, request: requestOf(exchange), attempts: [], at: Number.isFinite(at) ? at : 0 };
      return withAttempt(call, exchange);
    }));
    origins.push([exchange]);
  }
  const unasked = (exchange: Exchange) => exchange.request === undefined;
  const notes = [
    ...leftOut(left),
    ...ofCalls(
      origins.map(([first]) => unasked(first!)),
      "has a stand-in for its request",
      "have stand-ins for their requests",
    ),
    ...ofCalls(
      calls.map(({ error }) => error?.code === "cut"),
      "was cut: its stream has no 'message_stop'",
      "were cut: their streams have no 'message_stop'",
    ),
  ];
  const header = headerOf(name, format, wanted, began);
  const prompts = wanted.every(({ request }) => request !== undefined) ? promptsOf(calls) : [];
  return { tape: { header, prompts, calls, tools: [], clocks: [] }, origins, notes };
}

/** Clients follow it: the answer is the next exchange. */
function isRedirect({ status }: Exchange): boolean {
  return status >= 300 && status < 400;
}

/** Says which call a reason is about, where there are several. */
function inCall(n: number, all: readonly Exchange[], make: () => Call): Call {
  try {
    return make();
  } catch (error) {
    if (!(error instanceof ImportRefused) || all.length === 1) throw error;
    throw new ImportRefused(`call ${n} cannot be read: ${error.message}`);
  }
}

/** The same question again, after an answer that asks for it. */
function isRetry(before: Exchange, after: Exchange): boolean {
  const again = [408, 409, 429].includes(before.status) || before.status >= 500;
  if (!again || before.headers["x-should-retry"] === "false" || before.request === undefined) return false;
  return canonical(before.request) === canonical(after.request);
}

function checkAnswer(exchange: Exchange): void {
  const { status } = exchange;
  if (!(status >= 100 && status < 600)) {
    throw new ImportRefused(`an answer of it has no status${Number.isNaN(status) ? "" : `: ${status}`}`);
  }
  if (status < 400 && exchange.body() === "") {
    throw new ImportRefused("an answer of it has no body: its recorder did not keep the stream, record it anew");
  }
}

function withAttempt({ error: _, ...call }: Call, exchange: Exchange): Call {
  checkAnswer(exchange);
  const answer = accumulate(exchange);
  const attempt = attemptOf(exchange, answer.kind === "cut");
  const attempts = [...call.attempts, attempt];
  if (answer.kind === "message") return { ...call, attempts };
  const error = answer.kind === "cut"
    ? { code: "cut", message: "Cannot use the reply as its stream ended before 'message_stop'", retryable: true }
    : { code: answer.type, message: `Cannot call the model as the API answered ${answer.type}: ${answer.message}` };
  return { ...call, attempts, error };
}

function attemptOf(exchange: Exchange, cut: boolean): Attempt {
  const { status, took = 0 } = exchange;
  const body = exchange.body();
  const stream = isStream(exchange);
  const head = { status, headers: keptHeaders(exchange, stream) };
  if (!stream) return { ...head, body, took };
  return { ...head, events: eventsOf(body), ...(cut && { ended: "cut" as const }), took };
}

/**
 * The SDK passes over events without an `event:` line, and over a last one without its blank line; it stumbles where
 * blank lines are missing, and over a `[DONE]` that a gateway names. What it reads otherwise than it was meant is
 * written as the API does it.
 */
function eventsOf(body: string): TapeEvent[] {
  const whole = endsInEvent(body) ? `${body.trimEnd()}\n\n` : body;
  const frames = framesOf([{ ms: 0, bytes: new TextEncoder().encode(whole) }]);
  return frames.flatMap((frame) =>
    frame.raw === undefined || isForSdk(frame.raw)
      ? [frame]
      : streamed(frame.raw).map((event) => ({ ms: 0, event: event as unknown as NonNullable<TapeEvent["event"]> }))
  );
}

/** Whether the SDK reads of a frame what was meant. Half an event stays as it is: nobody can read that. */
function isForSdk(frame: string): boolean {
  const lines = frame.split(/\r\n|\r|\n/);
  const name = lines.findLast((line) => line.startsWith("event:"))?.slice("event:".length).trim();
  const data = lines.filter((line) => line.startsWith("data:")).map((line) => line.slice("data:".length)).join("\n");
  if (name === "error" || data === "") return true;
  const meant = streamed(frame);
  if (meant.length === 0) return name === undefined || data.trim() !== "[DONE]";
  return name !== undefined && canonical(meant) === canonical([parsed(data) ?? null]);
}

/** Whether the last line that is not blank is an event, and whole. */
function endsInEvent(body: string): boolean {
  const text = body.trimEnd();
  const last = text.slice(Math.max(text.lastIndexOf("\n"), text.lastIndexOf("\r")) + 1);
  return last.startsWith("data:") && parsed(last.slice("data:".length)) !== undefined;
}

/** What a tape keeps, unless it was blacked out; the content type is what the body is. */
function keptHeaders({ headers }: Exchange, stream: boolean): { [name: string]: string } {
  const type = stream ? "text/event-stream; charset=utf-8" : "application/json";
  return Object.fromEntries(KEPT_HEADERS.flatMap((name) => {
    if (name === "content-type") return [[name, type]];
    const text = headers[name] ?? "";
    return /^[\w.:-]+$/.test(text) ? [[name, text]] : [];
  }));
}

/** Without the headers of the wire: those of today's SDK are others, and an imported tape is for today's. */
function requestOf(exchange: Exchange): TapeRequest {
  return exchange.request === undefined ? standIn(exchange) : readRequest(exchange.request);
}

function readRequest(body: unknown): TapeRequest {
  const why = noRequest(body);
  if (why !== undefined) throw new ImportRefused(`a request of it ${why}`);
  return fromBody(body);
}

function standIn(exchange: Exchange): TapeRequest {
  checkAnswer(exchange);
  const answer = accumulate(exchange);
  const model = answer.kind === "message" ? answer.message.model : undefined;
  return {
    model: typeof model === "string" ? model : "unknown",
    params: { max_tokens: 4096 },
    system: [],
    tools: [],
    messages: [{ role: "user", content: [{ type: "text", text: UNRECORDED }] }],
  };
}

function headerOf(name: string, format: string, exchanges: readonly Exchange[], began: number): Header {
  const url = exchanges.map((exchange) => exchange.url ?? "").find((url) => /^https?:/.test(url) && URL.canParse(url));
  const sdk = firstHeader(exchanges, "user-agent", /^[\w./ -]+$/);
  const api = firstHeader(exchanges, "anthropic-version", /^[\d-]+$/);
  const betas = firstHeader(exchanges, "anthropic-beta", /^[\w., -]+$/);
  const seed = createHash("sha256").update(exchanges.map(({ body }) => body()).join("\n")).digest("hex").slice(0, 16);
  return {
    tape: TAPE_VERSION,
    source: `imported from ${basename(name)} (${format})`,
    ...(url !== undefined && { url: new URL(url).origin }),
    at: new Date(Number.isFinite(began) ? began : 0).toISOString(),
    seed,
    versions: {
      ...(sdk !== undefined && { sdk }),
      ...(api !== undefined && { api }),
      ...(betas !== undefined && { betas }),
    },
    tools: false,
  };
}

/** A header of the first request that has it, unless it was blacked out. */
function firstHeader(exchanges: readonly Exchange[], name: string, readable: RegExp): string | undefined {
  return exchanges.map(({ requestHeaders }) => requestHeaders[name]).find((text) =>
    text !== undefined && readable.test(text)
  );
}
