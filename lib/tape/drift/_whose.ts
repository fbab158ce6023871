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
export function areReordered({ tools: was }: TapeRequest, { tools: is }: TapeRequest): boolean {
  const names = (tools: TapeRequest["tools"]) => tools.map(({ name }) => String(name));
  const [before, now] = [names(was), names(is)];
  return before.join("\n") !== now.join("\n") && [...before].sort().join("\n") === [...now].sort().join("\n");
}
