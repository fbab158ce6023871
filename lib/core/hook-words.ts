import { type EventName, EVENTS } from "./events.ts";
import type { Folded } from "./fold.ts";
import { type Block, isText, text, type TextBlock } from "./messages.ts";
import { pascal } from "./names.ts";
import type { HookText } from "./verdict.ts";

/**
 * The words in which the model reads what hooks said: always marked as theirs, so that a hook's text is never
 * taken for a person's. Neighbours under one label of a host share one mark, as they do there.
 */
export function wordings(contexts: readonly HookText[]): string[] {
  const joined: HookText[] = [];
  for (const said of contexts) {
    const last = joined.at(-1);
    if (last?.label === undefined || last.label !== said.label) joined.push(said);
    else joined[joined.length - 1] = { ...last, text: `${last.text}\n${said.text}` };
  }
  return joined.map(({ text, label, verbatim, hook = "unknown" }) =>
    verbatim && label === undefined ? text : reminder(`${label ?? `Context from hook ${hook}`}: ${text}`)
  );
}

export function contextBlocks(contexts: readonly HookText[]): TextBlock[] {
  return wordings(contexts).filter((words) => words.trim() !== "").map(text);
}

/** A warning for each hook whose context no model reads. */
export function unread(event: EventName, contexts: readonly { readonly hook: string }[]): string[] {
  if (EVENTS[event].read) return [];
  return contexts.map(({ hook }) => `Hook ${hook} gave context at ${event}, which no model reads: ignored`);
}

/** How the model reads a HookInput (U11). */
export function hookInput(event: string, words: string): TextBlock {
  return text(`HookInput (${pascal(event)}): ${words}`);
}

/** Only we close the mark: text that a hook passes on cannot end it and pose as someone else's. */
export function reminder(words: string): string {
  return `<system-reminder>\n${words.replace(/<\/(?=\s*system-reminder)/gi, "<\\/")}\n</system-reminder>`;
}

/** Stands in the transcript for an input that began a turn and was for that turn only. */
export const NOT_KEPT: TextBlock = hookInput("turn-end", "[not kept]");

/** Whether a block only holds the place of an input: in its own turn the input itself is shown. */
export function isNotKept(block: Block): boolean {
  return isText(block) && block.text === NOT_KEPT.text;
}

/** Why a call was not let through. */
export interface Refusal {
  /** What the model reads. */
  readonly words: string;
  readonly reason: string;
  readonly by: string;
  /** One line for a person, with what would allow the call. */
  readonly note?: string;
}

export function refusalOf({ hook, reason, text: words }: Folded["denials"][number]): Refusal {
  const bare = `Denied by hook ${hook}`;
  const denied = reason === bare || reason.trim() === "" ? bare : `${bare}: ${reason}`;
  return {
    words: words ?? denied,
    reason,
    by: hook,
    note: `hook ${hook}: ${reason}; change or disable the hook to allow it`,
  };
}

/** A hook's question that no person can answer. A dialect with words of its own keeps them. */
export function unanswered({ hook, reason, text: given }: NonNullable<Folded["asked"]>): Refusal {
  const why = reason ? `: ${reason}` : "";
  const words = given ?? `Hook ${hook} asks for confirmation of this call, and no person can be asked${why}`;
  return {
    words,
    reason: words,
    by: hook,
    note: `hook ${hook} asks first${reason ? ` (${reason})` : ""}; a terminal can answer`,
  };
}
