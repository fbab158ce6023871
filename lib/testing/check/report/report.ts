import type { HookKind } from "../../../core/hook.ts";
import type { Host } from "../../../hooks/serving/from-host.ts";

/** What every hook is held to. */
export const LAWS = [
  "total",
  "lawful",
  "terminating",
  "deterministic",
  "guard",
  "polite",
  "order",
  "examples",
] as const;

export type Law = typeof LAWS[number];

/** What a finding means: a fault fails the check, a warning does not. */
export type Severity = "fault" | "warning";

/** One way in which one hook breaks one law. */
export interface Finding {
  readonly law: Law;
  /** Names the fault for good, such as `total.crash`: tests and ignore lists may rely on it. */
  readonly code: string;
  readonly severity: Severity;
  readonly hook: string;
  /** The event by its name on the wire, such as `PreToolUse`. */
  readonly event?: string;
  /** What happened, in one sentence. */
  readonly message: string;
  /** The smallest event (or command line, or play) that was found to show it. */
  readonly counterexample: unknown;
  readonly seed: number;
  /** A command line that shows it again. */
  readonly reproduce: string;
  /** What to change. */
  readonly mend: string;
  /** The shortest play that shows it, a step a line. */
  readonly trace?: readonly string[];
}

/** How long calls of the hook took, in milliseconds. */
export interface Timing {
  readonly calls: number;
  readonly p50: number;
  readonly p95: number;
}

/** How a hook that can keep an agent going lets go of it. Nothing here is ever proven: so many rounds did not refute it. */
export type LettingGo =
  /** It never held on to anything. */
  | "never blocks"
  /** It blocked, and let go while `stop_hook_active` had no say. */
  | "by itself"
  /** It blocked, and let go once its condition was met or it was told that it had blocked before. */
  | "on stop_hook_active"
  /** A count of its own ends it, whatever the model does. */
  | "by its own counter"
  /** Only the host's cap ends it. */
  | "relies on the cap"
  /** It still blocked in the last round, though tools had run between, which resets a host's cap. */
  | "still blocking";

export interface Termination {
  readonly verdict: "refuted" | "not refuted";
  readonly rounds: number;
  readonly letsGo: LettingGo;
  /** Files it counts in, where it has any. */
  readonly state?: readonly string[];
}

/** What the check of one hook came to. */
export interface HookReport {
  /** As listings name it. */
  readonly hook: string;
  /** The file it is from. */
  readonly path: string;
  readonly kind: HookKind;
  /** The events it was asked about, by their names on the wire. */
  readonly events: readonly string[];
  /** Generated events it was asked about. */
  readonly runs: number;
  /** The laws it was held to. */
  readonly laws: readonly Law[];
  readonly findings: readonly Finding[];
  readonly timing?: Timing;
  readonly termination?: Termination;
  /** Why it was not asked anything. */
  readonly skipped?: string;
}

/** What a whole check came to. */
export interface CheckReport {
  /** Whether no law was refuted: warnings are no faults. */
  readonly ok: boolean;
  readonly seed: number;
  readonly runs: number;
  readonly host: Host;
  /** Whether hooks ran where they could reach nothing: `none` where bubblewrap is not to be had. */
  readonly sandbox: "bubblewrap" | "none";
  readonly hooks: readonly HookReport[];
  /** What could not be loaded at all, a sentence each: faults too. */
  readonly problems: readonly string[];
}
