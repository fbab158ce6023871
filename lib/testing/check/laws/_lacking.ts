import type { Keeper } from "./keepers.ts";
import type { Round } from "./_play.ts";
import type { Terminated } from "./terminating.ts";
import { missing } from "./total.ts";

/** What it could not do where it would have blocked: a hook without its programs lets go of everything. */
export function lackingAt(name: Keeper, { probed }: Round, tried: string): Terminated["violations"] {
  const needed = probed.ran && probed.ran.code !== 0 ? missing(probed.ran.stderr) : undefined;
  if (needed === undefined) return [];
  return [{
    law: "total",
    code: "total.cannot-start",
    severity: "fault",
    message:
      `It needs '${needed}', which is not installed here: it fails with ${tried}, and whether it lets go could not be seen`,
    mend: `install ${needed}, or look for it first (command -v ${needed})`,
    trace: [],
    event: wireName(name),
  }];
}

/** The event by its name on the wire. */
export function wireName(name: Keeper): string {
  return name === "turn-end" ? "TurnEnd" : name === "stop" ? "Stop" : "SubagentStop";
}
