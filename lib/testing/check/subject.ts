import type { HookKind, HookRecord } from "../../core/hook.ts";
import type { Host } from "../../hooks/serving/from-host.ts";
import type { matchesIf } from "../../permissions/rules.ts";
import type { Example } from "../examples/example.ts";
import type { Finding } from "./report/report.ts";
import type { Target } from "./asking/probe.ts";

/** One moment a hook is for. */
export interface Moment {
  /** As it is written: `pre-tool-use`, `SubagentStop`, or a host's own name such as `BeforeTool`. */
  readonly event: string;
  /** What the tool's name, the source, … must match. */
  readonly matcher?: string;
}

/** A file or folder that a hook needs in its workspace: copied there before it is asked. */
export interface Copy {
  readonly from: string;
  /** In the place: `project/.claude/hooks`, `home/.claude/hooks`. */
  readonly to: string;
  /** A folder is made, and what lies in it stays where it is. */
  readonly empty?: boolean;
}

/** What is known of a hook once it is loaded. */
export interface Loaded {
  readonly moments: readonly Moment[];
  /** Its own time limit, in seconds. */
  readonly timeout?: number;
  readonly mode: HookRecord["mode"];
  readonly nondeterministic: boolean;
  readonly onError?: HookRecord["onError"];
  /** The examples of a module. */
  readonly examples?: readonly Example[];
}

/** One hook to be checked. */
export interface Subject {
  /** As listings name it. */
  readonly name: string;
  /** The file it is from, as a person would type it. */
  readonly path: string;
  readonly kind: HookKind;
  readonly target: Target;
  readonly host: Host;
  /** Absent where only loading it tells: the child does. */
  readonly loaded?: Loaded;
  /** What its file's name says it is for; what it says about itself may be more. */
  readonly named?: readonly Moment[];
  /** The file, where the hook is one of its own. */
  readonly file?: string;
  /** The moment that was given for a file whose name does not say it. */
  readonly event?: string;
  /** The one permission rule of a settings hook, and whether it is about a call. */
  readonly rule?: { readonly text: string; readonly isAbout: (call: Parameters<typeof matchesIf>[1]) => boolean };
  /** How a person would run it: the event's JSON goes to its stdin. Absent for what is no command. */
  readonly runs?: string;
  /** Its own text, where it is a file. */
  readonly text: string;
  readonly env: { readonly [name: string]: string };
  readonly copies: readonly Copy[];
  readonly visible: readonly string[];
  /** What was seen without asking it anything. */
  readonly seen: readonly Pick<Finding, "law" | "code" | "severity" | "message" | "mend">[];
  /** Why it is not asked anything. */
  readonly skip?: string;
}

/** What was found at a path. */
export interface FoundSubjects {
  readonly subjects: readonly Subject[];
  /** What should be a hook and is none, a sentence each. */
  readonly problems: readonly string[];
}

/** Whether a module has parts in other files of its own. */
export function importsOwn(text: string): boolean {
  return /\b(?:from|import|require)\s*\(?\s*["']\./.test(text);
}
