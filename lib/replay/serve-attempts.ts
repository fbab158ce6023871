import { type AnthropicOptions, connectionError, offlineWire, type Wire } from "../models/anthropic/anthropic-model.ts";
import { present } from "../core/json.ts";
import { getOrMake, makeOnce } from "../core/maps.ts";
import type { Middleware } from "../http/middleware.ts";
import type { LaneClock } from "../log/tape-clock.ts";
import { cut, frameOf } from "../log/frames.ts";
import { type Difference, differs, firstDifference } from "./drift/difference.ts";
import type { Mask } from "../log/redact/mask.ts";
import type { Normalise } from "./normalise.ts";
import { wireHeaders } from "./record/record-call.ts";
import { failureOf, tookUp } from "../log/tape-answer.ts";
import { inForm } from "../log/recorded-reply.ts";
import { asSent, bodyText, fromBody } from "./tape-request.ts";
import type { TapeOptions } from "./tape-options.ts";
import type { Attempt, Call, TapeEvent } from "../log/tape.ts";

const encoder = new TextEncoder();

export interface WireServing {
  readonly mask: Mask | undefined;
  readonly normalise: Normalise | undefined;
  readonly clock: LaneClock;
  readonly cutAt?: TapeOptions["cutAt"];
  /** Called if the SDK sends something else than the agent asked for. */
  readonly diverged: (difference: Difference) => Error;
}

/** Answers the SDK's attempts at a call from the tape, byte for byte. `next` is never called. */
export function serveAttempts(call: Call, options: WireServing): Middleware {
  let served = 0;
  let time = call.at;
  return async (request) => {
    const body = JSON.parse(bodyText(request.body));
    const difference = wireDifference(call, body, request.headers as Headers, options);
    if (difference) throw options.diverged({ ...difference, cause: "wire" });
    const recorded = call.attempts[served++];
    if (!recorded) {
      throw options.diverged({ cause: "order", path: "attempts", expected: call.attempts.length, actual: served });
    }
    const attempt = options.mask?.attemptOff(recorded) ?? recorded;
    const end = time += tookUp(attempt);
    const stream = body.stream === true;
    // A reply that never ended is read as far as it came before a deadline rings.
    const isLate = stream && attempt.events !== undefined && attempt.ended !== undefined;
    if (!isLate) options.clock.advance(end);
    const more = served < call.attempts.length;
    if (!attempt.events && attempt.body === undefined) {
      const { ended, why = "" } = attempt;
      if (ended === "timeout") throw Object.assign(new Error(`Request timed out: ${why}`), { name: "AbortError" });
      throw await connectionError(why);
    }
    const { status = 200, headers = {}, events, body: whole } = await inForm(attempt, stream);
    const pieces = events && ready(attempt, events, options.cutAt);
    const answer = pieces ? bodyOf(pieces, attempt, call, () => options.clock.advance(end)) : whole!;
    return new Response(answer, { status, headers: more ? withoutWait(headers) : headers });
  };
}

function wireDifference(
  { request }: Call,
  body: unknown,
  headers: Headers,
  { mask, normalise }: WireServing,
): Difference | undefined {
  const sent = fromBody(body);
  const found = firstDifference(asSent(request), mask ? mask.on(sent) : sent, normalise);
  if (found || !request.wire) return found;
  const header = differs(request.wire, wireHeaders(headers), "headers");
  return header && { cause: "wire", ...header };
}

/** No wait is served that the replay would have to sit out; the last attempt's is for the agent to read. */
function withoutWait(headers: NonNullable<Attempt["headers"]>): { [name: string]: string } {
  const { "retry-after": _, "retry-after-ms": __, ...rest } = headers;
  return rest;
}

const bodies = new WeakMap<Attempt, { readonly cutAt: TapeOptions["cutAt"]; readonly pieces: readonly Uint8Array[] }>();

/** The pieces of a body, made once for each attempt. */
function ready(attempt: Attempt, events: readonly TapeEvent[], cutAt: TapeOptions["cutAt"]): readonly Uint8Array[] {
  const known = bodies.get(attempt);
  if (known && known.cutAt === cutAt) return known.pieces;
  const frames = events.map(frameOf);
  const pieces = cutAt === undefined
    ? frames.map((frame) => encoder.encode(frame))
    : cut(encoder.encode(frames.join("")), cutAt);
  bodies.set(attempt, { cutAt, pieces });
  return pieces;
}

function bodyOf(
  pieces: readonly Uint8Array[],
  attempt: Attempt,
  call: Call,
  ended: () => void,
): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(controller) {
      for (const piece of pieces) controller.enqueue(piece);
      if (attempt.ended === undefined) controller.close();
    },
    async pull(controller) {
      // What was read until it ended is read first.
      if (attempt.ended === undefined) return;
      ended();
      await new Promise((resolve) => setImmediate(resolve));
      controller.error(attempt.ended === "cut" ? new Error(attempt.why) : failureOf(call, attempt));
    },
  }, { highWaterMark: 0 });
}

const wiresOf = makeOnce((_: AnthropicOptions) => new Map<string | undefined, Wire>());

/** One client for all replays that go to the same place in the same way. */
export function sharedWire(options: AnthropicOptions, url: string | undefined): Wire {
  return getOrMake(wiresOf(options), url, () => offlineWire({ ...options, ...present({ baseURL: url }) }));
}
