import type * as Sdk from "@anthropic-ai/sdk/resources/beta/messages";
import { isObject, type JsonObject, objectOf, parsed } from "../../core/json.ts";
import { type Accumulated, foldEvents, ImportRefused, UNTYPED } from "../../replay/accumulate.ts";
import type { Exchange } from "./exchange.ts";

/** The kinds of piece that a block of the API is streamed in, as the SDK's types have them. */
const DELTAS: readonly string[] = [
  "text_delta",
  "input_json_delta",
  "citations_delta",
  "thinking_delta",
  "signature_delta",
  "compaction_delta",
] satisfies Sdk.BetaRawContentBlockDelta["type"][];

export function beginsAsStream(text: string): boolean {
  return /^\s*(?:event|data|id|retry)?:/.test(text);
}

/** Whether a response is a stream. The body decides, as the content type may be redacted or wrong. */
export function isStream({ body, status }: Exchange): boolean {
  return status < 400 && beginsAsStream(body());
}

/** @throws {ImportRefused} if the Messages API does not answer like this */
export function accumulate(exchange: Exchange): Accumulated {
  // The SDK ignores deltas of types it does not know.
  const isForSdk = ({ type, delta }: JsonObject) =>
    type !== "content_block_delta" || DELTAS.some((known) => known === objectOf(delta).type);
  if (isStream(exchange)) return foldEvents(streamed(exchange.body()).filter(isForSdk));
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
