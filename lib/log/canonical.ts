import { isObject } from "../core/json.ts";
import { hashOf } from "../runtime/sha256.ts";
import type { Block, Message } from "../core/messages.ts";
import type { TapeRequest } from "./tape.ts";

/** A value as JSON with the keys of objects in one order: equal values give equal texts. */
export function canonical(value: unknown): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  if (Array.isArray(value)) {
    let text = "[";
    for (let i = 0; i < value.length; i++) text += (i > 0 ? "," : "") + canonical(value[i]);
    return text + "]";
  }
  const given = value as { [key: string]: unknown };
  if (typeof given.toJSON === "function") return canonical(given.toJSON());
  let text = "{";
  for (const key of Object.keys(given).sort()) {
    if (given[key] === undefined) continue;
    text += `${text.length > 1 ? "," : ""}${JSON.stringify(key)}:${canonical(given[key])}`;
  }
  return text + "}";
}

/** A message as it is compared: without cache marks, and an assistant's without what the API adds to a reply. */
export function messageText(message: Message): string {
  return canonical(comparable(message));
}

/** All of a request but its messages, as it is compared. */
export function headText({ model, params, system, tools }: TapeRequest): string {
  return canonical({ model, params, system: system.map(unmarked), tools: tools.map(unmarked) });
}

/** A message without what does not count when it is compared. */
export function comparable({ role, content }: Message): Message {
  const strip = role === "assistant" ? unechoed : unmarked;
  return content.some((block) => strip(block) !== block) ? { role, content: content.map(strip) } : { role, content };
}

/** A block or a tool without its cache mark; the same object without one. */
export function unmarked<T extends { readonly [key: string]: unknown } | Block>(block: T): T {
  const { content } = block as { content?: unknown };
  const inner = Array.isArray(content) ? content.map((part) => isObject(part) ? unmarked(part) : part) : undefined;
  const changed = inner?.some((part, i) => part !== (content as unknown[])[i]) ?? false;
  if (!changed && !("cache_control" in block)) return block;
  const { cache_control: _, ...rest } = block as { [key: string]: unknown };
  return (changed ? { ...rest, content: inner } : rest) as T;
}

/** What the API puts into a reply and takes no notice of when it comes back. */
const ECHO_EXTRAS = ["caller", "citations", "cache_control"];

/** Clients drop some of a reply's fields when they send it back, and nulls: neither is a change. */
function unechoed(block: Block): Block {
  const given = block as { [key: string]: unknown };
  const dropped = (key: string) => given[key] === null || ECHO_EXTRAS.includes(key);
  if (!Object.keys(given).some(dropped)) return block;
  return Object.fromEntries(Object.entries(given).filter(([key]) => !dropped(key))) as unknown as Block;
}

/**
 * One link of the chain of hashes over a request: first the head, without a key before it, then each message with the
 * key of the one before. So each key stands for all that came before.
 */
export function link(key: string | undefined, text: string): string {
  return hashOf(`${key ?? "tape"}\n${text}`, 32);
}

export function keyOf(request: TapeRequest): string {
  return request.messages.map(messageText).reduce(link, link(undefined, headText(request)));
}

/** Whether two values of JSON are the same, quickly: false also if they differ only in what does not count. */
export function isSame(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Array.isArray(a)) {
    if (!Array.isArray(b) || a.length !== b.length) return false;
    for (let i = 0; i < a.length; i++) if (!isSame(a[i], b[i])) return false;
    return true;
  }
  if (Array.isArray(b)) return false;
  let keys = 0;
  for (const key in a) {
    if (!isSame((a as { [key: string]: unknown })[key], (b as { [key: string]: unknown })[key])) return false;
    keys++;
  }
  for (const _ in b) keys--;
  return keys === 0;
}
