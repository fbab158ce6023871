import { isObject, parsed } from "./json.ts";
import { type Block, isText, isToolUse, NO_USAGE, text, type Usage, usageOf } from "./messages.ts";
import { ModelError, type ModelEvent, type RawBlock, type Reply, type ReplyDelta, type ToolCall } from "./model.ts";

/** Stands in the transcript for a reply without content, which the API would not take back. */
export const EMPTY_REPLY = "(empty reply)";

interface OpenBlock {
  readonly block: Record<string, unknown> & { type: string };
  /** String fields under growth, joined once at the end: appending to a string per delta is quadratic in places. */
  readonly pieces: Map<string, string[]>;
  /** The block's own list of them, once one came. */
  citations?: unknown[];
  stopped: boolean;
  /** What the whole reply may still say. */
  readonly room: { left: number };
  /** Whether it came with the start of the message: then it may be sent once more. */
  readonly given?: true;
}

/** What a reply has taken so far: filled in as it comes, for those who pay for it if it never ends. */
export interface PartlyUsed {
  model?: string;
  usage?: Usage;
  cost?: number | null;
  reasoning?: number;
}

/**
 * Puts a reply together from its events, as they come. `onFirst` is called when it begins, whatever it says or calls.
 *
 * @throws {ModelError} if the events break the grammar of a reply
 */
export async function readReply(
  events: AsyncIterable<ModelEvent>,
  onDelta: (delta: ReplyDelta) => void,
  partial: PartlyUsed = {},
  onFirst?: () => void,
): Promise<Reply> {
  const reply = new OpenReply(onDelta, partial, onFirst);
  for await (const event of events) {
    // Nearly all events of a long reply are pieces of a block, and a call more for each is felt.
    const open = event.type === "content_block_delta" ? reply.blocks.get(event.index) : undefined;
    if (open && !open.stopped && !reply.ended) addDelta(open, (event as { delta: RawBlock }).delta, onDelta);
    else if (!reply.take(event)) break;
  }
  return reply.close();
}

/** As `readReply`, where all events are there already. */
export function replyFrom(
  events: Iterable<ModelEvent>,
  onDelta: (delta: ReplyDelta) => void,
  partial: PartlyUsed = {},
  onFirst?: () => void,
): Reply {
  const reply = new OpenReply(onDelta, partial, onFirst);
  for (const event of events) if (!reply.take(event)) break;
  return reply.close();
}

/** A reply that comes in. Blocks go by index, so that gaps survive; tool input is parsed once, strictly, whole (U17). */
class OpenReply {
  readonly #onDelta: (delta: ReplyDelta) => void;
  readonly #partial: PartlyUsed;
  readonly #onFirst: (() => void) | undefined;
  readonly blocks = new Map<number, OpenBlock>();
  readonly #room = { left: LONGEST_TEXT };
  #start: { id?: string; model?: string } | undefined;
  #stopReason: string | undefined;
  #container: string | undefined;
  ended = false;

  constructor(onDelta: (delta: ReplyDelta) => void, partial: PartlyUsed, onFirst?: () => void) {
    this.#onDelta = onDelta;
    this.#partial = partial;
    this.#onFirst = onFirst;
  }

  #uses(usage: (Partial<Usage> & Extras & { readonly cost?: number }) | null | undefined): void {
    const partial = this.#partial;
    partial.model = this.#start?.model ?? "";
    partial.usage = mergeUsage(partial.usage ?? NO_USAGE, usage);
    const thought = usage?.output_tokens_details?.thinking_tokens;
    if (typeof thought === "number") partial.reasoning = thought;
    if (usage === null || typeof usage?.cost === "number") partial.cost = usage?.cost ?? null;
  }

  /** Takes the next event; false: it is not the reply's any more. */
  take(event: ModelEvent): boolean {
    if (this.ended && event.type !== "ping") return false;
    if (
      this.#start === undefined && event.type !== "message_start" && event.type !== "ping" && event.type !== "error"
    ) {
      throw outOfGrammar(`'${event.type}' came before 'message_start'`);
    }
    switch (event.type) {
      case "message_start":
        if (this.#start !== undefined) throw outOfGrammar("a second 'message_start' came in one reply");
        this.#start = event.message ?? {};
        this.#onFirst?.();
        this.#uses(event.message?.usage);
        this.#stopReason = event.message?.stop_reason || undefined;
        this.#container = event.message?.container?.id;
        for (const [index, block] of (event.message?.content ?? []).entries()) {
          this.#begin(index, block, { stopped: true, given: true });
        }
        break;
      case "content_block_start": {
        const known = this.blocks.get(event.index);
        if (known && !known.given) throw outOfGrammar(`block ${event.index} was started twice`);
        takeRoom(this.#room, event.content_block?.text);
        this.#begin(event.index, event.content_block, { stopped: false });
        break;
      }
      case "content_block_delta":
        addDelta(this.#open(event.index, "delta"), event.delta, this.#onDelta);
        break;
      case "content_block_stop":
        this.#open(event.index, "stop").stopped = true;
        break;
      case "message_delta":
        this.#stopReason = event.delta?.stop_reason ?? this.#stopReason;
        this.#container = event.delta?.container?.id ?? this.#container;
        this.#uses(event.usage);
        break;
      case "message_stop":
        this.ended = true;
        break;
      case "error":
        throw reported(event.error?.type ?? "error", event.error?.message);
      default: // ping, and whatever the API adds next
    }
    return true;
  }

  #begin(index: number, block: RawBlock, how: Pick<OpenBlock, "stopped" | "given">): void {
    this.blocks.set(index, { block: { ...block }, pieces: new Map(), room: this.#room, ...how });
    showWords(block, this.#onDelta);
  }

  #open(index: number, what: string): OpenBlock {
    const open = this.blocks.get(index);
    if (!open || open.stopped) throw outOfGrammar(`a ${what} came for block ${index}, which is not open`);
    return open;
  }

  close(): Reply {
    if (!this.ended) {
      const why = "its stream ended before 'message_stop'";
      throw new ModelError(`Cannot use the reply as ${why}`, { code: "cut", retryable: true });
    }
    const stop_reason = this.#stopReason ?? "end_turn";
    const { content, calls } = contentOf(this.blocks, stop_reason);
    const { id = "" } = this.#start ?? {};
    const { model = "", usage = NO_USAGE, cost, reasoning } = this.#partial;
    return {
      ...{ id, model, message: { role: "assistant", content }, calls, stop_reason, usage },
      ...(cost !== undefined && { cost }),
      ...(reasoning !== undefined && { reasoning }),
      ...(this.#container && { container: this.#container }),
    };
  }
}

/** Whether a reply ended before the model was done with it. */
export function isCut(stop_reason: string): boolean {
  return stop_reason === "max_tokens" || stop_reason === "model_context_window_exceeded";
}

/** Whether the API only paused, and goes on with the reply in the next call. */
export function goesOn(stop_reason: string): boolean {
  return stop_reason === "pause_turn" || stop_reason === "compaction";
}

function contentOf(blocks: Map<number, OpenBlock>, stop_reason: string): Pick<Reply, "calls"> & { content: Block[] } {
  const indices = [...blocks.keys()].sort((a, b) => a - b);
  const calls: ToolCall[] = [];
  let content: Block[] = [];
  for (const index of indices) {
    const open = blocks.get(index)!;
    const { block, invalid } = close(open, !open.stopped || (isCut(stop_reason) && index === indices.at(-1)));
    if (block.type === "text" && block.text === "") continue;
    // A call that a filter cut short is not what the model meant: it is neither run nor kept.
    if (isToolUse(block) && stop_reason === "refusal") continue;
    content.push(block);
    if (!isToolUse(block)) continue;
    const { id, name, input } = block;
    if (!id || typeof id !== "string" || typeof name !== "string") {
      throw outOfGrammar("a tool call has no id or no name");
    }
    if (calls.some((call) => call.id === id)) throw outOfGrammar("two tool calls have the same id");
    calls.push(invalid === undefined ? { id, name, input } : { id, name, input, invalid });
  }
  // The API does not take back a message whose only text is blank.
  if (!content.some((b) => b.type === "text" && !isBlank(b))) content = content.filter((b) => !isBlank(b));
  if (content.length === 0) content.push(text(EMPTY_REPLY));
  return { content, calls };
}

function isBlank(block: Block): boolean {
  return isText(block) && block.text.trim() === "";
}

function close({ block, pieces }: OpenBlock, cut: boolean): { block: Block; invalid?: string } {
  for (const [key, parts] of pieces) {
    if (key !== "partial_json") block[key] = (typeof block[key] === "string" ? block[key] : "") + parts.join("");
  }
  if (!("input" in block) && block.type !== "tool_use") {
    if (isDeep(block)) throw outOfGrammar(`a block of it is nested deeper than ${DEEPEST} levels`);
    return { block: block as Block };
  }
  const raw = pieces.get("partial_json")?.join("") ?? "";
  // Not in the runtime's words for what is wrong: the model reads these, and a tape of one runtime is replayed on another.
  const value = raw === "" ? block.input ?? {} : parsed(raw);
  const invalid = cut
    ? `was cut off by the output limit after ${raw.length} characters; send it again in smaller parts`
    : value === undefined
    ? `is not valid JSON (${raw.length} characters); send the whole object again`
    : !isObject(value)
    ? "is not a JSON object; send an object"
    : isDeep(value)
    ? `is nested deeper than ${DEEPEST} levels; send a flatter object`
    : undefined;
  // The history needs an object even if the text was not one; the call itself is marked and never runs.
  block.input = invalid === undefined ? value : {};
  return { block: block as Block, ...(invalid !== undefined && { invalid: `its input ${invalid}` }) };
}

/** No tool needs as many levels, and whatever walks a deeper value runs out of stack. */
const DEEPEST = 500;

/** Level by level, as it must not run out of stack itself. */
function isDeep(value: object): boolean {
  let level: object[] = [value];
  for (let depth = 1; level.length > 0; depth++) {
    if (depth > DEEPEST) return true;
    level = level.flatMap((part) => Object.values(part).filter((v) => typeof v === "object" && v !== null));
  }
  return false;
}

function addDelta(open: OpenBlock, delta: RawBlock, onDelta: (delta: ReplyDelta) => void): void {
  if (delta.type === "citations_delta") {
    const { citations } = open.block;
    open.citations ??= open.block.citations = Array.isArray(citations) ? [...citations] : [];
    open.citations.push(delta.citation);
    return;
  }
  for (const key in delta) {
    if (key === "type") continue;
    const value = delta[key];
    if (typeof value !== "string") open.block[key] = value;
    else {
      takeRoom(open.room, value);
      const parts = open.pieces.get(key);
      if (parts) parts.push(value);
      else open.pieces.set(key, [value]);
    }
  }
  showWords(delta, onDelta);
}

/** What a reply may say in all, in characters: no model writes a hundredth of it, and memory ends. */
const LONGEST_TEXT = 16 * 1024 * 1024;

function takeRoom(room: { left: number }, words: unknown): void {
  if (typeof words === "string" && (room.left -= words.length) < 0) {
    const why = `it is longer than ${LONGEST_TEXT} characters`;
    throw new ModelError(`Cannot read the model's reply as ${why}: look at what answers there`, { code: "grammar" });
  }
}

/** Reports the words at the start of a block, or in a piece of it. */
function showWords(part: RawBlock, onDelta: (delta: ReplyDelta) => void): void {
  if (typeof part.text === "string" && part.text !== "") onDelta({ type: "text", text: part.text });
  else if (typeof part.thinking === "string" && part.thinking !== "") {
    onDelta({ type: "thinking", text: part.thinking });
  }
}

/** Counts of the API for what its tokens do not say. */
interface Extras {
  readonly cache_creation?: { readonly ephemeral_1h_input_tokens?: number } | null;
  readonly server_tool_use?: { readonly web_search_requests?: number } | null;
  readonly speed?: string | null;
  readonly output_tokens_details?: { readonly thinking_tokens?: number } | null;
}

function mergeUsage(usage: Usage, update: (Partial<Usage> & Extras) | null | undefined): Usage {
  if (!update) return usage;
  const { cache_creation, server_tool_use, speed } = update;
  const charged = cache_creation?.ephemeral_1h_input_tokens || server_tool_use?.web_search_requests;
  const extra = usage.extra || charged || speed === "fast";
  return usageOf((kind) => typeof update[kind] === "number" ? update[kind] : usage[kind], extra);
}

const RETRYABLE = ["overloaded_error", "api_error", "rate_limit_error", "timeout_error"];

function reported(code: string, message: string | undefined): ModelError {
  const words = `Cannot finish the reply as the model reported ${code}: ${message}`;
  return new ModelError(words, { code, retryable: RETRYABLE.includes(code) });
}

function outOfGrammar(what: string): ModelError {
  return new ModelError(`Cannot read the model's reply as ${what}`, { code: "grammar", retryable: true });
}
