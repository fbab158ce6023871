import { bodyMessage, bodyParams } from "../models/anthropic/request-bytes.ts";
import { isObject, present } from "../core/json.ts";
import type { Block, Message } from "../core/messages.ts";
import { paramsOf, type RequestFields, type TapeRequest } from "../log/tape.ts";
import { differs, firstDifference, keysOf } from "./drift/difference.ts";

/** What the SDK sends, as a tape has it. @throws {TypeError} if it is not a request to the Messages API */
export function fromBody(body: unknown): TapeRequest {
  const why = noRequest(body);
  if (why !== undefined) throw new TypeError(`Cannot read a request as it ${why}`);
  const { model, system, messages, tools = [], ...rest } = body as Body;
  return {
    model,
    params: paramsOf(rest),
    system: blocks(system),
    tools,
    messages: messages.map(({ role, content }) => ({ role, content: blocks(content) })),
  };
}

const PARTS = ["model", "system", "tools", "messages"] as const;

/** What middleware changed of a body, field by field; undefined if it is the same. */
export function changedOnTheWay(written: unknown, sent: unknown): TapeRequest["sent"] {
  const [before, after] = [bodyText(written), bodyText(sent)];
  if (before === after) return undefined;
  const [was, is] = [fromBody(JSON.parse(before)), fromBody(JSON.parse(after))];
  const changed: { [field: string]: unknown } = {};
  for (const part of PARTS) if (firstDifference({ ...was, [part]: is[part] }, was)) changed[part] = is[part];
  for (const name of keysOf(was.params, is.params)) {
    if (differs(was.params[name], is.params[name], name)) changed[name] = is.params[name] ?? null;
  }
  return Object.keys(changed).length > 0 ? changed : undefined;
}

/** The body of a request as text: it goes out as bytes unless there is middleware. */
export function bodyText(body: unknown): string {
  return typeof body === "string" ? body : new TextDecoder().decode(body as Uint8Array);
}

export function asSent({ sent = {}, ...asked }: TapeRequest): TapeRequest {
  const { model, system, tools, messages, ...params } = sent;
  const changed = Object.entries(params).map(([name, value]) => [name, value ?? undefined]);
  return {
    ...asked,
    messages: asked.messages.map(bodyMessage),
    ...present({ model, system, tools, messages }) as Partial<TapeRequest>,
    params: paramsOf({ ...bodyParams(asked.params), ...Object.fromEntries(changed) }),
  };
}

type Content = string | readonly Block[] | undefined;

interface Body extends RequestFields {
  readonly model: string;
  readonly system?: Content;
  readonly messages: readonly { readonly role: Message["role"]; readonly content: Content }[];
  readonly tools?: readonly RequestFields[];
}

/** Why a body is not a request to the Messages API, in words that follow "it"; undefined if it is one. */
export function noRequest(body: unknown): string | undefined {
  const { model, system, messages, tools = [] } = isObject(body) ? body : {};
  if (typeof model !== "string") return "has no 'model'";
  if (!isList(messages)) return "has no list of 'messages'";
  if (!isList(tools)) return "has no list of 'tools'";
  const odd = messages.findIndex(({ content }) => !isContent(content));
  const place = isContent(system) ? `messages.${odd}.content` : "system";
  return isContent(system) && odd < 0 ? undefined : `has neither a text nor blocks in '${place}'`;
}

function isList(value: unknown): value is readonly RequestFields[] {
  return Array.isArray(value) && value.every(isObject);
}

function isContent(value: unknown): boolean {
  return value === undefined || typeof value === "string" || isList(value);
}

function blocks(content: Content): readonly Block[] {
  if (content === undefined || content === "") return [];
  return typeof content === "string" ? [{ type: "text", text: content }] : content;
}
