import type { ModelEvent } from "../../core/model.ts";
import { dataOf, piecesOf } from "../../log/answers.ts";
import type { Api } from "../../log/entry.ts";
import { errorBody } from "../../replay/requests/api.ts";
import type { Attempt, Call, TapeEvent } from "../../log/tape.ts";
import { replyEvents, streamed, withAttempts } from "../../replay/free-run.ts";
import type { FailingKind, Fault, FaultKind, FaultPlace, KindAt } from "./fault.ts";
import { FAULTS, isInput, kindOf, placeOf } from "./fault.ts";

function isFailing(kind: FaultKind): kind is FailingKind {
  return FAULTS[kind].fails === true;
}

/**
 * What comes of one recorded call under faults: one call for each time the model is asked. Attempts that fail before
 * the reply are repeated by the SDK within one call; a reply that breaks off is a failed call, and the next is another.
 * The last one is the reply, or the failure that stays for good.
 */
export function callsUnder(call: Call, faults: readonly Fault[]): Call[] {
  if (call.sent && call.sent.api !== "anthropic") return callsOfOthers(call.sent.api, call, faults);
  let events = replyEvents(call);
  const below: Attempt[] = [];
  const broken: Attempt[] = [];
  let forGood: Attempt[] | undefined;
  for (const fault of faults) {
    const { times = 1 } = fault;
    const fails = isFailing(kindOf(fault).kind);
    const attempt = fails ? isBelow(fault) ? refused(fault) : brokenOff(events, fault) : undefined;
    if (!fails) events = changed(events, fault);
    else if (attempt && times === Infinity) {
      forGood ??= Array<Attempt>(isBelow(fault) && !isFinal(attempt) ? SDK_ATTEMPTS : 1).fill(attempt);
    } else if (attempt) (isBelow(fault) ? below : broken).push(...Array<Attempt>(Math.max(1, times)).fill(attempt));
  }
  const reply = forGood ?? (events.length === 0 ? call.attempts : [streamed(events)]);
  const [first, ...rest] = [...broken.map((attempt) => [attempt]), reply];
  return [...asked(call, below, first!), ...rest.map((attempts) => withAttempts(call, attempts))];
}

/** As `callsUnder`, for an answer of another API: its frames are cut and dropped as they are. */
function callsOfOthers(api: Api, call: Call, faults: readonly Fault[]): Call[] {
  const good = call.attempts.at(-1)!;
  const failed = faults.flatMap((fault) => {
    const attempt = answerUnder(api, good, fault);
    return attempt ? Array<Attempt>(isForGood(fault) ? 1 : Math.max(1, fault.times ?? 1)).fill(attempt) : [];
  });
  const attempts = faults.some(isForGood) && failed.length > 0 ? failed : [...failed, good];
  return attempts.map((attempt) => withAttempts(call, [attempt]));
}

/** What a fault makes of an answer of another API; undefined if it does nothing. */
function answerUnder(api: Api, good: Attempt, fault: Fault): Attempt | undefined {
  const { events = [], body = "" } = good;
  const at = frameOf(api, events, fault);
  const before = good.events
    ? { ...good, events: events.slice(0, at) }
    : { ...good, body: body.slice(0, body.length / 2) };
  const { kind } = kindOf(fault);
  if (kind !== "dup-start" && isFailing(kind)) return failedAfter(api, before, fault);
  if (!kind.startsWith("json ")) return undefined;
  const isHit = (i: number) => kind === "json drop" ? i === at : i >= at;
  return { ...good, events: events.filter((event, i) => !isHit(i) || !formsIn(api, event).includes("json")) };
}

/** The frame that a fault hits: the one with the delta it names, of its kind of block. */
function frameOf(api: Api, events: readonly TapeEvent[], { block, delta = 0 }: Fault): number {
  if (block === undefined) return 0;
  if (block === "end") return Math.max(0, events.length - 1);
  const form = block.startsWith("tool_use") ? "json" : "plain";
  const frames = events.flatMap((event, i) => formsIn(api, event).includes(form) ? [i] : []);
  return frames[Math.min(delta, frames.length - 1)] ?? Math.min(1, events.length);
}

function formsIn(api: Api, event: TapeEvent): string[] {
  const data = dataOf(event);
  return data ? piecesOf(api, data).map(({ form }) => form) : [];
}

/** Whether what hits a call never stops hitting it. */
export function isForGood({ times }: Fault): boolean {
  return times === Infinity;
}

/** How often the SDK asks before it gives up. */
const SDK_ATTEMPTS = 3;

/** Whether the SDK does not ask again after it. */
function isFinal({ status }: Attempt): boolean {
  return status !== undefined && status < 500 && ![408, 409, 429].includes(status);
}

/**
 * Failures that the SDK sees and repeats are spread over the calls it takes; the last of them is answered, as far as it
 * asks: if the answer is a failure too, the next call is nothing but that.
 */
function asked(call: Call, below: readonly Attempt[], answer: readonly Attempt[]): Call[] {
  const calls: Call[] = [];
  let attempts: Attempt[] = [];
  for (const attempt of below) {
    attempts.push(attempt);
    if (!isFinal(attempt) && attempts.length < SDK_ATTEMPTS) continue;
    calls.push(withAttempts(call, attempts));
    attempts = [];
  }
  if (attempts.length === 0) return [...calls, withAttempts(call, answer)];
  const left = answer.slice(0, SDK_ATTEMPTS - attempts.length);
  const last = withAttempts(call, [...attempts, ...left]);
  return [...calls, last, ...(left.length < answer.length ? [withAttempts(call, answer)] : [])];
}

/** Whether it hits before the reply begins: then the SDK retries. */
function isBelow(fault: Fault): boolean {
  return fault.block === undefined && ["http", "reset", "stall"].includes(kindOf(fault).kind);
}

const WORDS = "A fault of the schedule";

/** An attempt that never got a reply. */
function refused(fault: Fault): Attempt {
  const { kind } = kindOf(fault);
  if (kind === "reset") return { ended: "reset", why: "The connection was reset", took: 10 };
  if (kind === "stall") return { ended: "timeout", why: "Nothing was answered", took: 600_000 };
  return failedAfter("anthropic", { took: 10 }, fault);
}

/** An attempt whose reply breaks off; undefined if the reply does not have the place. */
function brokenOff(events: readonly ModelEvent[], fault: Fault): Attempt | undefined {
  const isTwice = kindOf(fault).kind === "dup-start";
  const place = fault.block === undefined
    ? { at: isTwice ? 1 : 0, index: -1 }
    : placeOf(events, fault.block, fault.delta ?? 0);
  if (!place || events.length === 0) return undefined;
  return isTwice
    ? streamed(startedTwice(events, place))
    : failedAfter("anthropic", streamed(events.slice(0, place.at)), fault);
}

function failedAfter(api: Api, before: Attempt, fault: Fault): Attempt {
  const { kind, argument } = kindOf<Exclude<FailingKind, "dup-start">>(fault);
  switch (kind) {
    case "http": {
      const [status, wait] = argument.split(":retry-after=");
      return {
        status: Number(status),
        headers: { "content-type": "application/json", ...(wait !== undefined && { "retry-after": wait }) },
        body: errorBody(api, Number(status), WORDS),
        took: 10,
      };
    }
    case "cut": // as if it were complete
      return before;
    case "reset":
      return { ...before, ended: "cut", why: "The connection was reset" };
    case "stall":
      return { ...before, ended: "stall", took: 60_000 };
    case "error": {
      const event: TapeEvent = api === "anthropic"
        ? { ms: 0, event: { type: "error", error: { type: argument, message: WORDS } } }
        : { ms: 0, raw: `data: ${errorBody(api, 500, argument)}\n\n` };
      return { ...before, events: [...before.events ?? [], event] };
    }
  }
}

function startedTwice(events: readonly ModelEvent[], { at, index }: FaultPlace): ModelEvent[] {
  const start = events.find((event) =>
    index < 0 ? event.type === "message_start" : event.type === "content_block_start" && event.index === index
  )!;
  return [...events.slice(0, at), start, ...events.slice(at)];
}

/** The reply with a fault in it; unchanged if it does not have the place. */
function changed(events: readonly ModelEvent[], fault: Fault): readonly ModelEvent[] {
  const place = placeOf(events, fault.block!, fault.delta ?? 0);
  if (!place) return events;
  const { kind, argument } = kindOf<Exclude<KindAt<"before" | "block" | "input" | "end">, FailingKind>>(fault);
  switch (kind) {
    case "json drop":
      return withoutInput(events, place, 1);
    case "json truncate":
      return withoutInput(events, place, Infinity);
    case "gap":
      return events.map((event) =>
        "index" in event && event.index >= place.index ? { ...event, index: event.index + 1 } : event
      );
    case "unknown-block":
      return withUnknown(events, place);
    case "stop":
      return stopped(events, place, argument);
  }
}

function withoutInput(events: readonly ModelEvent[], { at, index }: FaultPlace, count: number): ModelEvent[] {
  let left = count;
  return events.filter((event, i) => {
    const hit = i >= at && isInput(event) && "index" in event && event.index === index;
    return !hit || left-- <= 0;
  });
}

/** A block that opens while another is open: code that adds deltas to the last block mixes them. */
function withUnknown(events: readonly ModelEvent[], { at }: FaultPlace): ModelEvent[] {
  const index = Math.max(...events.map((event) => "index" in event ? event.index : 0)) + 1;
  const end = events.findIndex((event) => event.type === "message_delta" || event.type === "message_stop");
  return [
    ...events.slice(0, at),
    { type: "content_block_start", index, content_block: { type: "crochet_unknown", note: WORDS } },
    ...events.slice(at, Math.max(at, end)),
    { type: "content_block_delta", index, delta: { type: "crochet_unknown_delta", seen: true } },
    { type: "content_block_stop", index },
    ...events.slice(Math.max(at, end)),
  ];
}

/** What came until then, closed as the API closes a reply. */
function stopped(events: readonly ModelEvent[], { at, index }: FaultPlace, stop_reason: string): ModelEvent[] {
  const end = events.findIndex((event) => event.type === "message_delta");
  const before = events.slice(0, end < 0 ? at : Math.min(at, end));
  const open = index >= 0 && !before.some((event) => event.type === "content_block_stop" && event.index === index);
  return [
    ...before,
    ...(open ? [{ type: "content_block_stop", index } as const] : []),
    ...events.filter((event) => event.type === "message_delta").map((event) => ({
      ...event,
      delta: { ...event.delta, stop_reason },
    })),
    { type: "message_stop" },
  ];
}
