import type { Host } from "../../../hooks/serving/from-host.ts";
import type { Subject } from "../subject.ts";

/** A time limit in the unit of another host: Claude Code and Codex count seconds, Gemini milliseconds. */
export function oddTimeout(given: number | undefined, host: Host): Subject["seen"] {
  if (given === undefined) return [];
  if (host === "gemini") {
    return given >= 500 ? [] : [odd(
      "fault",
      `Its timeout of ${given} is so many milliseconds to gemini: it is ended before it can answer`,
      `write ${given * 1000} for ${given} s`,
    )];
  }
  // Nobody gives a hook 10000 s; what is not round to milliseconds, such as 3600, may be meant.
  return given < 1000 || given % 500 !== 0 ? [] : [odd(
    "warning",
    `Its timeout of ${given} is so many seconds to ${host} (${
      hours(given)
    }): a hook that hangs holds the agent as long`,
    `write ${given / 1000} for ${given / 1000} s`,
  )];
}

const odd = (severity: "fault" | "warning", message: string, mend: string): Subject["seen"][number] => ({
  law: "total",
  code: "total.timeout",
  severity,
  message,
  mend,
});

function hours(seconds: number): string {
  return seconds < 3600 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`;
}
