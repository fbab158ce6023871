import type { Host } from "../../../hooks/serving/from-host.ts";
import { brief } from "./judged.ts";
import type { Keeper } from "./keepers.ts";
import { isUnheard, toNobody } from "./lawful.ts";
import type { Round } from "./_play.ts";
import type { Terminated } from "./terminating.ts";
import { isSandboxed, missing } from "./total.ts";

/** Why a hook did not block where it might have: it lacks a program, or blocks in a way that blocks nothing. */
export function lackingAt(name: Keeper, { probed }: Round, host: Host, tried: string): Terminated["violations"] {
  const { ran } = probed;
  if (!ran || ran.code === null) return [];
  const at = { trace: [], event: wireName(name) };
  if (ran.code === 0) {
    return isUnheard(ran.stdout, at.event, host) ? [{ ...at, ...toNobody(ran.stdout, at.event) }] : [];
  }
  const needed = missing(ran.stderr);
  if (needed !== undefined) {
    return [{
      ...at,
      law: "total",
      code: "total.cannot-start",
      severity: "fault",
      message:
        `It needs '${needed}', which is not installed here: it fails with ${tried}, and whether it lets go could not be seen`,
      mend: `install ${needed}, or look for it first (command -v ${needed})`,
    }];
  }
  const said = ran.stderr.trim() || ran.stdout.trim();
  // What was made up for it to find may be nothing it can read.
  if (
    ran.code !== 1 || said === "" || isSandboxed(said) ||
    /error|invalid|corrupt|missing|cannot|fail|line \d|^\S+: /im.test(said)
  ) {
    return [];
  }
  return [{
    ...at,
    law: "lawful",
    code: "lawful.exit-1",
    severity: "fault",
    message: `It exits with code 1 and says '${
      brief(said, 60)
    }' with ${tried}: only code 2 blocks, so this lets it through`,
    mend: "exit 2 to block, with the reason on stderr; exit 0 to let it through",
  }];
}

/** The event by its name on the wire. */
export function wireName(name: Keeper): string {
  return name === "turn-end" ? "TurnEnd" : name === "stop" ? "Stop" : "SubagentStop";
}
