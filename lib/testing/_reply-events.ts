import type { Usage } from "../core/messages.ts";
import type { ModelEvent, RawBlock } from "../core/model.ts";
import { blockEvents } from "../tape/reply.ts";

export interface ScriptedTool {
  readonly name: string;
  readonly input?: unknown;
  /** @default toolu_scripted_0001 and so on, counted over the script */
  readonly id?: string;
  /** The text of the input as it is streamed, in place of `input`: for JSON that does not parse. */
  readonly raw?: string;
}

/** What a scripted model answers to one request: content, and faults as data. */
export interface ScriptedReply {
  readonly thinking?: string;
  readonly text?: string;
  /** Whole content blocks, between the text and the tool calls. */
  readonly blocks?: readonly RawBlock[];
  readonly tools?: readonly ScriptedTool[];
  /** @default "tool_use" if the content has a tool call, else "end_turn" */
  readonly stop_reason?: string;
  /** @default 10 input and 5 output tokens */
  readonly usage?: Partial<Usage>;
  /** The events themselves, in place of all of the above. */
  readonly events?: readonly ModelEvent[];
  /** Milliseconds before the answer begins. */
  readonly delay?: number;
  /** Breaks off after this many events. */
  readonly cut?: number;
  /** Falls silent and never ends: after half of its events, or before it says anything. */
  readonly stall?: boolean | "start";
  /** An `error` event in place of the end, for example "overloaded_error". */
  readonly error?: string | { readonly type: string; readonly message: string };
  /** Answers with this HTTP status and no reply at all, for example 429 or 529. */
  readonly http?: number;
  /** Seconds the `retry-after` header of an HTTP error asks for. */
  readonly retryAfter?: number;
}

/** The ids and the model that a reply is given, counted over the script. */
interface Names {
  readonly message: string;
  readonly model: string;
  readonly tool: () => string;
}

const SCRIPTED_USAGE: Usage = {
  input_tokens: 10,
  output_tokens: 5,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
};

/** The whole stream of a reply as the API would send it, before `cut` and `stall`. */
export function replyEvents(reply: ScriptedReply, names: Names): ModelEvent[] {
  if (reply.events) return [...reply.events];
  const blocks = contentOf(reply, names);
  const events: ModelEvent[] = [messageStart(reply, names)];
  for (const [index, { block, raw }] of blocks.entries()) {
    // The API begins the input of a tool with an empty piece.
    const cut = "input" in block ? (text: string) => ["", ...pieces(text)] : pieces;
    events.push(...blockEvents(block, index, cut, raw));
    if (index === 0) events.splice(2, 0, { type: "ping" });
  }
  if (reply.error !== undefined) return [...events, { type: "error", error: errorOf(reply.error) }];
  const { output_tokens } = { ...SCRIPTED_USAGE, ...reply.usage };
  return [
    ...events,
    {
      type: "message_delta",
      delta: { stop_reason: stopReason(reply, blocks), stop_sequence: null },
      usage: { output_tokens },
    },
    { type: "message_stop" },
  ];
}

/** A content block, with the text its input is streamed as if that differs from the input's JSON. */
interface ScriptedBlock {
  readonly block: RawBlock;
  readonly raw?: string;
}

function contentOf({ thinking, text, blocks = [], tools = [] }: ScriptedReply, names: Names): ScriptedBlock[] {
  return [
    ...(thinking === undefined ? [] : [{ block: { type: "thinking", thinking, signature: "scripted" } }]),
    ...(text === undefined ? [] : [{ block: { type: "text", text } }]),
    ...blocks.map((block) => ({ block })),
    ...tools.map(({ name, input = {}, id = names.tool(), raw }) => ({
      block: { type: "tool_use", id, name, input },
      ...(raw !== undefined && { raw }),
    })),
  ];
}

function stopReason({ stop_reason }: ScriptedReply, blocks: readonly ScriptedBlock[]): string {
  return stop_reason ?? (blocks.some(({ block }) => block.type === "tool_use") ? "tool_use" : "end_turn");
}

function errorOf(
  error: string | { readonly type: string; readonly message: string },
): { type: string; message: string } {
  return typeof error === "string" ? { type: error, message: "Scripted error" } : error;
}

function messageStart(reply: ScriptedReply, names: Names): ModelEvent {
  const message = {
    id: names.message,
    type: "message",
    role: "assistant",
    model: names.model,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: { ...SCRIPTED_USAGE, ...reply.usage, output_tokens: 1 },
  };
  return { type: "message_start", message };
}

const PIECE = 12;

/** Cuts between characters, never inside one: the API does not split a surrogate pair. */
function pieces(text: string): string[] {
  const found: string[] = [];
  for (let from = 0; from < text.length;) {
    let to = Math.min(from + PIECE, text.length);
    if (to < text.length && (text.charCodeAt(to) & 0xfc00) === 0xdc00) to++;
    found.push(text.slice(from, to));
    from = to;
  }
  return found;
}
