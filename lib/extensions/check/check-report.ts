import type { HookKind } from "../../core/hook.ts";
import type { HostName } from "../../hooks/hosts/index.ts";
import type { HookExample } from "./examples/example.ts";

/** What every hook is held to. */
export const LAWS = [
  "reliable",
  "protocol",
  "terminating",
  "deterministic",
  "concurrent",
  "guard",
  "safe",
  "order",
  "examples",
] as const;

export type Law = typeof LAWS[number];

/** A fault fails the check, a warning does not. */
export type Severity = "fault" | "warning";

export interface Violation {
  readonly law: Law;
  /** A stable name for the fault, such as `fails.crash`: tests and ignore lists may rely on it. */
  readonly code: string;
  readonly severity: Severity;
  readonly message: string;
  readonly fix: string;
  /** The event by its name on the wire, such as `PreToolUse`, if nothing has to be asked to see it. */
  readonly event?: string;
  /** The name in the hook's file that is wrong, which leads to its line. */
  readonly declared?: string;
}

/** One way in which one hook breaks one law. */
export interface Finding extends Violation {
  readonly hook: string;
  /** The file and line that declare it, such as `hooks/stop.rules:3`. */
  readonly place?: string;
  /** The smallest event (or command line, or play) that shows it. */
  readonly counterexample: unknown;
  readonly seed: number;
  /** A command line that shows it again. */
  readonly reproduce: string;
  /** The shortest play that shows it, one step per line. */
  readonly trace?: readonly string[];
}

/** How long calls of the hook took, in milliseconds. */
export interface Timing {
  readonly calls: number;
  readonly p50: number;
  readonly p95: number;
}

/** How a hook that can keep an agent going lets it end. Nothing here is proven: it was not refuted in so many rounds. */
export type LettingGo =
  | "never blocks"
  /** It blocked, and let go without looking at `stop_hook_active`: by a count of its own, or satisfied. */
  | "by itself"
  /** It blocked, and let go once the event said that it had blocked before. */
  | "on stop_hook_active"
  /** Only the host's cap ends it for some models. */
  | "relies on the cap"
  /** It blocked every model to the last round; tools that ran in between reset a host's cap. */
  | "still blocking";

export interface Termination {
  readonly verdict: "refuted" | "not refuted";
  readonly rounds: number;
  readonly letsGo: LettingGo;
}

/** A small change of a hook that its examples do not notice. */
export interface Survivor {
  readonly line: number;
  /** The line before and after, cut to what is around the change. */
  readonly was: string;
  readonly is: string;
  /** An example that would notice it, with the hook's own answer. */
  readonly example?: HookExample;
  /** What the hook and what the mutant answered to its event; absent if the example was found for an earlier one. */
  readonly hook?: string;
  readonly mutant?: string;
}

/** How many small changes of a hook its examples notice. Those that do not load do not count. */
export interface MutantReport {
  readonly made: number;
  readonly caught: number;
  readonly survived: readonly Survivor[];
}

export interface HookReport {
  /** The name that listings show. */
  readonly hook: string;
  readonly path: string;
  readonly kind: HookKind;
  /** The events it was asked about, by their names on the wire. */
  readonly events: readonly string[];
  /** Events it was really asked about: dangerous calls, those of its own constants, generated ones. */
  readonly runs: number;
  readonly asked: number;
  /** That the time was over before everything was asked, such as `11 of 100 events: not checked enough`. */
  readonly unchecked?: string;
  /** The laws it was held to. */
  readonly laws: readonly Law[];
  readonly findings: readonly Finding[];
  readonly timing?: Timing;
  readonly termination?: Termination;
  readonly mutants?: MutantReport;
  /** The file that got examples which were found. */
  readonly saved?: { readonly file: string; readonly examples: number };
  readonly skipped?: string;
}

/** What a check of hooks found. */
export interface CheckReport {
  /** Whether no law was broken, and everything was read and checked enough. Warnings do not count. */
  readonly ok: boolean;
  readonly seed: number;
  readonly runs: number;
  readonly host: HostName;
  /** Whether hooks ran in a sandbox: `none` if bubblewrap is not installed. */
  readonly sandbox: "bubblewrap" | "none";
  readonly hooks: readonly HookReport[];
  /** What could not be checked at all, one sentence each. */
  readonly problems: readonly string[];
}
