import { isObject } from "../../core/json.ts";
import { type Block, isToolResult, isToolUse, type Message, type TextBlock } from "../../core/messages.ts";
import { DEFAULT_MAX_TOKENS, type ModelRequest } from "../../core/model.ts";
import { askedOf, isForeign, keptIn, mediaOf, resultText, unusable } from "./request-parts.ts";
import { toolNames } from "./tool-names.ts";

type Body = { [key: string]: unknown };

export function chatBody(request: ModelRequest, host: string): Body {
  const { model, system, messages, tools, max_tokens } = request;
  const { rest, choice, parallel, effort, format } = askedOf(request);
  const { short } = toolNames(request);
  // Servers have a limit of their own, which ours may exceed: only one that was asked for is sent.
  // OpenAI's newer models take no `max_tokens`, and most other servers know nothing else.
  const name = /(?:^|\.)(?:openai|azure)\.com$/.test(host) ? "max_completion_tokens" : "max_tokens";
  const limit = max_tokens === DEFAULT_MAX_TOKENS ? {} : { [name]: max_tokens };
  return {
    stream_options: { include_usage: true },
    ...limit,
    ...(effort && { reasoning_effort: effort }),
    ...(format && { response_format: { type: "json_schema", json_schema: format } }),
    ...(choice &&
      { tool_choice: "name" in choice ? { type: "function", function: { name: short(choice.name) } } : choice.word }),
    ...(parallel === false && { parallel_tool_calls: false }),
    ...rest,
    model,
    messages: [
      ...(system === "" ? [] : [{ role: "system", content: system }]),
      ...messages.flatMap((message) => message.role === "user" ? userMessages(message) : [reply(message, short)]),
    ],
    ...(tools.length > 0 && { tools: tools.map((tool) => toolOf(tool as unknown as Body, short)) }),
    stream: true,
  };
}

function toolOf(tool: Body, short: (name: string) => string): Body {
  if (!isObject(tool.input_schema)) return tool;
  const { name, description, input_schema: parameters, strict } = tool;
  const own = { name: short(String(name)), description, parameters };
  return { type: "function", function: strict === true ? { ...own, strict } : own };
}

/** Results first, as they must follow their calls; then what else a user says, and what results hold beside text. */
function userMessages({ content }: Message): Body[] {
  const results = content.filter(isToolResult);
  const media = ["image", "document"];
  const shown = results.flatMap(({ content: all }) =>
    typeof all === "string" ? [] : all.filter(({ type }) => media.includes(type))
  );
  const others = [...shown, ...content.filter((block) => !isToolResult(block))];
  return [
    ...results.map((result) => ({ role: "tool", tool_call_id: result.tool_use_id, content: resultText(result) })),
    ...(others.length > 0 ? [{ role: "user", content: contentOf(others) }] : []),
  ];
}

/** One text if there is nothing else: some servers take no list. */
function contentOf(blocks: readonly Block[]): string | Body[] {
  const texts = blocks.filter((block): block is TextBlock => block.type === "text");
  if (texts.length === blocks.length) return texts.map(({ text }) => text).join("\n\n");
  return blocks.map((block) => block.type === "text" ? { type: "text", text: block.text } : partOf(block));
}

function partOf(block: Block): Body {
  const media = mediaOf(block);
  if (media.kind === "text") return { type: "text", text: media.text };
  if ("id" in media) return { type: "file", file: { file_id: media.id } };
  if (media.kind === "image") return { type: "image_url", image_url: { url: media.url } };
  if (!media.isInline) throw unusable("a document by its address (the API 'responses' does)");
  return { type: "file", file: { filename: media.name, file_data: media.url } };
}

function reply({ content }: Message, short: (name: string) => string): Body {
  const own = content.filter((block) => !isForeign(block));
  const text = own.filter((block): block is TextBlock => block.type === "text").map((block) => block.text).join("");
  const calls = own.filter(isToolUse).map((block) => {
    const { extra_content } = keptIn(block);
    return {
      id: block.id,
      type: "function",
      function: { name: short(block.name), arguments: JSON.stringify(block.input) },
      ...(extra_content !== undefined && { extra_content }),
    };
  });
  return {
    role: "assistant",
    content: text,
    ...thinkingOf(own, text),
    ...(calls.length > 0 && { tool_calls: calls }),
  };
}

/** Thinking in the field it came in: servers that want it back look for it there. */
function thinkingOf(blocks: readonly Block[], text: string): Body {
  const fields: Body = {};
  for (const block of blocks) {
    const { field, details } = keptIn(block);
    const { thinking } = block as { thinking?: unknown };
    if (block.type !== "thinking" || typeof field !== "string" || typeof thinking !== "string") continue;
    if (Array.isArray(details)) fields.reasoning_details = [...fields.reasoning_details as [] ?? [], ...details];
    else if (field === "content") {
      const part = { type: "thinking", thinking: [{ type: "text", text: thinking }] };
      fields.content = [part, ...(text === "" ? [] : [{ type: "text", text }])];
    } else fields[field] = `${fields[field] ?? ""}${thinking}`;
  }
  return fields;
}
