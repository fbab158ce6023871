import type { EventName } from "../../lib/core/events.ts";
import { compileRules, rulesIn } from "../../lib/hooks/hook-rules.ts";

/** A hook of rules, in the form that the name of its file says. */
export async function rulesHook(text: string, file = "g.rules", events: readonly EventName[] = ["pre-tool-use"]) {
  return compileRules(await rulesIn(text, file), file, events);
}
