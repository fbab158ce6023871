import { isToolUse } from "../../core/messages.ts";
import type { TapeRequest } from "../tape.ts";

/**
 * Whose a place of a request is, for a person: a tool's by its name, a result's by the tool that gave it, a text's by the
 * hook that said it; else "".
 */
export function whoseIs(path: string, request: TapeRequest): string {
  const [list, at, field, block] = path.split(".");
  if (list === "tools") {
    const { name } = request.tools[Number(at)] ?? {};
    return typeof name === "string" ? `, ${field === undefined ? "the" : "of"} tool ${name},` : "";
  }
  if (list !== "messages") return "";
  const { tool_use_id, text } = (request.messages[Number(at)]?.content[Number(block)] ?? {}) as {
    tool_use_id?: unknown;
    text?: unknown;
  };
  if (tool_use_id === undefined) {
    const [, hook] = /^<system-reminder>\nContext from hook (.+?): /.exec(String(text)) ?? [];
    return hook === undefined ? "" : `, what hook ${hook} said,`;
  }
  const asked = request.messages.flatMap(({ content }) => content).find((b) => isToolUse(b) && b.id === tool_use_id);
  return asked && isToolUse(asked) ? `, a result of ${asked.name},` : "";
}

/** The memory file that a system prompt has a text from, where it first differs from another; "" where it has it from none. */
export function memoryAt(was: unknown, is: unknown): string {
  if (typeof was !== "string" || typeof is !== "string") return "";
  const [before, now] = [was.split("\n"), is.split("\n")];
  const differs = now.findIndex((line, i) => line !== before[i]);
  const first = differs < 0 ? now.length : differs;
  // Of a file that came or went the heading differs, or the blank line above it.
  const odd = [now, before].map((lines) => lines.slice(first).find((line) => line !== ""))
    .find((line) => line?.startsWith(FROM) && before.includes(line) !== now.includes(line));
  const heading = odd ?? now.slice(0, first).findLast((line) => line.startsWith(FROM));
  return heading === undefined ? "" : `, what ${heading.slice(FROM.length)} says,`;
}

/** How the part of a system prompt begins that a memory file made. */
const FROM = "# From ";

/** Whether two requests have the same tools, and only in another order. */
export function areReordered(was: TapeRequest, is: TapeRequest): boolean {
  const [before, now] = [toolNames(was), toolNames(is)];
  return before.join("\n") !== now.join("\n") && [...before].sort().join("\n") === [...now].sort().join("\n");
}

/** The first tool that one of two requests has more than the other, in words; undefined where both have some. */
export function oddTool(was: TapeRequest, is: TapeRequest): string | undefined {
  const [before, now] = [toolNames(was), toolNames(is)];
  const fresh = now.filter((name) => !before.includes(name));
  const gone = before.filter((name) => !now.includes(name));
  if (gone.length === 0 && fresh.length > 0) return `${fresh[0]} is new`;
  return fresh.length === 0 && gone.length > 0 ? `${gone[0]} is missing` : undefined;
}

function toolNames({ tools }: TapeRequest): string[] {
  return tools.map(({ name }) => String(name));
}
