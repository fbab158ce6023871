import type * as Sdk from "@anthropic-ai/sdk/resources/beta/messages";
import { isObject, type JsonObject, parsed } from "../../core/json.ts";
import { type Exchange, ImportRefused, objectOf } from "./exchange.ts";

/** The kinds of piece that a block of the API is streamed in, as the SDK's types have them. */
const DELTAS: readonly string[] = [
  "text_delta",
  "input_json_delta",
  "citations_delta",
  "thinking_delta",
  "signature_delta",
  "compaction_delta",
] satisfies Sdk.BetaRawContentBlockDelta["type"][];

/** What a response says, read without the SDK, the toolkit's own reader or the tape: the other side of the proof. */
export type Accumulated =
  | { readonly kind: "message"; readonly message: JsonObject; readonly unparsed: ReadonlyMap<number, string> }
  | { readonly kind: "error"; readonly type: string; readonly message: string }
  | { readonly kind: "cut" };

/** The type of an error that does not name one: a gateway's HTML page, for example. */
export const UNTYPED = "error";

/** Whether a text begins like a stream of events. */
export function beginsAsStream(text: string): boolean {
  return /^\s*(?:event|data|id|retry)?:/.test(text);
}

/** Whether a response is a stream. The body decides, as the content type may be redacted or wrong. */
export function isStream({ body, status }: Exchange): boolean {
  return status < 400 && beginsAsStream(body());
}

/** @throws {ImportRefused} if the Messages API does not answer like this */
export function accumulate(exchange: Exchange): Accumulated {
  if (isStream(exchange)) return fold(streamed(exchange.body()).filter(isForSdk));
  const body = parsed(exchange.body());
  if (exchange.status >= 400) {
    const { type = UNTYPED, message = exchange.body().slice(0, 500) } = objectOf(objectOf(body).error);
    return { kind: "error", type: String(type), message: String(message) };
  }
  if (!isObject(body) || body.type !== "message" || !Array.isArray(body.content)) {
    const encoding = exchange.headers["content-encoding"] ?? "none";
    const start = JSON.stringify(exchange.body().slice(0, 60));
    throw new ImportRefused(`a response is neither a stream nor a message (content-encoding: ${encoding}): ${start}`);
  }
  return { kind: "message", message: body, unparsed: new Map() };
}

/** The SDK ignores deltas of types it does not know. */
function isForSdk({ type, delta }: JsonObject): boolean {
  return type !== "content_block_delta" || DELTAS.some((known) => known === objectOf(delta).type);
}

/** The events of a stream: the `data:` lines up to a blank line are one event, or each is one if blank lines are missing. */
export function streamed(body: string): JsonObject[] {
  const frames = body.replace(/^\ufeff/, "").replace(/\r\n?/g, "\n").split(/\n{2,}/).filter((frame) => frame !== "");
  return frames.flatMap((frame, i) => eventsIn(frame.split("\n"), i === frames.length - 1));
}

function eventsIn(lines: readonly string[], last: boolean): JsonObject[] {
  const whole = parsed(lines.flatMap((line) => valueOf(line, "data") ?? []).join("\n"));
  if (isObject(whole)) {
    return [named(whole, lines.map((line) => valueOf(line, "event")).findLast((name) => name) ?? "")];
  }
  const events: JsonObject[] = [];
  let name = "";
  for (const [i, line] of lines.entries()) {
    name = valueOf(line, "event")?.trim() ?? name;
    const data = valueOf(line, "data")?.trim() ?? "[DONE]";
    if (data === "[DONE]") continue;
    const event = parsed(data);
    if (isObject(event)) events.push(named(event, name));
    else if (name === "error") events.push({ type: name, error: data });
    else if (last && lines.slice(i + 1).every((after) => after === "")) break; // cut inside the event
    else throw new ImportRefused(`an event of a stream is not JSON: ${data.slice(0, 60)}`);
  }
  return events;
}

/** Not a regular expression with a dot, which stops at U+2028. */
function valueOf(line: string, field: "event" | "data"): string | undefined {
  return line.startsWith(`${field}:`) ? line.slice(field.length + 1) : undefined;
}

function named(event: JsonObject, name: string): JsonObject {
  return "type" in event ? event : { type: name.trim(), ...event };
}

/** What the events of a stream add up to; undefined if they are not a valid stream. */
export function accumulated(events: readonly object[]): Accumulated | undefined {
  try {
    return fold(events as readonly JsonObject[]);
  } catch (error) {
    if (error instanceof ImportRefused) return undefined;
    throw error;
  }
}

interface GrowingBlock {
  readonly block: { [key: string]: unknown };
  json?: string;
  /** Whether it came with `message_start`. */
  readonly given?: true;
}

function fold(events: readonly JsonObject[]): Accumulated {
  const blocks = new Map<unknown, GrowingBlock>();
  let message: { [key: string]: unknown } | undefined;
  let ended: Accumulated | undefined;
  for (const event of events) {
    if (event.type === "ping" || (ended && event.type !== "message_start")) continue;
    if (event.type === "error") {
      const { type = UNTYPED, message: words = event.error ?? event.message } = objectOf(event.error);
      return { kind: "error", type: String(type), message: typeof words === "string" ? words : JSON.stringify(words) };
    }
    if (event.type === "message_start") {
      if (message) throw new ImportRefused("a response has a second 'message_start'");
      message = { ...objectOf(event.message) };
      // A response that continues after a pause may begin with content.
      for (const [index, block] of (Array.isArray(message.content) ? message.content : []).entries()) {
        blocks.set(index, { block: { ...block }, given: true });
      }
      continue;
    }
    if (!message) throw new ImportRefused(`a response has '${event.type}' before 'message_start'`);
    if (event.type === "message_stop") ended = whole(message, blocks);
    else add(event, message, blocks);
  }
  return ended ?? { kind: "cut" };
}

function add(event: JsonObject, message: { [key: string]: unknown }, blocks: Map<unknown, GrowingBlock>): void {
  const growing = blocks.get(event.index);
  switch (event.type) {
    case "content_block_start": {
      if (growing && !growing.given) throw new ImportRefused(`a response starts block ${event.index} twice`);
      const block = { ...objectOf(event.content_block) };
      blocks.set(event.index, { block });
      if (block.type === "fallback") message.model = objectOf(block.to).model;
      break;
    }
    case "content_block_delta":
      if (!growing) throw new ImportRefused(`a response has a delta for block ${event.index}, which was not started`);
      grow(growing, objectOf(event.delta));
      break;
    case "message_delta": {
      const usage = Object.entries(objectOf(event.usage)).filter(([, count]) => count !== null);
      message.usage = { ...objectOf(message.usage), ...Object.fromEntries(usage) };
      Object.assign(message, event.delta);
    }
  }
}

function grow(growing: GrowingBlock, { type, ...delta }: JsonObject): void {
  const { block } = growing;
  switch (type) {
    case "text_delta":
      block.text = String(block.text ?? "") + delta.text;
      break;
    case "thinking_delta":
      block.thinking = String(block.thinking ?? "") + delta.thinking;
      break;
    case "input_json_delta":
      growing.json = (growing.json ?? "") + delta.partial_json;
      break;
    case "citations_delta":
      block.citations = [...(block.citations as unknown[] | null ?? []), delta.citation];
      break;
    default: // the fields of other deltas replace those of the block
      Object.assign(block, delta);
  }
}

function whole(message: JsonObject, blocks: ReadonlyMap<unknown, GrowingBlock>): Accumulated {
  const unparsed = new Map<number, string>();
  const ordered = [...blocks].sort(([a], [b]) => Number(a) - Number(b)).map(([, growing]) => growing);
  const content = ordered.map(({ block, json }, i) => {
    if (json === undefined || json === "") return block;
    const input = parsed(json);
    if (input === undefined) unparsed.set(i, json);
    return { ...block, input };
  });
  return { kind: "message", message: { ...message, content }, unparsed };
}
