import { EVENTS } from "../../core/events.ts";
import type { HookKind, HookRecord } from "../../core/hook.ts";
import type { ResolvedName } from "../../core/names.ts";
import type { HostName } from "../../hooks/hosts/index.ts";
import type { matchesIf } from "../../permissions/rules.ts";
import type { Example } from "../examples/example.ts";
import type { Target } from "./ask-protocol.ts";
import type { Violation } from "./report.ts";

/** One moment a hook is for. */
export interface Moment {
  /** As it is written: `pre-tool-use`, `SubagentStop`, or a host's own name such as `BeforeTool`. */
  readonly event: string;
  /** What the tool's name, the source, … must match. */
  readonly matcher?: string;
}

/** A file or folder that is copied into the scratch place before the hook is run. */
export interface Copy {
  readonly from: string;
  /** In the place: `project/scripts`, `home/.claude/hooks`. */
  readonly to: string;
}

/** What is known of a hook once it is loaded. */
export interface Loaded {
  readonly moments: readonly Moment[];
  /** Its own time limit, in seconds. */
  readonly timeout?: number;
  readonly mode: HookRecord["mode"];
  readonly nondeterministic: boolean;
  readonly onError?: HookRecord["onError"];
  /** Names in it that were most likely meant to be others. */
  readonly warnings?: readonly string[];
  /** Files of the project that it depends on, as its config names them. */
  readonly state?: readonly string[];
  /** The examples of a module. */
  readonly examples?: readonly Example[];
}

/** One hook to be checked. */
export interface Subject {
  /** The name that listings show. */
  readonly name: string;
  /** The file it is from, as a person would type it. */
  readonly path: string;
  readonly kind: HookKind;
  readonly target: Target;
  readonly host: HostName;
  /** The project whose `.claude`, `.codex`, `.gemini` and `.agent` folders are copied into the scratch project. */
  readonly project: string;
  /** Absent if only loading the hook can say: the child process reports it. */
  readonly loaded?: Loaded;
  /** The hook's own file, if it has one to itself. */
  readonly file?: string;
  /** The event given with `--event`. */
  readonly event?: string;
  /** The permission rule in the `if` of a settings hook. */
  readonly rule?: { readonly text: string; readonly isAbout: (call: Parameters<typeof matchesIf>[1]) => boolean };
  /** The shell line that runs it with an event's JSON on stdin. Absent if it is not a command. */
  readonly runs?: string;
  /** The source of the hook: quoted words in it are put into events. */
  readonly text: string;
  readonly env: { readonly [name: string]: string };
  readonly copies: readonly Copy[];
  /** Folders that the sandbox must show. */
  readonly visible: readonly string[];
  /** What was found without running it. */
  readonly seen: readonly Violation[];
  /** Why it is not run. */
  readonly skip?: string;
}

/** What was found at a path. */
export interface FoundSubjects {
  readonly subjects: readonly Subject[];
  /** What should be a hook and is not, one sentence each. */
  readonly problems: readonly string[];
}

/** The moments a record listens to, under the narrowest name of each. */
export function momentsOf(on: readonly (ResolvedName & { readonly pattern?: string })[]): Moment[] {
  return on.map((name) => ({
    event: aliasOf(name),
    ...(name.pattern !== undefined && { matcher: name.pattern }),
  }));
}

function aliasOf({ event, scope, outcome }: ResolvedName): string {
  const aliases = Object.entries(EVENTS[event].aliases) as [string, { scope?: string; outcome?: string }][];
  const narrow = aliases.find(([, a]) =>
    (a.scope !== undefined && a.scope === scope) || (a.outcome !== undefined && a.outcome === outcome)
  );
  return narrow?.[0] ?? event;
}

/** A path as a person would type it. */
export function shortened(path: string, cwd: string): string {
  return path.startsWith(`${cwd}/`) ? path.slice(cwd.length + 1) : path;
}
