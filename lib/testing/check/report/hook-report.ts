import type { Findings } from "./findings.ts";
import type { Violation } from "../laws/judged.ts";
import type { HookReport, Timing } from "./report.ts";
import type { Session } from "../session.ts";
import type { Subject } from "../subject.ts";

/** A call of an agent's hook should not take longer than this, most times. */
export const SLOW_MS = 1000;

export function slow({ p50 }: Timing): Violation {
  return {
    law: "polite",
    code: "polite.slow",
    severity: "warning",
    message: `Half of its calls take longer than ${(p50 / 1000).toFixed(1)} s, and the agent waits for each`,
    mend: "do less, keep what does not change, or make it async",
  };
}

export function cannotLoad(message: string): Violation {
  return {
    law: "total",
    code: "total.load",
    severity: "fault",
    message: message.startsWith("Cannot") ? message : `It cannot be loaded: ${message}`,
    mend: "mend what it says",
  };
}

export function spread<T>(all: readonly T[], most: number): T[] {
  if (all.length <= most) return [...all];
  return Array.from({ length: most }, (_, i) => all[Math.floor((i * all.length) / most)]!);
}

export function timingOf(times: readonly number[]): Timing | undefined {
  if (times.length === 0) return undefined;
  const sorted = times.toSorted((a, b) => a - b);
  const at = (part: number) => sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))]!;
  return { calls: times.length, p50: at(0.5), p95: at(0.95) };
}

export function reportOf(
  subject: Subject,
  session: Session,
  findings: Findings,
  more: Partial<HookReport>,
): HookReport {
  return {
    hook: subject.name,
    path: subject.path,
    kind: subject.kind,
    events: [],
    runs: 0,
    laws: [...session.laws],
    ...more,
    findings: findings.all(),
  };
}
