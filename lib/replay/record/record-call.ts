import { countUp } from "../../core/maps.ts";
import type { Middleware } from "../../http/middleware.ts";
import { type Wire, wireOf } from "../../models/anthropic/anthropic-model.ts";
import type { Model, ModelEvent, ModelRequest } from "../../core/model.ts";
import { thrownWords } from "../../core/shown.ts";
import { errorOf, KeptStream } from "../../log/stream.ts";
import { type Chunk, framesOf } from "../../log/frames.ts";
import { type Attempt, type Call, fromModel, KEPT_HEADERS, type TapeRequest } from "../../log/tape.ts";
import { changedOnTheWay } from "../tape-request.ts";
import type { CallError } from "../../log/entry.ts";
import type { SeenWire } from "./seen-wire.ts";

/** A call while it is recorded; nothing of it is masked yet. */
export interface LiveCall {
  readonly lane: string;
  request: TapeRequest;
  readonly at: number;
  readonly attempts: (() => Attempt)[];
  /** How long since its last attempt, if its agent was ended in the call, or the call is still under way. */
  left?: number | (() => number) | undefined;
  error?: CallError;
}

const WIRE_HEADERS = ["anthropic-version", "anthropic-beta"];

export function wireHeaders(headers: Headers): { [name: string]: string } {
  return headersNamed(WIRE_HEADERS, headers);
}

/**
 * Asks a model and notes the call: each HTTP attempt if the model is the SDK's, its events if it is a
 * function. The events are passed on as they come.
 */
export async function* recordCall(
  model: Model,
  request: ModelRequest,
  signal: AbortSignal,
  to: { lane: string; at: number; seen: SeenWire; note: (call: LiveCall) => void; ended: () => void },
): AsyncGenerator<ModelEvent> {
  const call: LiveCall = { lane: to.lane, request: fromModel(request), at: to.at, attempts: [] };
  to.note(call);
  const wire = wireOf(model.named?.(request.model) ?? model);
  try {
    if (wire) yield* overWire(wire, request, signal, call, to.seen);
    else {
      const kept = new KeptStream(model(request, signal), signal, () => {});
      call.attempts.push(() => kept.attempt);
      yield* kept;
    }
  } catch (error) {
    call.error = errorOf(error);
    throw error;
  } finally {
    // An agent that is ended in its call is over before the call is: that begins no step.
    if (!signal.aborted) to.ended();
  }
}

async function* overWire(
  wire: Wire,
  request: ModelRequest,
  signal: AbortSignal,
  call: LiveCall,
  seen: SeenWire,
): AsyncGenerator<ModelEvent> {
  const began = performance.now();
  const sinceLast = () =>
    Math.round(performance.now() - began) -
    call.attempts.map((made) => made()).reduce((sum, { waited = 0, took }) => sum + waited + took, 0);
  // The agent may be ended before an answer comes: while the SDK loads, or waits to try again.
  call.left = sinceLast;
  let wait: number | undefined;
  try {
    yield* wire.call(request, signal, [recordAttempts(request, call, seen, signal)]);
  } catch (error) {
    if (signal.aborted) wait = sinceLast();
    throw error;
  } finally {
    call.left = wait;
  }
}

/** The calls of a recording, numbered in their lanes after those that are kept. */
export function finishedCalls(live: readonly LiveCall[], kept: readonly Call[]): Call[] {
  const counts = new Map<string, number>();
  for (const { lane, id } of kept) counts.set(lane, Math.max(counts.get(lane) ?? 0, Number(id.slice(lane.length + 1))));
  return live.map(({ lane, attempts, left, error, ...call }): Call => {
    const number = countUp(counts, lane);
    const made = asTheyEnded(attempts.map((attempt) => attempt()), left, error);
    return { id: `${lane}#${number}`, lane, ...call, attempts: made, ...(error && { error }) };
  });
}

/**
 * A reader may leave a stream early when it has the whole reply or an unusable one: only a failed call was
 * stalled. An agent that is ended between two attempts is ended in one that sends nothing.
 */
function asTheyEnded(
  attempts: readonly Attempt[],
  left: LiveCall["left"],
  error: CallError | undefined,
): readonly Attempt[] {
  const seen = attempts.map(({ ended, ...rest }): Attempt =>
    ended && (ended !== "stall" || error) ? { ...rest, ended } : rest
  );
  if (left === undefined || seen.at(-1)?.ended === "aborted") return seen;
  return [...seen, { ended: "aborted", took: Math.max(0, typeof left === "number" ? left : left()) }];
}

/** Sees every attempt of one call without changing it. Milliseconds are whole: a tape need not know more. */
function recordAttempts(
  { params }: ModelRequest,
  call: LiveCall,
  seen: SeenWire,
  signal: AbortSignal,
): Middleware {
  const betas = (params?.betas ?? []) as readonly string[];
  // The first attempt may wait as well: for the SDK to be loaded.
  let over = performance.now();
  return async (request, next, { options }) => {
    const began = performance.now();
    const ms = Math.round(began - over);
    const waited = ms > 0 ? { waited: ms } : {};
    const took = () => {
      over = performance.now();
      return Math.round(over - began);
    };
    const headers = request.headers as Headers;
    seen.went(request.url);
    seen.requestHeaders(headers);
    // What any middleware changed: this one comes after all.
    const sent = changedOnTheWay(options?.body, request.body);
    const hasOther = headers.get("anthropic-beta")?.split(",").some((beta) => !betas.includes(beta.trim()));
    for (const field of [...Object.keys(sent ?? {}), ...(hasOther ? ["betas"] : [])]) seen.fields.add(field);
    call.request = { ...call.request, wire: wireHeaders(headers), ...(sent && { sent }) };
    let response: Response;
    try {
      response = await next(request);
    } catch (error) {
      const failed: Attempt = { ...waited, ended: failureOf(error, signal), why: rootWords(error), took: took() };
      call.attempts.push(() => failed);
      throw error;
    }
    seen.responseHeaders(response.headers);
    const answer = { ...waited, status: response.status, headers: headersNamed(KEPT_HEADERS, response.headers) };
    const { body } = response;
    if (response.ok && body && !/json|html/.test(response.headers.get("content-type") ?? "")) {
      const watched = watch(body, took, signal);
      call.attempts.push(() => ({ ...answer, ...watched.attempt() }));
      return new Response(watched.body, { status: response.status, headers: response.headers });
    }
    const text = body ? await response.text() : "";
    const whole: Attempt = { ...answer, body: text, took: took() };
    call.attempts.push(() => whole);
    return new Response(body ? text : null, { status: response.status, headers: response.headers });
  };
}

export function headersNamed(names: readonly string[], headers: Headers): { [name: string]: string } {
  return Object.fromEntries(names.flatMap((name) => {
    const value = headers.get(name);
    return value === null ? [] : [[name, value]];
  }));
}

/** Hands a body on and keeps what passes. */
function watch(body: ReadableStream<Uint8Array>, took: () => number, signal: AbortSignal) {
  const reader = body.getReader();
  const chunks: Chunk[] = [];
  let end: Pick<Attempt, "ended" | "why" | "took"> | undefined;
  const passed = new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (done) {
          end ??= { took: took() };
          return controller.close();
        }
        chunks.push({ ms: took(), bytes: value.slice() });
        controller.enqueue(value);
      } catch (error) {
        end ??= { ended: signal.aborted ? "aborted" : "cut", why: rootWords(error), took: took() };
        controller.error(error);
      }
    },
    async cancel(reason) {
      end ??= { ended: signal.aborted ? "aborted" : "stall", took: took() };
      await reader.cancel(reason).catch(() => {});
    },
  }, { highWaterMark: 0 });
  return {
    body: passed,
    attempt: (): Pick<Attempt, "events" | "ended" | "why" | "took"> => {
      const events = framesOf(chunks);
      const { ended, ...rest } = end ?? { ended: "aborted" as const, took: took() };
      return { events, ...(ended && { ended }), ...rest };
    },
  };
}

function failureOf(error: unknown, signal: AbortSignal): NonNullable<Attempt["ended"]> {
  if (signal.aborted) return "aborted";
  const { name, message } = error as Error;
  return name === "AbortError" || /timed? ?out/i.test(message) ? "timeout" : "reset";
}

function rootWords(error: unknown): string {
  let cause = error;
  while (cause instanceof Error && cause.cause instanceof Error) cause = cause.cause;
  return thrownWords(cause);
}
