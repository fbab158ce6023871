import { contentText, isToolResult, type Message, type ToolUseBlock } from "../../core/messages.ts";
import { type Colours, plainText } from "./text.ts";

/** A message of a stored conversation as lines: text, calls and results. */
export function messageLines({ role, content }: Message, { bold, cyan, dim, green, red }: Colours): string[] {
  return content.map((block) => {
    // The results of calls that the API itself runs are for the API to read.
    if (/^(?:server_|mcp_)?tool_use$/.test(block.type)) {
      const { name, input } = block as ToolUseBlock;
      return `${cyan("▸")} ${bold(plainText(name))} ${dim(plainText(JSON.stringify(input)))}`;
    }
    if (isToolResult(block)) {
      return `${block.is_error ? red("✗") : green("✓")} ${dim(indented(contentText(block.content ?? "")))}`;
    }
    const words = block.type === "text" ? (block as { text: string }).text : `[${block.type}]`;
    return role === "user" ? `${bold("›")} ${indented(words)}` : plainText(words);
  });
}

/** A text indented after the mark of its first line: only what the model says begins at the margin. */
function indented(text: string): string {
  return plainText(text).trimEnd().replaceAll("\n", "\n  ");
}
