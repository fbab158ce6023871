import { quietly } from "../core/json.ts";
import { eventParser } from "../http/sse.ts";
import type { ModelEvent } from "../core/model.ts";
import type { TapeEvent } from "./tape.ts";

/** Bytes of a body with the milliseconds since the attempt began at which they came. */
export interface Chunk {
  readonly ms: number;
  readonly bytes: Uint8Array;
}

/** An event as the API sends it. */
export function frameOf({ event, raw, pad = 0 }: TapeEvent): string {
  if (raw !== undefined) return raw;
  const json = JSON.stringify(event);
  return `event: ${event!.type}\ndata: ${pad === 0 ? json : `${json.slice(0, -1)}${" ".repeat(pad)}}`}\n\n`;
}

/** Reads a streamed body into its events. Put together again with `frameOf`, they are the same bytes. */
export function framesOf(chunks: readonly Chunk[]): TapeEvent[] {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  const events: TapeEvent[] = [];
  let last = 0;
  let rest = "";
  const add = (frame: string, ms: number) => {
    events.push({ ms: Math.max(0, ms - last), ...readFrame(frame) });
    last = Math.max(last, ms);
  };
  for (const { ms, bytes } of chunks) {
    rest += decoder.decode(bytes, { stream: true });
    for (let end = frameEnd(rest); end > 0; end = frameEnd(rest)) {
      add(rest.slice(0, end), ms);
      rest = rest.slice(end);
    }
  }
  rest += decoder.decode();
  if (rest !== "") add(rest, chunks.at(-1)?.ms ?? 0);
  return events;
}

/** Where the first frame of a text ends: after its blank line. */
function frameEnd(text: string): number {
  const blank = /\r?\n\r?\n|\r\r/.exec(text);
  return blank ? blank.index + blank[0].length : 0;
}

function readFrame(frame: string): Pick<TapeEvent, "event" | "raw" | "pad"> {
  const event = onlyEvent(frame);
  if (event) {
    const plain = frameOf({ ms: 0, event });
    if (plain === frame) return { event };
    const pad = frame.length - plain.length;
    if (pad > 0 && frameOf({ ms: 0, event, pad }) === frame) return { event, pad };
  }
  return { raw: frame };
}

export function onlyEvent(frame: string): ModelEvent | undefined {
  const parser = eventParser();
  const found = quietly(() => [...parser.push(new TextEncoder().encode(frame)), ...parser.end()]);
  return found?.length === 1 ? found[0] : undefined;
}

/** What an agent is given of a stream: its events, and what reading them throws at the end, if it does. */
export function seamEvents(events: readonly TapeEvent[]): { events: ModelEvent[]; error?: unknown } {
  if (events.every((e) => e.raw === undefined)) return { events: events.map((e) => e.event!) };
  const parser = eventParser();
  const found: ModelEvent[] = [];
  const encoder = new TextEncoder();
  try {
    for (const event of events) found.push(...parser.push(encoder.encode(frameOf(event))));
    found.push(...parser.end());
  } catch (error) {
    return { events: found, error };
  }
  return { events: found };
}

/** Where a streamed body is cut into pieces: every so many bytes, or at the positions given for a body of that length. */
export type Cuts = number | ((length: number) => Iterable<number>);

/** @throws {TypeError} if a body cannot be cut like this */
export function checkCuts(at: Cuts): void {
  if (typeof at === "function" || (Number.isInteger(at) && at > 0)) return;
  throw new TypeError(`Cannot cut a body every ${at} bytes: give cutAt a whole number above 0, or a function`);
}

/** The pieces of a body, also inside a character; together they are the body. */
export function cut(bytes: Uint8Array, at: Cuts): Uint8Array[] {
  checkCuts(at);
  const positions = typeof at === "function"
    ? [...new Set(at(bytes.length))].filter((end) => end > 0 && end < bytes.length).sort((a, b) => a - b)
    : Array.from({ length: Math.max(0, Math.ceil(bytes.length / at) - 1) }, (_, i) => (i + 1) * at);
  return [...positions, bytes.length].map((end, i) => bytes.subarray(positions[i - 1] ?? 0, end));
}
