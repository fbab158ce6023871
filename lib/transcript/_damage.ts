import type { Message } from "../core/messages.ts";

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

function isMessage(value: unknown): value is Message {
  const { role, content } = (value ?? {}) as Partial<Message>;
  return (role === "user" || role === "assistant") && Array.isArray(content) && content.every(isBlock);
}

function isBlock(value: unknown): boolean {
  return typeof value === "object" && value !== null && "type" in value;
}
