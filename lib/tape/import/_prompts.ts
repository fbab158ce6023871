import type { Message } from "../../core/messages.ts";
import { messageText } from "../canonical.ts";
import type { Call } from "../tape.ts";

/**
 * What a person asked in a recorded conversation, so that an agent can be run on it. Empty where no run of one agent
 * asks all of it: it began with a history, or a call neither goes on from the one before nor asks again what failed.
 */
export function promptsOf(calls: readonly Call[]): string[] {
  const prompts: string[] = [];
  let known: readonly string[] = [];
  let failed = false;
  for (const { request: { messages }, error } of calls) {
    const texts = messages.map(messageText);
    const isLonger = texts.length > known.length || (failed && texts.length === known.length);
    const goesOn = isLonger && known.every((text, i) => texts[i] === text);
    if (!goesOn || (known.length === 0 && texts.length > 1)) return [];
    for (const asked of messages.slice(known.length).filter(isAsked)) {
      if (asked.content.length > 1) return [];
      prompts.push((asked.content[0] as unknown as { text: string }).text);
    }
    known = texts;
    failed = error !== undefined;
  }
  return prompts;
}

/** What a person says is text; results of tools come from the agent. */
function isAsked({ role, content }: Message): boolean {
  return role === "user" && content.length > 0 && content.every(({ type }) => type === "text");
}
