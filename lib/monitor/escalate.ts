import { mkdirSync, writeFileSync } from "node:fs";
import type { OnPrompt } from "./note.ts";

export type { OnPrompt };

/** Remembers what to do for one agent; the default is to escalate (S2.14). */
export function rememberOnPrompt(dir: string, id: string, onPrompt: OnPrompt): void {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  writeFileSync(`${dir}/${id}.on-prompt.json`, JSON.stringify(onPrompt), { mode: 0o600 });
}

/** What to do, as a person writes it in a flag; undefined where it is not given. */
export function readOnPrompt(given: string | boolean | undefined): OnPrompt | undefined {
  if (typeof given !== "string") return undefined;
  return given === "escalate" || given === "none" ? given : { command: given };
}
