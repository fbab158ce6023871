import { isObject, type JsonObject } from "../../core/json.ts";
import { type Block, contentText, isToolUse, type ToolResultBlock } from "../../core/messages.ts";
import { ModelError, type ModelRequest } from "../../core/model.ts";
const CHOICES: JsonObject = { auto: "auto", any: "required", none: "none" };

/** What Crochet knows of a request beside the conversation, in words that both APIs share; `rest` is sent as it is. */
export function askedOf({ effort, params = {} }: ModelRequest) {
  const { tool_choice, output_config, betas: _, ...rest } = params;
  const { effort: sameEffort, format } = isObject(output_config) ? output_config : {} as JsonObject;
  const wanted = effort ?? sameEffort;
  return {
    rest,
    ...choiceOf(tool_choice),
    effort: typeof wanted === "string" ? EFFORTS[wanted] ?? wanted : undefined,
    format: isObject(format) && isObject(format.schema)
      // A schema may be enforced strictly only if it leaves nothing open.
      ? { name: "output", schema: format.schema, ...(isClosed(format.schema) && { strict: true }) }
      : undefined,
  };
}

/** The API knows no effort above `xhigh`. */
const EFFORTS: { readonly [effort: string]: string } = { max: "xhigh" };

interface Choice {
  /** `auto`, `required`, `none`, the name of a tool, or what the caller wrote in the API's own form. */
  readonly choice?: { readonly word: unknown } | { readonly name: string };
  /** False if at most one tool may be called at once. */
  readonly parallel?: false | undefined;
}

function choiceOf(given: unknown): Choice {
  if (given === undefined) return {};
  const { type, name, disable_parallel_tool_use } = isObject(given) ? given : {} as JsonObject;
  const parallel = disable_parallel_tool_use === true ? false : undefined;
  if (type === "tool" && typeof name === "string") return { choice: { name }, parallel };
  return { choice: { word: CHOICES[String(type)] ?? given }, parallel };
}

function isClosed(schema: unknown): boolean {
  if (Array.isArray(schema)) return schema.every(isClosed);
  if (!isObject(schema)) return true;
  if (isObject(schema.properties)) {
    const required = Array.isArray(schema.required) ? schema.required : [];
    const isWhole = Object.keys(schema.properties).every((name) => required.includes(name));
    if (!isWhole || schema.additionalProperties !== false) return false;
    return Object.values(schema.properties).every(isClosed);
  }
  if (schema.type === "object") return false;
  return Object.values(schema).every(isClosed);
}

/** Whether a block was made by another API, which alone can read it: signed thinking, what its own tools did. */
export function isForeign(block: Block): boolean {
  return block.type !== "text" && !isToolUse(block) && !("openai" in block);
}

/** What `openai()` keeps in a block to send it back as it came. */
export function keptIn(block: Block): JsonObject {
  const { openai } = block as { openai?: unknown };
  return isObject(openai) ? openai : {};
}

/** The words of a result; the API has no other place to say that a call failed. */
export function resultText({ content, is_error }: ToolResultBlock): string {
  const words = contentText(content);
  return is_error && !words.startsWith("Error: ") ? `Error: ${words}` : words;
}

/** An image or a document, by its address, its id at the server or its bytes. */
export type Media =
  | { readonly kind: "image" | "document"; readonly name: string; readonly url: string; readonly isInline: boolean }
  | { readonly kind: "image" | "document"; readonly name: string; readonly id: string }
  | { readonly kind: "text"; readonly text: string };

/** @throws {ModelError} if the API has nothing for such a block */
export function mediaOf(block: Block): Media {
  const { type, source, title } = block as { type: string; source?: unknown; title?: unknown };
  const { type: from, media_type, data, url, file_id, content } = isObject(source) ? source : {} as JsonObject;
  if (type === "image" || type === "document") {
    const name = typeof title === "string" ? title : type === "image" ? "image" : "document.pdf";
    if (from === "base64") {
      return { kind: type, name, url: `data:${media_type};base64,${data}`, isInline: true };
    }
    if (from === "url") return { kind: type, name, url: String(url), isInline: false };
    if (from === "file") return { kind: type, name, id: String(file_id) };
    if (from === "text") return { kind: "text", text: String(data) };
    if (from === "content") return { kind: "text", text: contentText(content as string | readonly Block[]) };
  }
  throw unusable(`a block of type '${type}'${from === undefined ? "" : ` from '${from}'`}`);
}

export function unusable(what: string): ModelError {
  return new ModelError(`Cannot call the model as its API takes nothing like ${what}: send it as text`, {
    code: "invalid_request_error",
  });
}
