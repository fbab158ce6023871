import { abortedError } from "./errors.ts";
import { type EventParser, eventParser } from "./sse.ts";
import { LONGEST_TIMER } from "../core/clock.ts";
import { ModelError, type ModelEvent } from "../core/model.ts";

/** An answer that has begun, and the means to end it. */
export interface OpenReply {
  readonly response: Response;
  readonly connection: AbortController;
}

export interface ReplyOptions {
  readonly signal: AbortSignal;
  /** Milliseconds of silence after which a reply that has begun is given up. */
  readonly idleTimeout: number;
  /** Milliseconds after which one is given up that brings nothing but signs of life: pings, comments, bits of an event. */
  readonly timeout: number;
  /** Reads what a response sends. @default the events of the Messages API */
  readonly parser?: (response: Response) => ReplyParser;
  /** The variable that says where the server is. @default ANTHROPIC_BASE_URL */
  readonly variable?: string;
}

/** A parser that may keep what it reads to itself until the reply has ended. */
export interface ReplyParser extends EventParser {
  /** Whether the last chunk said more than that the server is alive, if its events do not show it. */
  saidMore?(): boolean;
  /** Whether what came is a whole reply, though its stream has not ended. */
  isWhole?(): boolean;
}

/** The bytes of one reply at most: the longest real ones have a tenth of it, and memory ends. */
const LONGEST_REPLY = 256 * 1024 * 1024;

/**
 * The events of a reply as they arrive. Ends the connection on every way out.
 *
 * @throws {ModelError} if the reply falls silent, breaks off, cannot be read, or the signal is aborted
 */
export function replyStream(open: () => Promise<OpenReply>, options: ReplyOptions): AsyncIterable<ModelEvent> {
  return eachOf(batches(open, options));
}

/** What each chunk completes, in one go: one await for many events is what makes long replies cheap. */
async function* batches(
  open: () => Promise<OpenReply>,
  { signal, idleTimeout, timeout, parser: parserFor = streamParser, variable = "ANTHROPIC_BASE_URL" }: ReplyOptions,
): AsyncGenerator<readonly ModelEvent[], void> {
  const { response, connection } = await open();
  let parser: ReplyParser;
  try {
    parser = parserFor(response);
  } catch (error) {
    connection.abort();
    throw error;
  }
  const reader = (response.body ?? new ReadableStream({ start: (body) => body.close() })).getReader();
  let waitingSince = performance.now(); // Infinity while the consumer is at work: its time is not silence
  let saidSomething = waitingSince;
  let size = 0;
  let stalled = false;
  let finished = false;
  const silent = () => stalledError("nothing", idleTimeout, "idleTimeout");
  const stop = () => {
    connection.abort();
    reader.cancel().catch(() => {}); // ends a pending read at once
  };
  // One timer that looks back, not one per chunk: a reply has thousands of chunks.
  const watch = () => {
    const left = waitingSince + idleTimeout - performance.now();
    stalled = left <= 0;
    if (stalled) stop();
    else timer = setTimeout(watch, Math.min(left, idleTimeout, LONGEST_TIMER));
  };
  let timer = setTimeout(watch, Math.min(idleTimeout, LONGEST_TIMER));
  signal.addEventListener("abort", stop, { once: true });
  if (signal.aborted) stop();
  try {
    while (!finished) {
      waitingSince = performance.now();
      const { done, value } = await reader.read();
      waitingSince = Infinity;
      if (signal.aborted) throw abortedError(signal);
      if (stalled) throw silent();
      finished = done;
      size += value?.length ?? 0;
      if (size > LONGEST_REPLY) throw endlessError(variable);
      const events = done ? parser.end() : parser.push(value);
      if (events.length > 0) yield events;
      const now = performance.now();
      if (events.some(says) || parser.saidMore?.()) saidSomething = now;
      else if (now - saidSomething > timeout) throw stalledError("nothing but signs of life", timeout, "timeout");
    }
  } catch (error) {
    if (!signal.aborted && parser.isWhole?.()) return yield parser.end();
    if (error instanceof ModelError) throw error;
    throw signal.aborted ? abortedError(signal) : stalled ? silent() : cutError(error);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", stop);
    if (!finished) stop();
  }
}

/** Whether an event brings anything: a ping does not, nor does a piece of a block in which all texts are empty. */
function says({ type, delta }: ModelEvent & { readonly delta?: object }): boolean {
  if (type === "ping") return false;
  return type !== "content_block_delta" ||
    Object.entries(delta ?? {}).some(([key, value]) => key !== "type" && value !== "");
}

function eachOf<T>(batches: AsyncGenerator<readonly T[], void>): AsyncIterableIterator<T> {
  let batch: readonly T[] = [];
  let at = 0;
  const refill = async (): Promise<IteratorResult<T, void>> => {
    const next = await batches.next();
    if (next.done) return next;
    batch = next.value;
    at = 1;
    return { value: batch[0]!, done: false };
  };
  return {
    next: () => at < batch.length ? Promise.resolve({ value: batch[at++]!, done: false }) : refill(),
    return: async () => {
      await batches.return();
      return { value: undefined, done: true };
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

function streamParser(response: Response): ReplyParser {
  if (!response.body || /json|html/.test(typeOf(response))) throw notAStream(response, "ANTHROPIC_BASE_URL");
  return eventParser();
}

function typeOf({ headers }: Response): string {
  return headers.get("content-type") ?? "";
}

export function notAStream(response: Response, variable: string): ModelError {
  const why = `it is not a stream of events but '${typeOf(response)}'`;
  return new ModelError(`Cannot read the model's reply as ${why}: check ${variable}`, { code: "not_a_stream" });
}

function stalledError(came: string, ms: number, option: string): ModelError {
  const why = `${came} came for ${ms / 1000} s`;
  return new ModelError(`Cannot finish the reply as ${why}: raise ${option} if the model needs longer`, {
    code: "stalled",
    retryable: true,
  });
}

function endlessError(variable: string): ModelError {
  const why = `it is longer than ${LONGEST_REPLY} bytes`;
  return new ModelError(`Cannot read the model's reply as ${why}: check ${variable}`, { code: "grammar" });
}

function cutError(cause: unknown): ModelError {
  return new ModelError(`Cannot finish the reply as the connection broke: ${(cause as Error)?.message ?? cause}`, {
    code: "cut",
    retryable: true,
    cause,
  });
}
