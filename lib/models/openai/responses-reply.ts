import { isObject, type JsonObject } from "../../core/json.ts";
import type { ModelEvent, ModelRequest, RawBlock } from "../../core/model.ts";
import { DONE } from "../../http/sse.ts";
import { cutError, replyError, throwErrorIn } from "./openai-errors.ts";
import { ReplyEvents, type ReplyReader } from "./reply-events.ts";

/** A block that is shown while it comes in. */
interface Live {
  readonly kind: "text" | "thinking";
  readonly index: number;
  text: string;
}

/** What a finished reply holds, block by block. */
type Final =
  | { readonly kind: "text" | "thinking"; readonly text: string; readonly openai?: object }
  | { readonly kind: "call"; readonly item: JsonObject }
  | { readonly kind: "other"; readonly item: JsonObject };

/** The room between two live blocks, for what the finished reply has between them. */
const ROOM = 1000;

/** Reads a reply of the Responses API: words as they come, and all else from the event that ends it. */
export function responsesReader(request: ModelRequest, emit: (event: ModelEvent) => void): ReplyReader {
  const reply = new ReplyEvents(request, emit);
  const live = new Map<string, Live>();
  const done: { readonly at: number; readonly item: JsonObject }[] = [];

  function show(kind: Live["kind"], event: JsonObject, part: string): void {
    if (typeof event.delta !== "string" || event.delta === "") return;
    const item = `${event.item_id ?? event.output_index ?? ""}`;
    const key = `${kind} ${item} ${kind === "text" ? event.content_index ?? 0 : ""}`;
    let block = live.get(key);
    if (!block) {
      block = { kind, index: (live.size + 1) * ROOM, text: "" };
      live.set(key, block);
      reply.start(block.index, { type: kind, [kind]: "" });
    }
    // The parts of a summary come one after the other.
    const isNext = part !== "" && block.text !== "" && part !== lastPart.get(key);
    lastPart.set(key, part);
    add(block, isNext ? `\n\n${event.delta}` : event.delta);
  }
  const lastPart = new Map<string, string>();

  function add(block: Live, text: string): void {
    block.text += text;
    reply.delta(block.index, { type: `${block.kind}_delta`, [block.kind]: text });
  }

  /** The finished blocks, in order; one that was shown already gets what it still lacks. */
  function close(output: readonly JsonObject[], stop: string): void {
    const shown = [...live.values()];
    const finals = output.flatMap(blocksOf);
    let at = 0;
    for (const final of finals) {
      if (final.kind === "call") {
        const { call_id, name, arguments: json } = final.item;
        const text = typeof json === "string" ? json : isObject(json) ? JSON.stringify(json) : "";
        reply.call(++at, { id: call_id, name: typeof name === "string" ? name : undefined, json: text });
        continue;
      }
      if (final.kind === "other") {
        reply.block(++at, { type: String(final.item.type), openai: { item: final.item } });
        continue;
      }
      const { kind, text, openai } = final;
      const known = text === "" ? undefined : shown.find((block) => block.kind === kind && block.index > at);
      if (!known) {
        const block: RawBlock = { type: kind, [kind]: text, ...(openai && { openai }) };
        reply.block(++at, block);
        continue;
      }
      at = known.index;
      if (text.startsWith(known.text) && text !== known.text) add(known, text.slice(known.text.length));
      if (openai) reply.delta(at, { type: "openai_delta", openai });
      reply.stop(at);
    }
    const calls = finals.some(({ kind }) => kind === "call");
    reply.finish(stop === "end_turn" && calls ? "tool_use" : stop);
  }

  function finish(response: JsonObject): void {
    if (response.status === "failed") throw replyError(response);
    throwErrorIn(response);
    reply.note(response, response.usage);
    const given = Array.isArray(response.output) ? response.output.filter(isObject) : [];
    const items = done.toSorted((a, b) => a.at - b.at).map(({ item }) => item);
    const output = given.length > 0 ? given : items;
    close(output, stopOf(response, output));
  }

  function take(event: JsonObject): void {
    const { type, response, item } = event;
    if (isObject(response)) reply.note(response, response.usage);
    switch (type) {
      case "response.output_text.delta":
      case "response.refusal.delta":
        return show("text", event, "");
      case "response.reasoning_summary_text.delta":
        return show("thinking", event, `summary ${event.summary_index ?? 0}`);
      case "response.reasoning_text.delta":
        return show("thinking", event, `content ${event.content_index ?? 0}`);
      case "response.output_item.done":
        if (isObject(item)) done.push({ at: Number(event.output_index ?? done.length), item });
        return;
      case "response.completed":
      case "response.incomplete":
      case "response.failed":
        return finish(isObject(response) ? response : {});
      case "error":
        throw replyError(event.error ?? event);
    }
  }

  return {
    take(value, name) {
      if (reply.ended || value === DONE) return;
      const event = isObject(value) && typeof value.type !== "string" ? { ...value, type: name } : value;
      throwErrorIn(event, name);
      if (isObject(event)) take(event);
    },
    whole(value) {
      throwErrorIn(value);
      if (!isObject(value) || !Array.isArray(value.output)) {
        throw replyError({ message: "the reply has no output: check OPENAI_BASE_URL" });
      }
      finish(value);
    },
    end() {
      if (!reply.ended) throw cutError();
    },
    isWhole: () => false,
  };
}

function stopOf({ status, incomplete_details }: JsonObject, output: readonly JsonObject[]): string {
  const { reason } = isObject(incomplete_details) ? incomplete_details : {} as JsonObject;
  if (status === "incomplete") return reason === "content_filter" ? "refusal" : "max_tokens";
  return output.flatMap(partsOf).some(({ type }) => type === "refusal") ? "refusal" : "end_turn";
}

function blocksOf(item: JsonObject): Final[] {
  switch (item.type) {
    case "function_call":
      return [{ kind: "call", item }];
    case "message": {
      const openai = typeof item.phase === "string" ? { openai: { phase: item.phase } } : {};
      return partsOf(item).map((part) => ({ kind: "text", text: textIn(part), ...openai }));
    }
    case "reasoning":
      return [thinkingOf(item)];
    default:
      return [{ kind: "other", item }];
  }
}

function thinkingOf({ summary = [], content, encrypted_content }: JsonObject): Final {
  const texts = textsOf(summary);
  return {
    kind: "thinking",
    text: texts.length > 0 ? texts.join("\n\n") : textsOf(content).join("\n\n"),
    // Without what is encrypted it cannot be sent back, and is only to be read.
    openai: typeof encrypted_content === "string" ? { summary, encrypted_content } : {},
  };
}

function textsOf(list: unknown): string[] {
  return (Array.isArray(list) ? list.filter(isObject) : []).map(textIn).filter((text) => text !== "");
}

function partsOf({ content }: JsonObject): JsonObject[] {
  return Array.isArray(content) ? content.filter(isObject) : [];
}

function textIn({ text, refusal }: JsonObject): string {
  return typeof text === "string" ? text : typeof refusal === "string" ? refusal : "";
}
