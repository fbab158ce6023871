import { type Block, type Message, text } from "../../core/messages.ts";
import { type ApiTool, type ModelRequest, MOST_MARKS, type ToolSpec } from "../../core/model.ts";
import { EMPTY_REPLY } from "../../core/reply.ts";

/** A request as the bytes of its JSON, ready to send. The bytes stay as they are until `release` is called. */
export interface ReadyBody {
  readonly bytes: Uint8Array;
  release(): void;
}

/** The messages of one conversation that will not change any more, as the start of a request body. */
interface Conversation {
  buffer: Uint8Array;
  /** By identity: a message is a value and is replaced, never changed. */
  readonly settled: Message[];
  /** `ends[i]` is where message `i` ends in the buffer. */
  readonly ends: number[];
  /** The last few messages, whose place in the body still changes with the cache breakpoints. */
  recent: Map<Message, Uint8Array>;
}

const encoder = new TextEncoder();
const START = encoder.encode('{"messages":[');
const COMMA = encoder.encode(",");
/** What every serialised message with content ends with: its last block, its content, itself. */
const MESSAGE_END = encoder.encode("}]}");
const MARKED_MESSAGES = 2;

/** The breakpoints that the author set in the system prompt: what stands before them, tools too, needs none of ours. */
function ownMarks({ systemBlocks = [] }: ModelRequest): number {
  return systemBlocks.filter((block) => block.cache_control).length;
}

/** How breakpoints of the prompt cache are marked: not at all, or for five minutes or an hour. */
export type Cache = boolean | "1h";

function markOf(cache: Cache): object {
  return cache ? { cache_control: { type: "ephemeral", ...(cache === "1h" && { ttl: cache }) } } : {};
}

/** Makes request bodies of conversations that grow: a message is serialised once, so a long history only costs its sending. */
export function requestWriter({ cache }: { cache: Cache }): (request: ModelRequest) => ReadyBody {
  const conversations = new WeakMap<Message, Conversation>();
  const settings = settingsWriter(cache);
  const breakpoint = cache ? encoder.encode(`,${JSON.stringify(markOf(cache)).slice(1, -1)}`) : undefined;
  return (request) => {
    const key = request.messages[0];
    const kept = key && conversations.get(key);
    const conversation = kept ?? { buffer: new Uint8Array(16_384), settled: [], ends: [], recent: new Map() };
    // Taken while in use: a second request of the same conversation must not write into bytes that are being sent.
    if (key) conversations.delete(key);
    const bytes = write(conversation, request, settings(request), breakpoint);
    return { bytes, release: () => void (key && conversations.set(key, conversation)) };
  };
}

function write(
  conversation: Conversation,
  request: ModelRequest,
  tail: Uint8Array,
  breakpoint: Uint8Array | undefined,
): Uint8Array {
  const { messages } = request;
  const { settled, ends, recent } = conversation;
  const marked = breakpoint ? lastUserMessages(messages, MOST_MARKS - ownMarks(request)) : [];
  const settle = marked[0] ?? messages.length;
  const same = commonStart(settled, messages, Math.min(settled.length, settle));
  settled.length = ends.length = same;

  const bytesOf = (message: Message) => recent.get(message) ?? encode(message);
  const still = new Map<Message, Uint8Array>();
  let at = same > 0 ? ends[same - 1]! : put(conversation, 0, START);
  for (let i = same; i < messages.length; i++) {
    const message = messages[i]!;
    const bytes = bytesOf(message);
    if (i > 0) at = put(conversation, at, COMMA);
    if (i < settle) {
      at = put(conversation, at, bytes);
      settled.push(message);
      ends.push(at);
      continue;
    }
    still.set(message, bytes);
    if (marked.includes(i)) {
      at = put(conversation, at, bytes.subarray(0, -MESSAGE_END.length));
      at = put(conversation, at, breakpoint!);
      at = put(conversation, at, MESSAGE_END);
    } else at = put(conversation, at, bytes);
  }
  conversation.recent = still;
  at = put(conversation, at, tail); // before the buffer is read: it may be another one now
  return conversation.buffer.subarray(0, at);
}

function commonStart(a: readonly Message[], b: readonly Message[], limit: number): number {
  let i = 0;
  while (i < limit && a[i] === b[i]) i++;
  return i;
}

function encode(message: Message): Uint8Array {
  const { role, content } = bodyMessage(message);
  return encoder.encode(`{"role":${JSON.stringify(role)},"content":${JSON.stringify(content)}}`);
}

/** A message as the body of a request has it. */
export function bodyMessage(message: Message): Message {
  const { role, content } = message;
  return role === "assistant" && content.some(isForeign) ? { role, content: ownBlocks(content) } : message;
}

/** A reply without what another API left in it: its thoughts, which have no signature, and what it needs back. */
function ownBlocks(content: readonly Block[]): readonly Block[] {
  const own = content.flatMap((block): Block[] => {
    if (!isForeign(block)) return [block];
    if (block.type !== "text" && block.type !== "tool_use") return [];
    const { openai: _, ...rest } = block as Block & { openai?: unknown };
    return [rest as Block];
  });
  return own.length > 0 ? own : [text(EMPTY_REPLY)];
}

function isForeign(block: Block): boolean {
  return "openai" in block || (block.type === "thinking" && !("signature" in block));
}

function put(conversation: Conversation, at: number, bytes: Uint8Array): number {
  const end = at + bytes.length;
  if (end > conversation.buffer.length) {
    const larger = new Uint8Array(Math.max(end, conversation.buffer.length * 2));
    larger.set(conversation.buffer.subarray(0, at));
    conversation.buffer = larger;
  }
  conversation.buffer.set(bytes, at);
  return end;
}

/** Breakpoints on two: what the last request wrote to the cache is found, and what this one adds is written. */
function lastUserMessages(messages: readonly Message[], left: number): number[] {
  const found: number[] = [];
  for (let i = messages.length - 1; i >= 0 && found.length < Math.min(MARKED_MESSAGES, left); i--) {
    const { role, content } = messages[i]!;
    if (role === "user" && canMark(content.at(-1))) found.unshift(i);
  }
  return found;
}

const MARKABLE = ["text", "tool_result", "image", "document", "search_result"];

function canMark(block: Block | undefined): boolean {
  if (!block || !MARKABLE.includes(block.type) || "cache_control" in block) return false;
  return block.type !== "text" || block.text !== "";
}

/** Everything but the messages, as the end of the body; made anew only when something in it is another value. */
function settingsWriter(cache: Cache): (request: ModelRequest) => Uint8Array {
  let last: ModelRequest | undefined;
  let bytes = new Uint8Array();
  return (request) => {
    if (!last || !sameSettings(last, request)) {
      bytes = encoder.encode("]," + JSON.stringify(settingsOf(request, cache)).slice(1));
      last = { ...request, messages: [], tools: [...request.tools] };
    }
    return bytes;
  };
}

function settingsOf(request: ModelRequest, cache: Cache): object {
  const { model, system, systemBlocks = [text(system)], tools, max_tokens, effort, params } = request;
  const mark = ownMarks(request) > 0 ? {} : markOf(cache);
  const markLast = (list: readonly object[]) => list.map((one, i) => i === list.length - 1 ? { ...one, ...mark } : one);
  return {
    ...bodyParams({ ...params, ...(effort && { effort }) }),
    model,
    max_tokens,
    ...(system !== "" && { system: markLast(systemBlocks) }),
    ...(tools.length > 0 && { tools: markLast(tools) }),
    stream: true,
  };
}

/** Parameters as the body of a request has them: the effort is one of the output, and betas are a header. */
export function bodyParams(
  { effort, betas: _, messages: __, ...rest }: { readonly [key: string]: unknown },
): { readonly [key: string]: unknown } {
  return effort === undefined ? rest : { ...rest, output_config: { ...rest.output_config as object, effort } };
}

function sameSettings(a: ModelRequest, b: ModelRequest): boolean {
  return a.model === b.model && a.system === b.system && a.systemBlocks === b.systemBlocks &&
    a.max_tokens === b.max_tokens && a.effort === b.effort &&
    a.params === b.params && a.tools.length === b.tools.length &&
    a.tools.every((tool, i) => sameTool(tool, b.tools[i]!));
}

function sameTool(a: ToolSpec | ApiTool, b: ToolSpec | ApiTool): boolean {
  return a === b ||
    (!("type" in a) && !("type" in b) && a.name === b.name && a.description === b.description &&
      a.input_schema === b.input_schema);
}
