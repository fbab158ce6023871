import type { Message } from "../core/messages.ts";
import type { About } from "./store.ts";

/** What is wrong with a line of a log that was read back, where a conversation could not be built from it. */
export function damageOf(line: unknown, messages: number): string | undefined {
  if (typeof line !== "object" || line === null || !("type" in line)) return "is no fact";
  const { type, index, message, messages: all, about, usage } = line as Readonly<Record<string, unknown>>;
  switch (type) {
    case "message":
      if (!isMessage(message)) return "holds no message";
      return Number.isInteger(index) && index as number >= 0 && index as number <= messages
        ? undefined
        : `has a message at place ${JSON.stringify(index)} of ${messages}`;
    case "compact":
      return Array.isArray(all) && all.every(isMessage) ? undefined : "holds no messages";
    case "about":
      return typeof about === "object" && about !== null ? undefined : "says nothing about the agent";
    case "usage":
      return typeof usage === "object" && usage !== null ? undefined : "holds no usage";
  }
  return undefined;
}

/** What is wrong with a fact of a stored transcript. */
export function factDamage(fact: unknown, messages: number): string | undefined {
  const damage = damageOf(fact, messages);
  if (damage !== undefined) return damage;
  const { type, about, ...fields } = fact as Readonly<Record<string, unknown>>;
  switch (type) {
    case "message":
    case "compact":
      return undefined;
    case "about":
      return isAbout(about as Partial<About>) ? undefined : "does not say what the agent was";
    case "model":
      return typeof fields.model === "string" ? undefined : "names no model";
    case "checkpoint":
      return typeof fields.id === "string" && Number.isInteger(fields.at) ? undefined : "marks no place";
    case "end":
      return typeof fields.stop === "string" && isUsage(fields.usage) ? undefined : "does not say how a run ended";
    default:
      return `is of an unknown type ${JSON.stringify(type)}`;
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
  const { type, text, id, name, tool_use_id } = value as Readonly<Record<string, unknown>>;
  if (type === "text") return typeof text === "string";
  if (type === "tool_use") return typeof id === "string" && typeof name === "string";
  if (type === "tool_result") return typeof tool_use_id === "string";
  return typeof type === "string";
}
