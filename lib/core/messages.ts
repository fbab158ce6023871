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

/** A part of a message, as the Messages API has it. */
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

/** What a call, or a run, has used in tokens. */
export interface Usage {
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cache_creation_input_tokens: number;
  readonly cache_read_input_tokens: number;
  /** Charged otherwise than by these tokens: an hour's cache, web searches, a faster speed. No price is known for that. */
  readonly extra?: true;
}

const TOKENS = [
  ...["input_tokens", "output_tokens"] as const,
  ...["cache_creation_input_tokens", "cache_read_input_tokens"] as const,
];

/** Usage by what is counted of each kind of tokens, and whether more is charged. */
export function usageOf(count: (kind: typeof TOKENS[number]) => number, extra?: unknown): Usage {
  const counts = Object.fromEntries(TOKENS.map((kind) => [kind, count(kind)])) as unknown as Usage;
  return extra ? { ...counts, extra: true } : counts;
}

export const NO_USAGE: Usage = usageOf(() => 0);

export function addUsage(a: Usage, b: Usage): Usage {
  return usageOf((kind) => a[kind] + b[kind], a.extra ?? b.extra);
}

/** Every token of a call: what was sent, from the cache or not, and what came back. */
export function totalTokens(usage: Usage): number {
  return TOKENS.reduce((sum, kind) => sum + usage[kind], 0);
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
  return content.map((b) => isText(b) ? b.text : `[${b.type}]`).join("\n");
}

export function isText(block: Block): block is TextBlock {
  return block.type === "text";
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
  return message.content.filter(isText).map((b) => b.text).join("");
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
  return prompt.filter(isText).map((b) => b.text).join("\n");
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

/** What of a result is text for the model at most: what says more has said too much for any context. */
const LONGEST = 200_000;

/** What a result ends with that was cut: it is not cut again where it is served once more. */
const NOTE = /\(\d+ more characters are left out: ask for less at once\)$/;

/** The result of a tool as far as a model is given it; a last line says what is left out. */
export function shortened(content: string | readonly Block[]): string | readonly Block[] {
  if (typeof content === "string") return wordsIn(shortenedBlocks([text(content)]))[0] ?? "";
  return shortenedBlocks(content);
}

export function shortenedBlocks(blocks: readonly Block[]): readonly Block[] {
  const words = wordsIn(blocks);
  const size = words.reduce((sum, { length }) => sum + length, 0);
  if (size <= LONGEST || (size <= LONGEST + 100 && NOTE.test(words.at(-1)!))) return blocks;
  let room = LONGEST;
  const kept = blocks.flatMap((block): Block[] => {
    if (!isText(block)) return [block];
    const whole = String(block.text);
    const part = whole.slice(0, room);
    room -= part.length;
    return part.length === whole.length ? [block] : part === "" ? [] : [text(part)];
  });
  const note = `(${size - LONGEST} more characters are left out: ask for less at once)`;
  const last = kept.at(-1);
  return last && isText(last) ? [...kept.slice(0, -1), text(`${last.text}\n${note}`)] : [...kept, text(note)];
}

function wordsIn(blocks: readonly Block[]): string[] {
  return blocks.filter(isText).map((block) => String(block.text));
}
