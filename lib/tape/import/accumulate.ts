import { parsed } from "../../core/json.ts";
import { beginsAsStream } from "./_body.ts";
import { type Exchange, type Fields, fieldsOf, ImportRefused, isFields } from "./exchange.ts";

/** What an answer says, put together without the SDK, without our own reader of replies and without the tape. */
export type Accumulated =
  | { readonly kind: "message"; readonly message: Fields; readonly unparsed: ReadonlyMap<number, string> }
  | { readonly kind: "error"; readonly type: string; readonly message: string }
  | { readonly kind: "cut" };

/** The type of an error that does not say it: a page of a gateway, say. */
export const UNTYPED = "error";

/** Whether an answer is a stream: what it looks like decides, as its content type may be blacked out or another's. */
export function isStream({ body, headers, status }: Exchange): boolean {
  if (status >= 400) return false;
  return beginsAsStream(body()) || (/event-stream/.test(headers["content-type"] ?? "") && !/^\s*\{/.test(body()));
}

/** @throws {ImportRefused} where the answer is none that the Messages API gives */
export function accumulate(exchange: Exchange): Accumulated {
  if (isStream(exchange)) {
    const events = streamed(exchange.body());
    // What is said to be a stream and has not one event was lost or is kept in a way that is not known.
    if (events.length === 0 && !beginsAsStream(exchange.body())) throw noAnswer(exchange);
    return fold(events);
  }
  const body = parsed(exchange.body());
  if (exchange.status >= 400) {
    const { type = UNTYPED, message = exchange.body().slice(0, 500) } = fieldsOf(fieldsOf(body).error);
    return { kind: "error", type: String(type), message: String(message) };
  }
  if (!isFields(body) || body.type !== "message" || !Array.isArray(body.content)) {
    throw noAnswer(exchange);
  }
  return { kind: "message", message: body, unparsed: new Map() };
}

function noAnswer({ body, headers }: Exchange): ImportRefused {
  const start = body().slice(0, 60);
  // deno-lint-ignore no-control-regex
  if (!/[\u0000-\u0008\ufffd]/.test(start)) {
    return new ImportRefused(`an answer of it is neither a stream nor a message: ${start}`);
  }
  const encoding = headers["content-encoding"] ?? "none";
  return new ImportRefused(
    `an answer of it is no text, nor packed in a known way: its content-encoding is ${encoding}`,
  );
}

/**
 * The events of a stream by its lines alone: what stands in `data:` lines up to a blank line is one, or each line is one
 * where the blank lines were left out.
 */
export function streamed(body: string): Fields[] {
  const frames = body.replace(/^\ufeff/, "").replace(/\r\n?/g, "\n").split(/\n{2,}/).filter((frame) => frame !== "");
  return frames.flatMap((frame, i) => eventsIn(frame.split("\n"), i === frames.length - 1));
}

function eventsIn(lines: readonly string[], last: boolean): Fields[] {
  const whole = parsed(lines.flatMap((line) => valueOf(line, "data") ?? []).join("\n"));
  if (isFields(whole)) {
    return [named(whole, lines.map((line) => valueOf(line, "event")).findLast((name) => name) ?? "")];
  }
  const events: Fields[] = [];
  let name = "";
  for (const [i, line] of lines.entries()) {
    name = valueOf(line, "event")?.trim() ?? name;
    const data = valueOf(line, "data")?.trim() ?? "[DONE]";
    if (data === "[DONE]") continue;
    const event = parsed(data);
    if (isFields(event)) events.push(named(event, name));
    else if (name === "error") events.push({ type: name, error: data });
    else if (last && lines.slice(i + 1).every((after) => after === "")) break; // cut in the middle of it
    else throw new ImportRefused(`an event of its stream is not JSON: ${data.slice(0, 60)}`);
  }
  return events;
}

/** What a line has for a field; not by an expression with a dot, which stops at U+2028. */
function valueOf(line: string, field: "event" | "data"): string | undefined {
  return line.startsWith(`${field}:`) ? line.slice(field.length + 1) : undefined;
}

function named(event: Fields, name: string): Fields {
  return "type" in event ? event : { type: name.trim(), ...event };
}

/** What the events of a stream come to; undefined where they break its grammar. */
export function accumulated(events: readonly object[]): Accumulated | undefined {
  try {
    return fold(events as readonly Fields[]);
  } catch (error) {
    if (error instanceof ImportRefused) return undefined;
    throw error;
  }
}

interface Building {
  readonly block: { [key: string]: unknown };
  json?: string;
  /** Whether it came with the start of the message. */
  readonly given?: true;
}

function fold(events: readonly Fields[]): Accumulated {
  const blocks = new Map<unknown, Building>();
  let message: { [key: string]: unknown } | undefined;
  let ended: Accumulated | undefined;
  for (const event of events) {
    if (event.type === "ping" || (ended && event.type !== "message_start")) continue;
    if (event.type === "error") {
      const { type = UNTYPED, message: words = event.error ?? event.message } = fieldsOf(event.error);
      return { kind: "error", type: String(type), message: typeof words === "string" ? words : JSON.stringify(words) };
    }
    if (event.type === "message_start") {
      if (message) throw new ImportRefused("a second 'message_start' comes in one answer of it");
      message = { ...fieldsOf(event.message) };
      // An answer that goes on after a pause may begin with what is there already.
      for (const [index, block] of (Array.isArray(message.content) ? message.content : []).entries()) {
        blocks.set(index, { block: { ...block }, given: true });
      }
      continue;
    }
    if (!message) throw new ImportRefused(`'${event.type}' comes before 'message_start' in an answer of it`);
    if (event.type === "message_stop") ended = whole(message, blocks);
    else add(event, message, blocks);
  }
  return ended ?? { kind: "cut" };
}

function add(event: Fields, message: { [key: string]: unknown }, blocks: Map<unknown, Building>): void {
  const building = blocks.get(event.index);
  switch (event.type) {
    case "content_block_start": {
      if (building && !building.given) {
        throw new ImportRefused(`block ${event.index} is started twice in an answer of it`);
      }
      const block = { ...fieldsOf(event.content_block) };
      blocks.set(event.index, { block });
      if (block.type === "fallback") message.model = fieldsOf(block.to).model;
      break;
    }
    case "content_block_delta":
      if (!building) throw new ImportRefused(`a delta comes for block ${event.index}, which was not started`);
      grow(building, fieldsOf(event.delta));
      break;
    case "message_delta": {
      const usage = Object.entries(fieldsOf(event.usage)).filter(([, count]) => count !== null);
      message.usage = { ...fieldsOf(message.usage), ...Object.fromEntries(usage) };
      Object.assign(message, event.delta);
    }
  }
}

function grow(building: Building, delta: Fields): void {
  const { block } = building;
  switch (delta.type) {
    case "text_delta":
      block.text = String(block.text ?? "") + delta.text;
      break;
    case "thinking_delta":
      block.thinking = String(block.thinking ?? "") + delta.thinking;
      break;
    case "signature_delta":
      block.signature = delta.signature;
      break;
    case "input_json_delta":
      building.json = (building.json ?? "") + delta.partial_json;
      break;
    case "citations_delta":
      block.citations = [...(block.citations as unknown[] | null ?? []), delta.citation];
      break;
    default: { // compaction, and what the API adds next: the delta has the value itself
      const { type: _, ...rest } = delta;
      Object.assign(block, rest);
    }
  }
}

function whole(message: Fields, blocks: ReadonlyMap<unknown, Building>): Accumulated {
  const unparsed = new Map<number, string>();
  const ordered = [...blocks].sort(([a], [b]) => Number(a) - Number(b)).map(([, building]) => building);
  const content = ordered.map(({ block, json }, i) => {
    if (json === undefined || json === "") return block;
    const input = parsed(json);
    if (input === undefined) unparsed.set(i, json);
    return { ...block, input };
  });
  return { kind: "message", message: { ...message, content }, unparsed };
}
