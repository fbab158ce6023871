import { mkdirSync, writeFileSync } from "node:fs";
import { onPromptFile } from "./note.ts";

/** What is done when an agent begins to wait for a decision: tell a person, run a command, or nothing. */
export type OnPrompt = "escalate" | "none" | { readonly command: string };

/**
 * Remembers what to do for one agent, where `note.ts` finds it; the default is to escalate (S2.14). `fire` is the
 * command that fires its `agent-prompt` hooks.
 */
export function rememberOnPrompt(dir: string, id: string, onPrompt: OnPrompt, fire: string): void {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  writeFileSync(onPromptFile(dir, id), JSON.stringify({ onPrompt, fire }), { mode: 0o600 });
}

/** What to do, as a person writes it in a flag; undefined where it is not given. */
export function readOnPrompt(given: string | boolean | undefined): OnPrompt | undefined {
  if (typeof given !== "string") return undefined;
  return given === "escalate" || given === "none" ? given : { command: given };
}
