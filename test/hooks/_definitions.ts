import { fire } from "../../lib/core/dispatch.ts";
import type { HookRecord } from "../../lib/core/hook.ts";
import { type DefinitionsOptions, readDefinitions } from "../../lib/hooks/definitions.ts";
import { testEnv } from "./_events.ts";

/** Loads a whole file. */
export async function load(yaml: string, options: Partial<DefinitionsOptions> = {}) {
  return await readDefinitions(yaml, "hooks.yaml", { workspace: "/repo", ...options });
}

/** Loads one definition given as lines below its dash. */
export function one(lines: string, options: Partial<DefinitionsOptions> = {}) {
  return load(`hooks:\n  definitions:\n    - ${lines.trim().split("\n").join("\n      ")}\n`, options);
}

/** Why one definition is not loaded; nothing where it is. */
export async function refused(lines: string, options: Partial<DefinitionsOptions> = {}): Promise<string> {
  return await one(lines, options).then(() => "", (error) => error.message);
}

/** Fires a call of a tool. */
export async function preToolUse(records: readonly HookRecord[], tool_name: string, input: object) {
  return await fire(records, {
    event: "pre-tool-use",
    tool_name,
    input: input as never,
    original_input: input as never,
    tool_use_id: "1",
  }, testEnv());
}

/** Rules that deny whatever they are asked about. */
export const ALWAYS = `inline_rules: [{ field: event, operator: contains, value: "", action: deny, reason: hit }]`;
