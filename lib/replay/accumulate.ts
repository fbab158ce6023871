import { type JsonObject, objectOf, parsed } from "../core/json.ts";

/** Why a recording does not become a tape. */
export class ImportRefused extends Error {
  override name = "ImportRefused";
}

/** What a response says, read without the SDK, the toolkit's own reader or the tape: the other side of the proof. */
export type Accumulated =
  | { readonly kind: "message"; readonly message: JsonObject; readonly unparsed: ReadonlyMap<number, string> }
  | { readonly kind: "error"; readonly type: string; readonly message: string }
  | { readonly kind: "cut" };

/** The type of an error that does not name one: a gateway's HTML page, for example. */
export const UNTYPED = "error";

/** What the events of a stream add up to; undefined if they are not a valid stream. */
export function accumulated(events: readonly object[]): Accumulated | undefined {
  try {
    return foldEvents(events as readonly JsonObject[]);
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

/** @throws {ImportRefused} if they are not a valid stream */
export function foldEvents(events: readonly JsonObject[]): Accumulated {
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
  if (event.type === "content_block_start") {
    if (growing && !growing.given) throw new ImportRefused(`a response starts block ${event.index} twice`);
    const block = { ...objectOf(event.content_block) };
    blocks.set(event.index, { block });
    if (block.type === "fallback") message.model = objectOf(block.to).model;
  } else if (event.type === "content_block_delta") {
    if (!growing) throw new ImportRefused(`a response has a delta for block ${event.index}, which was not started`);
    grow(growing, objectOf(event.delta));
  } else if (event.type === "message_delta") {
    const usage = Object.entries(objectOf(event.usage)).filter(([, count]) => count !== null);
    message.usage = { ...objectOf(message.usage), ...Object.fromEntries(usage) };
    Object.assign(message, event.delta);
  }
}

/** The field that each kind of piece adds to. */
const GROWING = new Map<unknown, string>([["text_delta", "text"], ["thinking_delta", "thinking"]]);

function grow(growing: GrowingBlock, { type, ...delta }: JsonObject): void {
  const { block } = growing;
  const field = GROWING.get(type);
  if (field !== undefined) block[field] = String(block[field] ?? "") + delta[field];
  else if (type === "input_json_delta") growing.json = (growing.json ?? "") + delta.partial_json;
  else if (type === "citations_delta") {
    block.citations = [...(block.citations as unknown[] | null ?? []), delta.citation];
  } else Object.assign(block, delta); // the fields of other deltas replace those of the block
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
