import { resolveEvent } from "../../../core/names.ts";
import { claudeName } from "./judged.ts";
import type { Moment } from "../subject.ts";

/** The moments at which a hook can keep an agent going, by their names. */
export type Keeper = "stop" | "subagent-stop" | "turn-end";

/** The moments of a hook at which it can keep an agent going. */
export function keepers(moments: readonly Moment[]): Keeper[] {
  const names = moments.flatMap(({ event }): Keeper[] => {
    const on = resolveEvent(claudeName(event));
    if (on?.event === "turn-end") return ["turn-end"];
    return on?.event !== "stop" ? [] : [on.scope === "sub" ? "subagent-stop" : "stop"];
  });
  return [...new Set(names)];
}
