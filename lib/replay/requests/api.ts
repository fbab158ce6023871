import { isObject, type JsonObject } from "../../core/json.ts";
import { errorType } from "../../http/errors.ts";
import type { Api } from "../../log/entry.ts";
import { type Cause, differs } from "../drift/difference.ts";
import { normalised } from "../normalise.ts";
import type { Call, Sent, Tape } from "../../log/tape.ts";

/** The field of a body that holds the conversation. */
export const ITEMS: { readonly [api in Api]: string } = {
  anthropic: "messages",
  chat: "messages",
  responses: "input",
  gemini: "contents",
};

/** The API of a path below a provider's prefix. */
export function apiOf(prefix: string, path: string): Api {
  if (prefix !== "openai") return prefix as Api;
  return path.includes("/responses") ? "responses" : "chat";
}

/** Whether a model answers at a path: a request there that is not on the tape is drift, any other is only refused. */
export function asksModel({ method, path }: Pick<Sent, "method" | "path">): boolean {
  return method === "POST" &&
    /\/(?:messages|count_tokens|completions|responses|responses\/compact|embeddings)$|:(?:\w*[gG]enerateContent|countTokens|\w*[eE]mbedContents?)$/
      .test(path);
}

/** The items of a conversation; none if it is a single text, or there is none. */
export function itemsOf({ api, body }: Pick<Sent, "api" | "body">): readonly JsonObject[] {
  const items = body?.[ITEMS[api]];
  return Array.isArray(items) && items.every(isObject) ? items : [];
}

/** What a place of a request is: what a rule may look at, and what a difference there is called. */
export type Part = "system" | "opening" | "user" | "result" | "model" | "tools" | "params";

/** Who an item of the conversation comes from. */
function whose(api: Api, { role, type }: JsonObject): Part {
  if (api === "responses" && typeof type === "string" && type !== "message") {
    if (type.endsWith("_output")) return "result";
    return type.endsWith("_tools") ? "tools" : "model";
  }
  if (role === "assistant" || role === "model") return "model";
  if (role === "system" || role === "developer") return "system";
  return role === "tool" || role === "function" ? "result" : "user";
}

const SYSTEM = ["system", "instructions", "systemInstruction", "system_instruction"];

/** Says for each path of a request what stands there. */
export function partsOf(sent: Pick<Sent, "api" | "body">): (path: string) => Part {
  const { api } = sent;
  const items = itemsOf(sent);
  const firstReply = items.findIndex((item) => whose(api, item) === "model");
  const isOpening = (at: number) => firstReply < 0 || at < firstReply;
  return (path) => {
    const [field, at, inner, block] = path.split(".");
    if (SYSTEM.includes(field!)) return "system";
    if (field === "tools") return "tools";
    if (field !== ITEMS[api]) return "params";
    const item = items[Number(at)];
    if (!item) return "user"; // the whole conversation as one text
    const part = whose(api, item);
    if (part !== "user") return part;
    const inside = (item[inner!] as readonly JsonObject[] | undefined)?.[Number(block)];
    const isResult = isObject(inside) &&
      (/tool_result$/.test(String(inside.type)) || isObject(inside.functionResponse));
    return isResult ? "result" : isOpening(Number(at)) ? "opening" : "user";
  };
}

const CAUSES: { readonly [part in Part]: Cause } = {
  system: "prompt",
  opening: "prompt",
  user: "prompt",
  result: "tool",
  tools: "tool",
  model: "echo",
  params: "wire",
};

/** Where a request first differs from a recorded one, both as they are compared; undefined if they are the same. */
export function sentDiffers(was: Sent, is: Sent) {
  if (was.method !== is.method || was.path !== is.path) {
    const [expected, actual] = [was, is].map(({ method, path }) => `${method} ${path}`);
    return { cause: "wire" as const, path: "path", expected, actual };
  }
  const found = differs(was.body ?? {}, is.body ?? {}, "");
  if (!found) return wireDiffers(was, is)[0];
  const path = found.path.slice(1);
  return { ...found, cause: CAUSES[partsOf("actual" in found ? is : was)(path)], path };
}

/** What else says how a request is meant; how a person logged in is not part of it. */
export function wireOf({ query, headers }: Sent): { readonly [name: string]: string | undefined } {
  const betas = headers["anthropic-beta"]?.split(",").filter((beta) => !beta.startsWith("oauth-"));
  return { query, "anthropic-version": headers["anthropic-version"], "anthropic-beta": betas?.join(",") };
}

/** How a request differs from a recorded one beside its body, in what the tape has of that. */
export function wireDiffers(was: Sent, is: Sent) {
  const [before, now] = [wireOf(was), wireOf(is)];
  return Object.keys(before).flatMap((path) => {
    const [expected = "", actual = ""] = [before[path], now[path]];
    const isKept = was.query !== undefined || expected !== "";
    return isKept && expected !== actual ? [{ cause: "wire" as const, path, expected, actual }] : [];
  });
}

/** The values of a request that are neither list nor object, by path: how much two requests differ is counted in them. */
export function leavesOf(value: unknown, path = "", found = new Map<string, unknown>()): Map<string, unknown> {
  if (typeof value !== "object" || value === null) return found.set(path, value);
  for (const [key, part] of Object.entries(value)) leavesOf(part, `${path}.${key}`, found);
  return found;
}

/** Changes every text of a request, at its path. */
export function mapSent(sent: Sent, change: (text: string, path: string) => string): Sent {
  return sent.body ? { ...sent, body: normalised(sent.body, "", change) } : sent;
}

/** An error as each API words it, so that a client shows it and gives up. */
export function errorBody(api: Api, status: number, message: string): string {
  if (api === "anthropic") return JSON.stringify({ type: "error", error: { type: errorType(status), message } });
  const code = status === 404 ? "not_found" : "invalid_request";
  const named = status === 404 ? "NOT_FOUND" : "INVALID_ARGUMENT";
  const error = api === "gemini"
    ? { code: status, message, status: named }
    : { message, type: `${code}_error`, param: null, code };
  return JSON.stringify({ error });
}

export function modelCalls({ calls }: Tape): Call[] {
  return calls.filter(({ sent }) => sent === undefined || asksModel(sent));
}
