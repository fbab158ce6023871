import type { Message } from "../../core/messages.ts";
import { messageText } from "../canonical.ts";
import type { Call } from "../tape.ts";

/**
 * What a person asked in a recorded conversation, so that an agent can be run on it. Empty where no run of one agent
 * asks all of it: it began with a history, or a call does not go on from the one before.
 */
export function promptsOf(calls: readonly Call[]): string[] {
  const prompts: string[] = [];
  let known: readonly string[] = [];
  for (const { request: { messages } } of calls) {
    const texts = messages.map(messageText);
    const goesOn = texts.length > known.length && known.every((text, i) => texts[i] === text);
    if (!goesOn || (known.length === 0 && texts.length > 1)) return [];
    for (const asked of messages.slice(known.length).filter(isAsked)) {
      if (asked.content.length > 1) return [];
      prompts.push((asked.content[0] as unknown as { text: string }).text);
    }
    known = texts;
  }
  return prompts;
}

/** What a person says is text; results of tools come from the agent. */
function isAsked({ role, content }: Message): boolean {
  return role === "user" && content.length > 0 && content.every(({ type }) => type === "text");
}
