import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isObject } from "../core/json.ts";
import { type OnPrompt, onPromptFile } from "./note.ts";

/** The tools that wait for a person (S2.9). */
const PROMPT_TOOLS = "ExitPlanMode|AskUserQuestion|EnterPlanMode";

interface HookEntry {
  readonly matcher?: string;
  readonly hooks: readonly { readonly type: string; readonly command?: string }[];
}

type AgentSettings = { readonly hooks?: { readonly [event: string]: readonly HookEntry[] } } & {
  readonly [key: string]: unknown;
};

/** The settings of a watched agent: those of the workspace, with our hooks after the user's (S2.2, S2.10). */
function watchedSettings(own: AgentSettings, bin: string, id: string): AgentSettings {
  const entry = (name: string, matcher?: string): HookEntry => ({
    ...(matcher !== undefined && { matcher }),
    hooks: [{ type: "command", command: `${bin} agent hook ${name} ${id}` }],
  });
  const hooks = { ...own.hooks };
  const add = (event: string, ours: HookEntry) => {
    const there = hooks[event] ?? [];
    const command = ours.hooks[0]!.command;
    if (!there.some((e) => e.hooks?.some((h) => h.command === command))) hooks[event] = [...there, ours];
  };
  add("Stop", entry("stop"));
  add("Notification", entry("notification"));
  add("PreToolUse", entry("pretooluse", PROMPT_TOOLS));
  add("PostToolUse", entry("posttooluse", PROMPT_TOOLS));
  add("PostToolUseFailure", entry("posttooluse", PROMPT_TOOLS));
  add("UserPromptSubmit", entry("userpromptsubmit"));
  add("SessionEnd", entry("sessionend"));
  return { ...own, hooks };
}

/** Writes the settings file of an agent into the state directory and returns its path (S2.15). */
export function prepareSettings(dir: string, id: string, workspace: string, bin: string): string {
  const file = join(workspace, ".claude", "settings.json");
  const own = existsSync(file) ? readOwn(file) : {};
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const path = join(dir, `${id}.settings.json`);
  writeFileSync(`${path}.new`, `${JSON.stringify(watchedSettings(own, bin, id), null, 2)}\n`, { mode: 0o600 });
  renameSync(`${path}.new`, path);
  return path;
}

/** @throws {TypeError} that names the file, if its hooks cannot be kept */
function readOwn(file: string): AgentSettings {
  let own: unknown;
  try {
    own = JSON.parse(readFileSync(file, "utf8"));
  } catch (error) {
    throw new TypeError(`Cannot keep the hooks of ${file} as it is not JSON: ${(error as Error).message}`);
  }
  const { hooks = {} } = Object(own) as { hooks?: unknown };
  if (!isObject(own) || !isObject(hooks) || !Object.values(hooks).every(Array.isArray)) {
    throw new TypeError(
      `Cannot keep the hooks of ${file} as they are not lists by event: write { "hooks": { "Stop": [ … ] } }`,
    );
  }
  return own;
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
