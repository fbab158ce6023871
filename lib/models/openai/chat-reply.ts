import { isObject, type JsonObject, parsed } from "../../core/json.ts";
import { ModelError, type ModelEvent, type ModelRequest } from "../../core/model.ts";
import { DONE } from "../../http/sse.ts";
import { cutError, replyError, throwErrorIn } from "./openai-errors.ts";
import { ReplyEvents, type ReplyReader } from "./reply-events.ts";
/** Where the blocks of a reply stand, whatever came first; calls follow. */
const THINKING = 0;
const TEXT = 1;
const CALLS = 2;

/** A tool call while its pieces come in. */
interface Growing {
  id: string;
  name: string | undefined;
  index: unknown;
  json: string;
  extra?: unknown;
}

/** Reads a reply of Chat Completions, as OpenAI and its many imitators send it. */
export function chatReader(request: ModelRequest, emit: (event: ModelEvent) => void): ReplyReader {
  const reply = new ReplyEvents(request, emit);
  const calls: Growing[] = [];
  const details: { [key: string]: unknown }[] = [];
  let thinks = false;
  let speaks = false;
  let refuses = false;
  let finish: string | undefined;
  let isDone = false;

  function think(text: string, field: string): void {
    if (!thinks) reply.start(THINKING, { type: "thinking", thinking: "", openai: { field } });
    thinks = true;
    if (text !== "") reply.delta(THINKING, { type: "thinking_delta", thinking: text });
  }

  function say(text: unknown): void {
    if (typeof text !== "string" || text === "") return;
    if (!speaks) reply.start(TEXT, { type: "text", text: "" });
    speaks = true;
    reply.delta(TEXT, { type: "text_delta", text });
  }

  function addReasoning(piece: JsonObject): void {
    const given = Array.isArray(piece.reasoning_details) ? piece.reasoning_details.filter(isObject) : [];
    for (const detail of given) addDetail(details, detail);
    const field = ["reasoning_content", "reasoning"].find((name) => isText(piece[name]));
    if (field) think(piece[field] as string, field);
    else if (given.length > 0) think(given.map(detailText).join(""), "reasoning_details");
  }

  function addContent(content: unknown): void {
    if (!Array.isArray(content)) return say(content);
    for (const part of content.filter(isObject)) {
      if (part.type === "thinking") think(textIn(part.thinking), "content");
      else if (isText(part.refusal)) refuse(part.refusal);
      else say(part.text);
    }
  }

  function refuse(text: unknown): void {
    if (!isText(text)) return;
    refuses = true;
    say(text);
  }

  function addCall(piece: JsonObject): void {
    const { name, arguments: json } = isObject(piece.function) ? piece.function : {} as JsonObject;
    const given = { id: isText(piece.id) ? piece.id : "", name: isText(name) ? name : undefined, index: piece.index };
    let call = callOf(calls, given);
    if (!call) calls.push(call = { ...given, json: "" });
    call.id ||= given.id;
    call.name ??= given.name;
    call.json += typeof json === "string" ? json : isObject(json) ? JSON.stringify(json) : "";
    if (piece.extra_content !== undefined) call.extra = piece.extra_content;
  }

  function addChoice(choice: JsonObject, isWhole: boolean): void {
    throwErrorIn(choice);
    const piece = [choice.delta, choice.message].find(isObject) ?? {};
    addReasoning(piece);
    addContent(piece.content);
    refuse(piece.refusal);
    const given = Array.isArray(piece.tool_calls) ? piece.tool_calls.filter(isObject) : [];
    for (const [i, call] of given.entries()) addCall(isWhole ? { ...call, index: i } : call);
    if (isText(choice.finish_reason)) finish = choice.finish_reason;
    if (finish === "error") throw replyError({ message: "the reply ended with an error" });
  }

  function add(value: JsonObject, isWhole: boolean): void {
    throwErrorIn(value);
    const choices = Array.isArray(value.choices) ? value.choices.filter(isObject) : [];
    const choice = choices.find(({ index }) => (index ?? 0) === 0);
    const groq = isObject(value.x_groq) ? value.x_groq.usage : undefined;
    reply.note(value, value.usage ?? groq ?? choice?.usage);
    if (choice) addChoice(choice, isWhole);
    else if (isWhole) throw noReply();
  }

  function close(): void {
    if (details.length > 0) {
      think("", "reasoning_details");
      reply.delta(THINKING, { type: "openai_delta", openai: { field: "reasoning_details", details } });
    }
    reply.stop(THINKING);
    reply.stop(TEXT);
    for (const [i, { extra, ...call }] of calls.entries()) {
      reply.call(CALLS + i, { ...call, ...(extra !== undefined && { openai: { extra_content: extra } }) });
    }
    const stop = finish === "length" ? "max_tokens" : refuses || finish === "content_filter" ? "refusal" : undefined;
    reply.finish(stop ?? (calls.length > 0 ? "tool_use" : "end_turn"));
  }

  return {
    take(value, name) {
      if (isDone) return;
      isDone = value === DONE;
      if (isDone) return close();
      throwErrorIn(value, name);
      if (isObject(value)) add(value, false);
    },
    whole(value) {
      if (!isObject(value)) throw noReply();
      add(value, true);
      close();
    },
    end() {
      if (isDone) return;
      if (finish === undefined) throw cutError();
      close();
    },
    isWhole: () => finish !== undefined && finish !== "error" && !isDone,
  };
}

/** The call that a piece belongs to; undefined: it begins one. */
function callOf(calls: readonly Growing[], { id, name, index }: Pick<Growing, "id" | "name" | "index">) {
  const hasPlace = index !== undefined && index !== null;
  const sameId = id === "" ? undefined : calls.findLast((call) => call.id === id);
  // Two calls of one reply may have been given the same id.
  if (sameId) return name !== undefined && hasPlace && sameId.index !== index ? undefined : sameId;
  const there = hasPlace ? calls.findLast((call) => call.index === index) : calls.at(-1);
  if (!there || name === undefined || there.name === undefined) return there;
  if (id !== "" || !hasPlace) return undefined;
  // Neither says it, but nothing can follow arguments that are whole.
  return isObject(parsed(there.json)) ? undefined : there;
}

/** Pieces of one detail have its index, or follow it. */
function addDetail(details: { [key: string]: unknown }[], piece: JsonObject): void {
  const { text, summary, ...rest } = piece;
  const same = details.findLast((known) => known.index === piece.index && known.type === piece.type);
  const detail = same && (isText(text) || isText(summary) || isText(piece.signature)) ? same : undefined;
  if (!detail) {
    details.push({ ...piece });
    return;
  }
  for (const [key, value] of Object.entries(rest)) if (value !== null && value !== undefined) detail[key] = value;
  for (const [key, value] of Object.entries({ text, summary })) {
    if (isText(value)) detail[key] = `${isText(detail[key]) ? detail[key] : ""}${value}`;
  }
}

function detailText({ text, summary }: JsonObject): string {
  return isText(text) ? text : isText(summary) ? summary : "";
}

/** A text, or the texts of a list of parts. */
function textIn(value: unknown): string {
  if (typeof value === "string") return value;
  return Array.isArray(value) ? value.filter(isObject).map(detailText).join("") : "";
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

function noReply(): ModelError {
  return new ModelError("Cannot read the model's reply as it has no choices: check OPENAI_BASE_URL", {
    code: "grammar",
    retryable: true,
  });
}
