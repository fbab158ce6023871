import { isObject } from "../../core/json.ts";
import { type Block, isToolResult, isToolUse, type Message, type ToolResultBlock } from "../../core/messages.ts";
import { DEFAULT_MAX_TOKENS, type ModelRequest } from "../../core/model.ts";
import { askedOf, isForeign, keptIn, mediaOf, resultText } from "./request-parts.ts";
import { toolNames } from "./tool-names.ts";

type Body = { [key: string]: unknown };

/** The body of a request to the Responses API. The server keeps nothing: the whole conversation is sent every time. */
export function responsesBody(request: ModelRequest): Body {
  const { model, system, messages, tools, max_tokens } = request;
  const { rest, choice, parallel, effort, format } = askedOf(request);
  const { short } = toolNames(request);
  return {
    store: false,
    include: ["reasoning.encrypted_content"],
    ...(max_tokens !== DEFAULT_MAX_TOKENS && { max_output_tokens: max_tokens }),
    ...(choice && { tool_choice: "name" in choice ? { type: "function", name: short(choice.name) } : choice.word }),
    ...(parallel === false && { parallel_tool_calls: false }),
    ...rest,
    ...(effort && { reasoning: { ...(isObject(rest.reasoning) ? rest.reasoning : {}), effort } }),
    ...(format && { text: { ...(isObject(rest.text) ? rest.text : {}), format: { type: "json_schema", ...format } } }),
    model,
    ...(system !== "" && { instructions: system }),
    input: messages.flatMap((message) => message.role === "user" ? userItems(message) : replyItems(message, short)),
    ...(tools.length > 0 && { tools: tools.map((tool) => toolOf(tool as unknown as Body, short)) }),
    stream: true,
  };
}

function toolOf(tool: Body, short: (name: string) => string): Body {
  if (!isObject(tool.input_schema)) return tool;
  const { name, description, input_schema: parameters, strict } = tool;
  return { type: "function", name: short(String(name)), description, parameters, strict: strict === true };
}

function userItems({ content }: Message): Body[] {
  const others = content.filter((block) => !isToolResult(block));
  return [
    ...content.filter(isToolResult).map((result) => ({
      type: "function_call_output",
      call_id: result.tool_use_id,
      output: outputOf(result),
    })),
    ...(others.length > 0 ? [{ type: "message", role: "user", content: others.map(partOf) }] : []),
  ];
}

/** Text, or a list if there is more than text in a result. */
function outputOf(result: ToolResultBlock): string | Body[] {
  const { content } = result;
  if (typeof content === "string" || content.every(({ type }) => type !== "image" && type !== "document")) {
    return resultText(result);
  }
  const parts = content.map(partOf);
  return result.is_error ? [{ type: "input_text", text: "Error: " }, ...parts] : parts;
}

function partOf(block: Block): Body {
  if (block.type === "text") return { type: "input_text", text: block.text };
  const media = mediaOf(block);
  if (media.kind === "text") return { type: "input_text", text: media.text };
  if (media.kind === "image") {
    return { type: "input_image", ...("id" in media ? { file_id: media.id } : { image_url: media.url }) };
  }
  if ("id" in media) return { type: "input_file", file_id: media.id };
  if (!media.isInline) return { type: "input_file", file_url: media.url };
  return { type: "input_file", filename: media.name, file_data: media.url };
}

/** A reply as the items it came in, without their ids: the server has kept none of them. */
function replyItems({ content }: Message, short: (name: string) => string): Body[] {
  return content.filter((block) => !isForeign(block)).flatMap((block): Body[] => {
    const { phase, summary, encrypted_content, item } = keptIn(block);
    if (isToolUse(block)) {
      const { id: call_id, name, input } = block;
      return [{ type: "function_call", call_id, name: short(name), arguments: JSON.stringify(input) }];
    }
    if (block.type === "text") {
      const said = { type: "message", role: "assistant", content: [{ type: "output_text", text: block.text }] };
      return [typeof phase === "string" ? { ...said, phase } : said];
    }
    if (block.type === "thinking") {
      return encrypted_content === undefined ? [] : [{ type: "reasoning", summary, encrypted_content }];
    }
    return isObject(item) ? [item] : [];
  });
}
