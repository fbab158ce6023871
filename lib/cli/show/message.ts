import {
  type Block,
  contentText,
  isToolResult,
  isToolUse,
  type Message,
  type ToolUseBlock,
} from "../../core/messages.ts";
import type { Colours } from "./colours.ts";
import { plainText } from "./text.ts";

/** A message of a stored conversation as lines: words, calls, and what came of them. */
export function messageLines({ role, content }: Message, { bold, cyan, dim, green, red }: Colours): string[] {
  return content.map((block) => {
    if (isToolUse(block) || isServerCall(block)) {
      return `${cyan("▸")} ${bold(plainText(block.name))} ${dim(plainText(JSON.stringify(block.input)))}`;
    }
    if (isToolResult(block)) {
      return `${block.is_error ? red("✗") : green("✓")} ${dim(behindMark(contentText(block.content ?? "")))}`;
    }
    const words = block.type === "text" ? (block as { text: string }).text : `[${block.type}]`;
    return role === "user" ? `${bold("›")} ${behindMark(words)}` : plainText(words);
  });
}

/** A text whose lines all begin behind the mark of its first one: at the margin stands what the model says. */
function behindMark(text: string): string {
  return plainText(text).trimEnd().replaceAll("\n", "\n  ");
}

/** What the API calls by itself; its results are for the API to read. */
function isServerCall(block: Block): block is ToolUseBlock {
  return /^(?:server|mcp)_tool_use$/.test(block.type) && typeof (block as { name?: unknown }).name === "string";
}
