import type { AnyEvent } from "../../core/events.ts";
import { reminder } from "../../core/said.ts";
import type { Opinion, Said } from "../../core/verdict.ts";
import { wireLabel } from "./wire.ts";

/** Who speaks: which hook, on what. */
export interface Speaker {
  readonly event: AnyEvent;
  /** The event's name on the wire. */
  readonly name: string;
  /** How the host names the hook to the model: its command, url or prompt. */
  readonly command: string;
}

/**
 * Gives an opinion the words and the places the host gives it. `exit` marks a reason that is the process's stderr:
 * on stop the model then reads it once and not twice.
 */
export function inHostWords(
  opinion: Opinion,
  who: Speaker,
  from: { exit?: boolean; hidePrompt?: boolean } = {},
): Opinion {
  const { event, name } = who;
  const denied = opinion.decision === "deny" && opinion.text === undefined;
  const reason = opinion.reason ?? "";
  switch (event.event) {
    case "pre-tool-use":
      if (denied) return labelled({ ...opinion, text: refusalWords(who, reason) }, who);
      if (opinion.decision !== "ask") return labelled(opinion, who);
      return labelled(
        { ...opinion, text: reason || `Hook ${wireLabel(event, name)} asked for confirmation for this tool` },
        who,
      );
    case "stop":
      return denied ? sentBack(opinion, who, from.exit ?? false) : labelled(opinion, who);
    case "user-prompt-submit": {
      const contexts = opinion.contexts?.map(({ text }): Said => ({
        text: reminder(`${name} hook additional context: ${text}`),
        verbatim: true,
        place: "before",
      }));
      const shown = contexts ? { ...opinion, contexts } : opinion;
      return denied ? { ...shown, text: refusalWords(who, reason, from.hidePrompt) } : shown;
    }
    default:
      return labelled(denied ? { ...opinion, ...words(who, reason) } : opinion, who);
  }
}

function words(who: Speaker, reason: string): { text: string } | undefined {
  const text = refusalWords(who, reason);
  return text === reason ? undefined : { text };
}

/** What the model, or on a prompt the person, reads of a denial; the reason if the host has no words of its own. */
export function refusalWords({ event, name, command }: Speaker, reason: string, hidePrompt = false): string {
  const label = wireLabel(event, name);
  switch (event.event) {
    case "pre-tool-use":
      return `${label} hook error: ${reason}`.trimEnd();
    case "post-tool-use":
      return reminder(blockingError(label, command, reason));
    case "user-prompt-submit":
      return `${name} operation blocked by hook:\n${reason}${hidePrompt ? "" : `\n\nOriginal prompt: ${event.prompt}`}`;
    case "pre-compact":
      return `Compaction blocked by ${name} hook: ${reason}`;
    case "stop":
      return `Stop hook feedback:\n${reason}`;
    default:
      return reason;
  }
}

/** On stop the model reads a decision twice, stderr once. */
function sentBack(opinion: Opinion, who: Speaker, exit: boolean): Opinion {
  const { name, command } = who;
  const reason = opinion.reason ?? "";
  const blocking: Said = { text: reason, label: `${name} hook blocking error from command: "${command}"` };
  const contexts = [...(exit ? [] : [blocking]), ...labelled(opinion, who).contexts ?? []];
  return { ...opinion, ...(contexts.length > 0 && { contexts }), text: refusalWords(who, reason) };
}

function labelled(opinion: Opinion, { event, name }: Speaker): Opinion {
  if (!opinion.contexts) return opinion;
  const opening = event.event === "session-start" || name === "SubagentStart";
  const label = `${opening ? name : wireLabel(event, name)} hook additional context`;
  const place = event.event === "post-tool-use" ? "result" : opening ? "before" : undefined;
  return {
    ...opinion,
    contexts: opinion.contexts.map(({ text }) => ({ text, label, ...(place && { place }) })),
  };
}

/** Plain text a hook printed, if the host passes it on. */
export function plainWords({ event, name }: Speaker, text: () => string): Said | undefined {
  if (event.event !== "session-start" && event.event !== "user-prompt-submit") return undefined;
  return { text: reminder(`${wireLabel(event, name)} hook success: ${text()}`), verbatim: true, place: "before" };
}

function blockingError(label: string, command: string, reason: string): string {
  return `${label} hook blocking error from command: "${command}": ${reason}`;
}

/** What a hook in the background complains of when it ends. */
export function complaint({ event, name, command }: Speaker, words: string): Said {
  const reason = `[${command}]: ${words || "No stderr output"}`;
  return { text: reminder(blockingError(wireLabel(event, name), command, reason)), verbatim: true };
}

/** What a hook in the background says in the end: bare, a mark each. */
export function lateWords({ systemMessage, contexts }: Opinion): Said[] {
  return [...(systemMessage === undefined ? [] : [systemMessage]), ...(contexts ?? []).map((c) => c.text)]
    .map((text) => ({ text: reminder(text), verbatim: true }));
}
