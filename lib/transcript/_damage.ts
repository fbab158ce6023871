import type { Message } from "../core/messages.ts";
import type { About } from "./store.ts";

type FactFields = Readonly<Record<string, unknown>>;

/** What is wrong with a fact of a stored transcript that has `count` messages so far; undefined if nothing is. */
export function factDamage(fact: unknown, count: number): string | undefined {
  if (typeof fact !== "object" || fact === null || !("type" in fact)) return "is not a fact";
  const { type, index, message, messages, about, ...fields } = fact as FactFields;
  switch (type) {
    case "message":
      if (!isMessage(message)) return "has no message";
      return Number.isInteger(index) && index as number >= 0 && index as number <= count
        ? undefined
        : `has a message at index ${JSON.stringify(index)} of ${count}`;
    case "compact":
      return Array.isArray(messages) && messages.every(isMessage) ? undefined : "has no messages";
    case "about":
      return isAbout(Object(about)) ? undefined : "does not describe the agent";
    case "model":
      return typeof fields.model === "string" ? undefined : "has no model";
    case "checkpoint":
      return typeof fields.id === "string" && Number.isInteger(fields.at) ? undefined : "has no checkpoint";
    case "end":
      return typeof fields.stop === "string" && isUsage(fields.usage) ? undefined : "does not say how a run ended";
    default:
      return `has the unknown type ${JSON.stringify(type)}`;
  }
}

function isAbout({ agent_type, model, system, tools, prompt, cwd, created }: Partial<About>): boolean {
  const texts = [agent_type, model, system, prompt, cwd, created];
  return [...texts, ...Array.isArray(tools) ? tools : [undefined]].every((text) => typeof text === "string");
}

function isUsage(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.values(value).every(Number.isFinite);
}

function isMessage(value: unknown): value is Message {
  const { role, content } = (value ?? {}) as Partial<Message>;
  return (role === "user" || role === "assistant") && Array.isArray(content) && content.every(isBlock);
}

function isBlock(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  const { type, text, id, name, tool_use_id } = value as FactFields;
  if (type === "text") return typeof text === "string";
  if (type === "tool_use") return typeof id === "string" && typeof name === "string";
  if (type === "tool_result") return typeof tool_use_id === "string";
  return typeof type === "string";
}
