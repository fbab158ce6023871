import { thrownWords } from "../../core/thrown.ts";
import type { Middleware } from "../../http/middleware.ts";
import { type Chunk, framesOf } from "../frames.ts";
import { type Attempt, KEPT_HEADERS } from "../tape.ts";

/** Called with what goes over the wire for one call. */
export interface WireListener {
  request(url: string, headers: Headers): void;
  response(headers: Headers): void;
  /** An attempt that has begun to be answered; what follows is added to it. */
  attempt(attempt: () => Attempt): void;
}

/** Sees every attempt of one call without changing it. Milliseconds are whole: a tape need not know more. */
export function recordAttempts(listener: WireListener, signal: AbortSignal): Middleware {
  // The first attempt may wait as well: for the SDK to be loaded.
  let over = performance.now();
  return async (request, next) => {
    const began = performance.now();
    const ms = Math.round(began - over);
    const waited = ms > 0 ? { waited: ms } : {};
    const took = () => {
      over = performance.now();
      return Math.round(over - began);
    };
    listener.request(request.url, request.headers as Headers);
    let response: Response;
    try {
      response = await next(request);
    } catch (error) {
      const failed: Attempt = { ...waited, ended: failureOf(error, signal), why: rootWords(error), took: took() };
      listener.attempt(() => failed);
      throw error;
    }
    listener.response(response.headers);
    const answer = { ...waited, status: response.status, headers: headersNamed(KEPT_HEADERS, response.headers) };
    const { body } = response;
    if (response.ok && body && !/json|html/.test(response.headers.get("content-type") ?? "")) {
      const watched = watch(body, took, signal);
      listener.attempt(() => ({ ...answer, ...watched.attempt() }));
      return new Response(watched.body, { status: response.status, headers: response.headers });
    }
    const text = body ? await response.text() : "";
    const whole: Attempt = { ...answer, body: text, took: took() };
    listener.attempt(() => whole);
    return new Response(body ? text : null, { status: response.status, headers: response.headers });
  };
}

/** Those headers of a list of names that are there. */
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
