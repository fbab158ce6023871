import { isToolUse } from "../../core/messages.ts";
import type { TapeRequest } from "../tape.ts";

/** Whose a place of a request is, for a person: a tool's by its name, a result's by the tool that gave it; else "". */
export function whoseIs(path: string, request: TapeRequest): string {
  const [list, at, field, block] = path.split(".");
  if (list === "tools") {
    const { name } = request.tools[Number(at)] ?? {};
    return typeof name === "string" ? `, ${field === undefined ? "the" : "of"} tool ${name},` : "";
  }
  const { tool_use_id } = (request.messages[Number(at)]?.content[Number(block)] ?? {}) as { tool_use_id?: unknown };
  if (list !== "messages" || tool_use_id === undefined) return "";
  const asked = request.messages.flatMap(({ content }) => content).find((b) => isToolUse(b) && b.id === tool_use_id);
  return asked && isToolUse(asked) ? `, a result of ${asked.name},` : "";
}

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
