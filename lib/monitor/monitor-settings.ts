import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { writeWhole } from "../files/drafts.ts";
import { withEntries } from "../hooks/install-text.ts";
import { type OnPrompt, onPromptFile } from "./note.ts";

/** The tools that wait for a person (S2.9). */
const PROMPT_TOOLS = "ExitPlanMode|AskUserQuestion|EnterPlanMode";

/** The hooks of a watched agent, by event: what each is noted as, and for which tools. */
const WATCHED: readonly (readonly [event: string, name: string, matcher?: string])[] = [
  ["Stop", "stop"],
  ["Notification", "notification"],
  ["PreToolUse", "pretooluse", PROMPT_TOOLS],
  ["PostToolUse", "posttooluse", PROMPT_TOOLS],
  ["PostToolUseFailure", "posttooluse", PROMPT_TOOLS],
  ["UserPromptSubmit", "userpromptsubmit"],
  ["SessionEnd", "sessionend"],
];

/**
 * Writes the settings file of an agent into the state directory and returns its path (S2.15): those of the workspace,
 * comments and all, with our hooks after the user's (S2.2, S2.10).
 *
 * @throws {TypeError} that names the file, if its hooks cannot be kept
 */
export async function prepareSettings(dir: string, id: string, workspace: string, bin: string): Promise<string> {
  const file = join(workspace, ".claude", "settings.json");
  const entries = WATCHED.map(([event, name, matcher]) => ({
    ...{ event, matcher, hook: { type: "command", command: `${bin} agent hook ${name} ${id}` } as const },
  }));
  const text = await withEntries(existsSync(file) ? readFileSync(file, "utf8") : "", entries).catch((error: Error) => {
    throw new TypeError(
      error.message.replace(/^Cannot change (?:the settings|it) as/, `Cannot keep the hooks of ${file} as`),
    );
  });
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const path = join(dir, `${id}.settings.json`);
  writeWhole(path, text, { mode: 0o600 });
  return path;
}

/**
 * Stores what to do when an agent begins to wait, for `note.ts`; the default is to escalate (S2.14). `fire` is the command
 * that fires its `agent-prompt` hooks.
 */
export function storeOnPrompt(dir: string, id: string, onPrompt: OnPrompt, fire: string): void {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  writeFileSync(onPromptFile(dir, id), JSON.stringify({ onPrompt, fire }), { mode: 0o600 });
}

/** What to do, as given in a flag. */
export function readOnPrompt(given: string | boolean | undefined): OnPrompt | undefined {
  if (typeof given !== "string") return undefined;
  return given === "escalate" || given === "none" ? given : { command: given };
}
