import { isToolUse, type Message, toolResult, user } from "../core/messages.ts";
import type { About, Transcript } from "./store.ts";

/**
 * The conversation from which a stored one can continue: a tool_use without a result gets an error result, so that the
 * model knows that the call may or may not have happened.
 */
export function resumable(messages: readonly Message[]): Message[] {
  const open = messages.at(-1)?.role === "assistant" ? messages.at(-1)!.content.filter(isToolUse) : [];
  if (open.length === 0) return [...messages];
  const closing = open.map((call) =>
    toolResult(call.id, "The run was ended before this call's result was written: it may have happened or not", true)
  );
  return [...messages, user(closing)];
}

/** How the agent that continues a transcript differs from the one that wrote it, in sentences. */
export function changesSince(stored: Transcript, now: Pick<About, "system" | "tools">): string[] {
  const was = stored.about;
  if (!was) return [];
  const changes: string[] = [];
  const added = now.tools.filter((t) => !was.tools.includes(t));
  const gone = was.tools.filter((t) => !now.tools.includes(t));
  if (added.length > 0) changes.push(`tools added since: ${added.join(", ")}`);
  if (gone.length > 0) changes.push(`tools removed since: ${gone.join(", ")}`);
  if (was.system !== now.system) changes.push("the system prompt has changed since");
  return changes;
}
