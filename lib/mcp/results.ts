import { Buffer } from "node:buffer";
import type { CallToolResult } from "@modelcontextprotocol/client";
import { parsed } from "../core/json.ts";
import { type Block, shortenedBlocks, text } from "../core/messages.ts";
import type { ToolOutput } from "../core/tool.ts";
import { imageFacts, imageProblem } from "../tools/reading/image.ts";

type Content = CallToolResult["content"][number];

/** What of a result is read at all, in characters of JSON: the API takes no larger request. */
const WHOLE = 20_000_000;

/** A server's result as a tool's: the model reads blocks, hooks read the server's own list. */
export function outputOf({ content, structuredContent, isError }: CallToolResult): ToolOutput {
  const list = content ?? [];
  const structured = structuredContent === undefined || says(list, structuredContent)
    ? []
    : [{ type: "text", text: JSON.stringify(structuredContent) } as const];
  const response = whole([...list, ...structured]);
  return { content: blocksOf(response), response, ...(isError && { isError: true }) };
}

/** The blocks of a server's list, or of what a hook put in its place. */
export function blocksOf(list: unknown): string | readonly Block[] {
  if (!Array.isArray(list)) return typeof list === "string" ? list : JSON.stringify(list);
  // A text block without words is refused by the API.
  const blocks = shortenedBlocks(list.map(blockOf)).filter((block) => block.type !== "text" || block.text !== "");
  if (blocks.length === 0) return "(no content)";
  // Text alone is sent as text, as our own tools do.
  const [only] = blocks;
  return blocks.length === 1 && only!.type === "text" ? String((only as { text: unknown }).text) : blocks;
}

/** Servers repeat structured content as text, for hosts that know no better. */
function says(list: readonly Content[], structured: unknown): boolean {
  const words = JSON.stringify(structured);
  return list.some((one) => one.type === "text" && JSON.stringify(parsed(one.text)) === words);
}

function blockOf(one: Content): Block {
  switch (one.type) {
    case "text":
      return text(one.text);
    case "image":
      return image(one.data) ?? left(`an image of type ${one.mimeType}`);
    case "audio":
      return left(`audio of type ${one.mimeType}`);
    case "resource_link":
      return text(`${one.title ?? one.name}: ${one.uri}${one.description ? ` (${one.description})` : ""}`);
    case "resource": {
      const { uri, mimeType = "" } = one.resource;
      if ("text" in one.resource) return text(`${uri}:\n${one.resource.text}`);
      return image(one.resource.blob) ?? left(`${uri}${mimeType && ` of type ${mimeType}`}`);
    }
    default:
      return text(JSON.stringify(one));
  }
}

/** An image as it is, not as the server calls it: the API looks, too. */
function image(data: string): Block | undefined {
  const bytes = Buffer.from(data, "base64");
  const facts = imageFacts(bytes);
  if (!facts) return undefined;
  const problem = imageProblem(facts, bytes.length);
  if (problem) return text(`(an image of type ${facts.type}, which cannot be shown as ${problem.why})`);
  return { type: "image", source: { type: "base64", media_type: facts.type, data: bytes.toString("base64") } };
}

function left(what: string): Block {
  return text(`(${what}, which cannot be shown)`);
}

/** A list as far as it is read; what is left out is counted in a last block. */
function whole(list: readonly Content[]): readonly Content[] {
  let room = WHOLE;
  const kept = list.filter((one) => (room -= JSON.stringify(one).length) >= 0);
  const left = list.length - kept.length;
  if (left === 0) return list;
  return [...kept, { type: "text", text: `(${left} of ${list.length} blocks are left out: ask for less at once)` }];
}
