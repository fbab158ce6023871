import { isObject, type JsonObject, parsed } from "../../core/json.ts";
import { type Block, type Message, textOf } from "../../core/messages.ts";
import type { Sent, TapeRequest } from "../../log/tape.ts";
import { ITEMS, itemsOf } from "./api.ts";

/** A request of any API as a tape shows it: for people, totals and faults, never to be compared. */
export function readable(sent: Sent): TapeRequest {
  const { api, body = {} } = sent;
  const { [ITEMS[api]]: given, tools, model, system, instructions, systemInstruction, ...params } = body;
  const read = { chat: chatMessage, responses: responsesItem, gemini: geminiContent, anthropic: anthropicMessage }[api];
  const all = typeof given === "string" ? [{ role: "user", content: given }] : itemsOf(sent);
  const messages = all.map(read).filter(({ content }) => content.length > 0);
  return {
    model: modelOf(sent) || (typeof model === "string" ? model : sent.path),
    params,
    system: [
      ...blocksOf(system ?? instructions ?? (systemInstruction as JsonObject | undefined)?.parts),
      ...messages.filter(({ role }) => role === "system").flatMap(({ content }) => content),
    ],
    tools: (Array.isArray(tools) ? tools : []).flatMap(toolsIn),
    messages: merged(messages.filter(({ role }) => role !== "system")),
  };
}

/** The model a request asks; the Gemini API has it in the path. */
export function modelOf({ api, path, body }: Sent): string {
  if (api === "gemini") return /\/models\/([^/:]+)/.exec(path)?.[1] ?? "";
  return typeof body?.model === "string" ? body.model : "";
}

type AnyMessage = { readonly role: "user" | "assistant" | "system"; readonly content: Block[] };

function toolsIn(tool: unknown): JsonObject[] {
  if (!isObject(tool)) return [];
  if (Array.isArray(tool.functionDeclarations)) return tool.functionDeclarations.filter(isObject);
  return [isObject(tool.function) ? tool.function : tool];
}

/** Texts, or parts in which other APIs write them, as blocks. */
function blocksOf(content: unknown): Block[] {
  if (typeof content === "string") return content === "" ? [] : [{ type: "text", text: content }];
  if (!Array.isArray(content)) return [];
  return content.filter(isObject).map((part): Block => {
    if (typeof part.text === "string") return { type: "text", text: part.text };
    const url = isObject(part.image_url) ? part.image_url.url : part.image_url;
    if (typeof url !== "string") return { type: "other", ...part } as Block;
    const [, media_type, data] = /^data:([^;,]+);base64,(.*)$/s.exec(url) ?? [];
    return { type: "image", source: data === undefined ? { type: "url", url } : { type: "base64", media_type, data } };
  });
}

function roleOf(role: unknown): AnyMessage["role"] {
  if (role === "assistant" || role === "model") return "assistant";
  return role === "system" || role === "developer" ? "system" : "user";
}

function anthropicMessage({ role, content }: JsonObject): AnyMessage {
  const blocks = Array.isArray(content) ? content.filter(isObject) as unknown as Block[] : blocksOf(content);
  return { role: roleOf(role), content: blocks };
}

function toolUse(id: unknown, name: unknown, input: unknown): Block {
  return {
    type: "tool_use",
    id: String(id ?? name),
    name: String(name),
    input: isObject(input) ? input : { input },
  } as Block;
}

function toolResult(id: unknown, said: unknown): Block {
  const blocks = typeof said === "string" || Array.isArray(said)
    ? blocksOf(said)
    : blocksOf(JSON.stringify(said ?? null));
  const isText = blocks.every(({ type }) => type === "text");
  const content = isText ? textOf({ role: "user", content: blocks }) : blocks;
  return { type: "tool_result", tool_use_id: String(id), content } as Block;
}

function chatMessage({ role, content, tool_calls, tool_call_id }: JsonObject): AnyMessage {
  if (role === "tool") return { role: "user", content: [toolResult(tool_call_id, content)] };
  const calls = (Array.isArray(tool_calls) ? tool_calls : []).filter(isObject).map(({ id, function: called }) => {
    const { name, arguments: input } = isObject(called) ? called : {};
    return toolUse(id, name, parsed(String(input)) ?? input);
  });
  return { role: roleOf(role), content: [...blocksOf(content), ...calls] };
}

function responsesItem(item: JsonObject): AnyMessage {
  const { type = "message", role, content, call_id, name, output } = item;
  if (type === "message") return { role: roleOf(role), content: blocksOf(content) };
  if (String(type).endsWith("_output")) return { role: "user", content: [toolResult(call_id, output)] };
  if (!String(type).endsWith("_call")) return { role: "assistant", content: [] };
  const input = typeof item.arguments === "string"
    ? parsed(item.arguments) ?? item.arguments
    : item.input ?? item.action;
  return { role: "assistant", content: [toolUse(call_id ?? item.id, name ?? type, input)] };
}

function geminiContent({ role, parts }: JsonObject): AnyMessage {
  const content = (Array.isArray(parts) ? parts : []).filter(isObject).flatMap((part): Block[] => {
    const { functionCall: call, functionResponse: response } = part;
    if (isObject(call)) return [toolUse(call.id, call.name, call.args)];
    if (isObject(response)) return [toolResult(response.id ?? response.name, response.response)];
    return blocksOf([part]);
  });
  return { role: roleOf(role), content };
}

/** Neighbours of one role as one message. */
function merged(messages: readonly AnyMessage[]): Message[] {
  const all: { role: Message["role"]; content: Block[] }[] = [];
  for (const { role, content } of messages) {
    const last = all.at(-1);
    if (last?.role === role) last.content.push(...content);
    else all.push({ role: role as Message["role"], content: [...content] });
  }
  return all;
}
