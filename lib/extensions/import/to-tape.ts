import { hashOf } from "../../runtime/sha256.ts";
import { basename } from "node:path";
import { parsed } from "../../core/json.ts";
import type { Message } from "../../core/messages.ts";
import { canonical, messageText } from "../../log/canonical.ts";
import { type Header, TAPE_VERSION } from "../../log/entry.ts";
import { framesOf } from "../../log/frames.ts";
import { fromBody, noRequest } from "../../replay/tape-request.ts";
import { type Attempt, type Call, KEPT_HEADERS, MAIN, type Tape, type TapeEvent, UNRECORDED } from "../../log/tape.ts";
import { ImportRefused } from "../../replay/accumulate.ts";
import { accumulate, isStream, streamed } from "./accumulate.ts";
import type { Exchange } from "./exchange.ts";
import { answerOf, apiOf, requestOf as openaiRequest } from "./openai.ts";
import type { Recording } from "./read-recording.ts";

/**
 * Makes a tape of the calls of the Messages API and of OpenAI's APIs in a recording. The attempts of one call of the
 * Messages API stay together, as its SDK made them; `openai()` makes each as a call. `originals` are the exchanges of each
 * call, attempt by attempt.
 *
 * @throws {ImportRefused} if it has no such call, or a response that this API does not give
 */
export function toTape({ format, exchanges }: Recording, name: string) {
  const [wanted, others] = [exchanges.filter(isAnsweredCall), exchanges.filter((e) => !isAnsweredCall(e))];
  if (wanted.length === 0) {
    const held = others.length === 0 ? "" : `: it has ${listed(others.map(addressOf))}`;
    throw new ImportRefused(`it has no call of a known API with a response${held}`);
  }
  const began = wanted.reduce((first, { at = Infinity }) => Math.min(first, at), Infinity);
  const calls: Call[] = [];
  const originals: Exchange[][] = [];
  const replies: Message[] = [];
  for (const exchange of wanted) {
    const last = originals.at(-1);
    const api = apiOf(exchange);
    if (last && api === undefined && isRetry(last.at(-1)!, exchange)) {
      last.push(exchange);
      calls[calls.length - 1] = inCall(calls.length, wanted, () => withAttempt(calls.at(-1)!, exchange));
      continue;
    }
    const id = `${MAIN}#${calls.length + 1}`;
    const at = Math.max(0, (exchange.at ?? began) - began);
    calls.push(inCall(calls.length + 1, wanted, () => {
      const base = { id, lane: MAIN, attempts: [], at: Number.isFinite(at) ? at : 0 };
      if (api === undefined) return withAttempt({ ...base, request: requestOf(exchange) }, exchange);
      checkAnswer(exchange);
      const request = exchange.request === undefined
        ? standIn("unknown")
        : openaiRequest(exchange.request, api, replies);
      const { attempt, error, reply } = answerOf(exchange, api, request);
      if (reply) replies.push(reply);
      return { ...base, request, attempts: [attempt], ...(error && { error }) };
    }));
    originals.push([exchange]);
  }
  const idsOf = (is: (call: Call, i: number) => boolean) => calls.filter(is).map((call) => call.id);
  const noteOn = (ids: readonly string[], words: string) => ids.length === 0 ? [] : [`${words}: ${listed(ids)}`];
  const notes = [
    ...noteOn(others.map(addressOf), "left out, as not an answered call of a known API"),
    ...noteOn(idsOf((_, i) => originals[i]![0]!.request === undefined), "the request was not recorded"),
    ...noteOn(idsOf(({ error }) => error?.code === "cut"), "the stream was cut before 'message_stop'"),
  ];
  const header = headerOf(name, format, wanted, began);
  const prompts = wanted.every(({ request }) => request !== undefined) ? promptsOf(calls) : [];
  const tape: Tape = { header, prompts, calls, tools: [], clocks: [] };
  return { tape, originals, notes };
}

/** A redirect is not an answer: the client follows it, and the next exchange has the answer. HAR has status 0 if there was none. */
function isAnsweredCall(exchange: Exchange): boolean {
  const { method, url, status } = exchange;
  const isKnown = url === undefined || /\/messages\/?(?:[?#]|$)/.test(url) || apiOf(exchange) !== undefined;
  const isCall = method === "POST" && isKnown;
  return isCall && status !== 0 && !(status >= 300 && status < 400);
}

/** Without the query and user name, which may hold a key. */
function addressOf({ method, url = "" }: Exchange): string {
  return `${method} ${url.replace(/[?#][^]*$/, "").replace(/\/\/[^/@]*@/, "//")}`;
}

function listed(texts: readonly string[]): string {
  const all = [...new Set(texts)];
  return `${all.slice(0, 3).join(", ")}${all.length > 3 ? ` and ${all.length - 3} more` : ""}`;
}

/**
 * The prompts of a recorded conversation, so that an agent can replay it. Empty if no single run makes all calls: it
 * began with a history, or a call neither continues the one before nor retries it.
 */
function promptsOf(calls: readonly Call[]): string[] {
  const prompts: string[] = [];
  let known: readonly string[] = [];
  let failed = false;
  for (const { request: { messages }, error } of calls) {
    const texts = messages.map(messageText);
    const isLonger = texts.length > known.length || (failed && texts.length === known.length);
    const continues = isLonger && known.every((text, i) => texts[i] === text);
    if (!continues || (known.length === 0 && texts.length > 1)) return [];
    for (const { content } of messages.slice(known.length).filter(isPrompt)) {
      if (content.length > 1) return [];
      prompts.push((content[0] as unknown as { text: string }).text);
    }
    known = texts;
    failed = error !== undefined;
  }
  return prompts;
}

/** Users write text; tool results come from the agent. */
function isPrompt({ role, content }: Message): boolean {
  return role === "user" && content.length > 0 && content.every(({ type }) => type === "text");
}

/** Says which call a refusal is about, if there are several. */
function inCall(n: number, all: readonly Exchange[], make: () => Call): Call {
  try {
    return make();
  } catch (error) {
    if (!(error instanceof ImportRefused) || all.length === 1) throw error;
    throw new ImportRefused(`call ${n} cannot be read: ${error.message}`);
  }
}

/** The same request again, after a response that permits a retry. */
function isRetry(before: Exchange, after: Exchange): boolean {
  const again = [408, 409, 429].includes(before.status) || before.status >= 500;
  if (!again || before.headers["x-should-retry"] === "false" || before.request === undefined) return false;
  return canonical(before.request) === canonical(after.request);
}

function checkAnswer(exchange: Exchange): void {
  const { status } = exchange;
  if (!(status >= 100 && status < 600)) {
    throw new ImportRefused(`a response has no status${Number.isNaN(status) ? "" : `: ${status}`}`);
  }
  if (status < 400 && exchange.body() === "") {
    throw new ImportRefused("a response has no body: record it again, as its recorder did not keep the stream");
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
 * The SDK ignores events without an `event:` line and a last event without its blank line, and fails on missing blank
 * lines and on `[DONE]`: such frames are rewritten as the API sends them.
 */
function eventsOf(body: string): TapeEvent[] {
  const whole = endsInEvent(body) ? `${body.trimEnd()}\n\n` : body;
  return framesOf([{ ms: 0, bytes: new TextEncoder().encode(whole) }]).flatMap((frame) => {
    if (frame.raw === undefined || /^event: ?error/m.test(frame.raw)) return [frame];
    const events = streamed(frame.raw).map((event) => ({ ms: 0, event: event as unknown as TapeEvent["event"] }));
    return events.length > 0 ? events as TapeEvent[] : /^data: ?\[DONE\]/m.test(frame.raw) ? [] : [frame];
  });
}

/** Whether the last line with text is a complete event. */
function endsInEvent(body: string): boolean {
  const text = body.trimEnd();
  const last = text.slice(Math.max(text.lastIndexOf("\n"), text.lastIndexOf("\r")) + 1);
  return last.startsWith("data:") && parsed(last.slice("data:".length)) !== undefined;
}

/** The headers a tape keeps, unless they were redacted; the content type is that of the body. */
function keptHeaders({ headers }: Exchange, stream: boolean): { [name: string]: string } {
  const type = stream ? "text/event-stream; charset=utf-8" : "application/json";
  return Object.fromEntries(KEPT_HEADERS.flatMap((name) => {
    if (name === "content-type") return [[name, type]];
    const text = headers[name] ?? "";
    return /^[\w.:-]+$/.test(text) ? [[name, text]] : [];
  }));
}

/** Without the API version and betas: an imported tape is replayed with those of the current SDK. */
function requestOf(exchange: Exchange): Call["request"] {
  const { request } = exchange;
  if (request === undefined) {
    checkAnswer(exchange);
    const answer = accumulate(exchange);
    return standIn(answer.kind === "message" ? answer.message.model : undefined);
  }
  const why = noRequest(request);
  if (why !== undefined) throw new ImportRefused(`a request ${why}`);
  return fromBody(request);
}

function standIn(model: unknown): Call["request"] {
  return {
    model: typeof model === "string" ? model : "unknown",
    params: { max_tokens: 4096 },
    system: [],
    tools: [],
    messages: [{ role: "user", content: [{ type: "text", text: UNRECORDED }] }],
  };
}

/** What a tape says of a client, by the header of its requests. */
const VERSIONS = [
  ["sdk", "user-agent", /^[\w./ -]+$/],
  ["api", "anthropic-version", /^[\d-]+$/],
  ["betas", "anthropic-beta", /^[\w., -]+$/],
] as const;

function headerOf(name: string, format: string, exchanges: readonly Exchange[], began: number): Header {
  const url = exchanges.map((exchange) => exchange.url ?? "").find((url) => /^https?:/.test(url) && URL.canParse(url));
  // Each of the first request that has it, unless it was redacted.
  const versions = VERSIONS.flatMap(([version, name, readable]) => {
    const found = exchanges.map(({ requestHeaders }) => requestHeaders[name] ?? "").find((text) => readable.test(text));
    return found === undefined ? [] : [[version, found]];
  });
  const seed = hashOf(exchanges.map(({ body }) => body()).join("\n"), 16);
  return {
    tape: TAPE_VERSION,
    source: `imported from ${basename(name)} (${format})`,
    ...(url !== undefined && { url: new URL(url).origin }),
    at: new Date(Number.isFinite(began) ? began : 0).toISOString(),
    seed,
    versions: Object.fromEntries(versions),
    tools: false,
  };
}
