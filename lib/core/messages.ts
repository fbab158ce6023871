/** Any value that survives a JSON round trip. */
export type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json };

export interface TextBlock {
  readonly type: "text";
  readonly text: string;
}

export interface ToolUseBlock {
  readonly type: "tool_use";
  readonly id: string;
  readonly name: string;
  readonly input: unknown;
}

export interface ToolResultBlock {
  readonly type: "tool_result";
  readonly tool_use_id: string;
  readonly content: string | readonly Block[];
  readonly is_error?: boolean;
}

/** A block we do not look into (thinking, images, server tools, what the API adds next): kept exactly as it came. */
interface OtherBlock {
  readonly type: string;
  readonly [key: string]: unknown;
}

export type Block = TextBlock | ToolUseBlock | ToolResultBlock | OtherBlock;

/** What an agent is asked: a text, or blocks of the Messages API such as images and documents. */
export type Prompt = string | readonly Block[];

/**
 * One message of a conversation. Messages are values: they are replaced, never changed in place, because
 * requests keep each message's bytes by its identity.
 */
export interface Message {
  readonly role: "user" | "assistant";
  readonly content: readonly Block[];
}

export interface Usage {
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cache_creation_input_tokens: number;
  readonly cache_read_input_tokens: number;
  /** Charged otherwise than by these tokens: an hour's cache, web searches, a faster speed. No price is known for that. */
  readonly extra?: true;
}

export const NO_USAGE: Usage = {
  input_tokens: 0,
  output_tokens: 0,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
};

export function addUsage(a: Usage, b: Usage): Usage {
  return {
    input_tokens: a.input_tokens + b.input_tokens,
    output_tokens: a.output_tokens + b.output_tokens,
    cache_creation_input_tokens: a.cache_creation_input_tokens + b.cache_creation_input_tokens,
    cache_read_input_tokens: a.cache_read_input_tokens + b.cache_read_input_tokens,
    ...((a.extra ?? b.extra) && { extra: true }),
  };
}

/** Every token of a call: what was sent, from the cache or not, and what came back. */
export function totalTokens(usage: Usage): number {
  return usage.input_tokens + usage.output_tokens + usage.cache_creation_input_tokens + usage.cache_read_input_tokens;
}

export function text(value: string): TextBlock {
  return { type: "text", text: value };
}

export function user(content: string | readonly Block[]): Message {
  return { role: "user", content: typeof content === "string" ? [text(content)] : content };
}

export function assistant(content: string | readonly Block[]): Message {
  return { role: "assistant", content: typeof content === "string" ? [text(content)] : content };
}

export function toolResult(id: string, content: string | readonly Block[], isError = false): ToolResultBlock {
  return isError
    ? { type: "tool_result", tool_use_id: id, content, is_error: true }
    : { type: "tool_result", tool_use_id: id, content };
}

/** Answers a call that never ran. */
export const INTERRUPTED = "The call was interrupted before it ran";

/** Whether a value can stand as the content of a tool_result. */
export function isContent(value: unknown): value is string | readonly Block[] {
  if (typeof value === "string") return true;
  return Array.isArray(value) && value.every((b) => typeof b === "object" && b !== null && typeof b.type === "string");
}

/** The content of a tool_result in words; a block that is not text is named by its kind. */
export function contentText(content: string | readonly Block[]): string {
  if (typeof content === "string") return content;
  return content.map((b) => b.type === "text" ? (b as TextBlock).text : `[${b.type}]`).join("\n");
}

export function isToolUse(block: Block): block is ToolUseBlock {
  return block.type === "tool_use";
}

export function isToolResult(block: Block): block is ToolResultBlock {
  return block.type === "tool_result";
}

/** The text a reader sees in a message: its text blocks, in order. */
export function textOf(message: Message | undefined): string {
  if (message === undefined) return "";
  return message.content.filter((b): b is TextBlock => b.type === "text").map((b) => b.text).join("");
}

/** Whether a prompt says nothing: a run that was cut off goes on. */
export function isBlank(prompt: Prompt): boolean {
  return typeof prompt === "string" && prompt.trim() === "";
}

/** What a program gives an agent as a hook would (S1.21), as the one block of a prompt. */
export function programInput(text: string): Prompt {
  return [{ type: "hook_input", text }];
}

/** The text of such a prompt; undefined: it is a person's. */
export function programText(prompt: Prompt): string | undefined {
  const [block] = typeof prompt === "string" ? [] : prompt;
  return block?.type === "hook_input" ? (block as { readonly text?: string }).text : undefined;
}

/** What hooks and listeners read of a prompt: its texts. */
export function promptText(prompt: Prompt): string {
  if (typeof prompt === "string") return prompt;
  return prompt.filter((b): b is TextBlock => b.type === "text").map((b) => b.text).join("\n");
}

/**
 * What the Messages API would refuse in a conversation, as a sentence, or undefined when it is sound: roles
 * alternate from user, nothing is empty, and each tool_use is answered once, in order, by the next message.
 */
export function invalidConversation(messages: readonly Message[]): string | undefined {
  let open: string[] = [];
  for (const [i, message] of messages.entries()) {
    const role = i % 2 === 0 ? "user" : "assistant";
    if (message.role !== role) return `messages.${i} has role ${message.role}, expected ${role}`;
    if (message.content.length === 0) return `messages.${i} has no content`;
    const answers = message.content.filter(isToolResult).map((b) => b.tool_use_id);
    if (role === "assistant") {
      if (answers.length > 0) return `messages.${i} answers tools as the assistant`;
      open = message.content.filter(isToolUse).map((b) => b.id);
      if (new Set(open).size < open.length) return `messages.${i} uses a tool_use id twice`;
      continue;
    }
    if (message.content.some(isToolUse)) return `messages.${i} uses tools as the user`;
    if (answers.join() !== open.join()) return `messages.${i} answers [${answers}], expected [${open}]`;
    const firstOther = message.content.findIndex((b) => !isToolResult(b));
    if (firstOther >= 0 && message.content.slice(firstOther).some(isToolResult)) {
      return `messages.${i} has a tool_result after other content`;
    }
    open = [];
  }
  return open.length > 0 ? `tool_use [${open}] is never answered` : undefined;
}
