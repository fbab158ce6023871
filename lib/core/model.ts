import type { Message, TextBlock, Usage } from "./messages.ts";

/** What the core asks of a model: the whole conversation, every time. */
export interface ModelRequest {
  readonly model: string;
  readonly system: string;
  /** The same in blocks, if the agent gave it so. */
  readonly systemBlocks?: readonly SystemBlock[];
  readonly messages: readonly Message[];
  readonly tools: readonly (ToolSpec | ApiTool)[];
  readonly max_tokens: number;
  /** How much the model thinks: each model maps it to its API. */
  readonly effort?: Effort;
  /** Further parameters of the API (`thinking`, `tool_choice`, …), sent as they are; `betas` is a header. */
  readonly params?: { readonly [key: string]: unknown };
}

/** A part of a system prompt; the prompt cache keeps what comes before a mark, and the marked part. */
export interface SystemBlock extends TextBlock {
  readonly cache_control?: { readonly type: "ephemeral"; readonly ttl?: "5m" | "1h" };
}

/** How many cache marks the API takes in a request. */
export const MOST_MARKS = 4;

/** What a model may write in one reply, unless the agent says otherwise. */
export const DEFAULT_MAX_TOKENS = 32_000;

export type Effort = "low" | "medium" | "high" | "xhigh" | "max";

export type JsonSchema = { readonly [key: string]: unknown };

export interface ToolSpec {
  readonly name: string;
  readonly description: string;
  readonly input_schema: JsonSchema;
}

/** A tool of the API itself, such as `{ type: "web_search_20260318", name: "web_search" }`: sent as it is. */
export interface ApiTool {
  readonly type: string;
  readonly name?: string;
  readonly [key: string]: unknown;
}

/** One event of a streamed reply, as the Messages API sends it. Events of unknown type are passed over. */
export type ModelEvent = { [T in keyof Streamed]: { readonly type: T } & Readonly<Streamed[T]> }[keyof Streamed];

interface Streamed {
  message_start: {
    message: {
      readonly id?: string;
      readonly model?: string;
      readonly usage?: Partial<Usage>;
      /** What has already arrived, if a reply continues after a pause. */
      readonly content?: readonly RawBlock[];
      readonly stop_reason?: string | null;
      readonly container?: Container | null;
    };
  };
  content_block_start: { index: number; content_block: RawBlock };
  content_block_delta: { index: number; delta: RawBlock };
  content_block_stop: { index: number };
  message_delta: {
    delta: Readonly<{ stop_reason?: string | null; stop_sequence?: string | null; container?: Container | null }>;
    /** With what the call cost in US dollars, if the server says so; null: the server counts nothing. */
    usage?: (Partial<Usage> & { readonly cost?: number }) | null;
  };
  message_stop: object;
  ping: object;
  error: { error: { readonly type: string; readonly message: string } };
}

/** Where the API runs code of a conversation. */
type Container = { readonly id?: string };

export interface RawBlock {
  readonly type: string;
  readonly [key: string]: unknown;
}

/**
 * The one way the core talks to a model. A model yields the events of ONE attempt; it throws a `ModelError`
 * if the attempt failed, and the core decides whether to try again. If its answer can also be iterated at once, the
 * core does not wait for each event.
 */
export interface Model {
  (request: ModelRequest, signal: AbortSignal): AsyncIterable<ModelEvent>;
  /** Whether its calls cost nothing, as those of `scripted()`. Otherwise they cost what `prices` says, or an unknown sum. */
  readonly isFree?: boolean;
  /** The model that answers to a name, if this one stands for several. */
  readonly named?: (name: string) => Model;
  /** How many tokens it reads at most, if it says so. */
  readonly contextWindow?: number;
  /** Whether it calls no tools: prompt hooks then ask it for JSON in its text. @default false */
  readonly hasNoTools?: boolean;
}

/** Why a model call failed. `retryable` says that another attempt may go better; nothing was executed yet. */
export class ModelError extends Error {
  override name = "ModelError";
  readonly code: string;
  readonly retryable: boolean;
  /** What the server asked us to wait, in milliseconds. */
  readonly retryAfter?: number;
  constructor(message: string, options: { code: string; retryable?: boolean; retryAfter?: number; cause?: unknown }) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = options.code;
    this.retryable = options.retryable ?? false;
    if (options.retryAfter !== undefined) this.retryAfter = options.retryAfter;
  }
}

/** One tool call of a reply. `invalid` says why it must not run: its input did not parse, or was cut. */
export interface ToolCall {
  readonly id: string;
  readonly name: string;
  readonly input: unknown;
  readonly invalid?: string;
}

/** A whole reply, checked. */
export interface Reply {
  readonly id: string;
  readonly model: string;
  readonly message: Message;
  readonly calls: readonly ToolCall[];
  readonly stop_reason: string;
  readonly usage: Usage;
  /** In US dollars, as the server says; null: it cannot be known, as the server counts nothing. @default by its price */
  readonly cost?: number | null;
  /** How many of the tokens that came back were thoughts, if the server counts them. */
  readonly reasoning?: number;
  /** The id of the container that the API runs code in; the next request names it. */
  readonly container?: string;
}

/** What a listener can show while a reply arrives. */
export type ReplyDelta = { readonly type: "text" | "thinking"; readonly text: string };

/** What is asked of the model beside the conversation. */
export type ModelParams = { readonly maxTokens: number } & Pick<ModelRequest, "effort" | "params">;

/** How a model call ended: with a reply, or an error. */
export type CallEnd = { readonly reply: Reply; readonly error?: undefined } | {
  readonly reply?: undefined;
  readonly error: unknown;
};

/** What a reply took, or as much of it as came. */
export type Used = Pick<Reply, "model" | "usage" | "cost">;
