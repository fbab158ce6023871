import { present } from "../../core/json.ts";
import type { Copy, ScratchFolders } from "./scratch-project.ts";
import type { HookKind, HookRecord } from "../../core/hook.ts";
import { narrowestName, type ResolvedName } from "../../core/names.ts";
import type { Opinion } from "../../core/verdict.ts";
import type { HookConfig } from "../../hooks/file/hook-record.ts";
import { type Misnamed, misnamed } from "../../hooks/known-names.ts";
import type { HostName } from "../../hooks/hosts/index.ts";
import type { matchesIf } from "../../permissions/rules.ts";
import type { ProcessResult } from "../../process/process.ts";
import type { Example } from "./examples/example.ts";
import type { Violation } from "./check-report.ts";

export interface Moment {
  /** As it is written: `pre-tool-use`, `SubagentStop`, or a host's own name such as `BeforeTool`. */
  readonly event: string;
  /** What the tool's name, the source, … must match. */
  readonly matcher?: string;
}

export interface Loaded {
  readonly moments: readonly Moment[];
  /** Its own time limit, in seconds. */
  readonly timeout?: number;
  readonly mode: HookRecord["mode"];
  readonly nondeterministic: boolean;
  readonly onError?: HookRecord["onError"];
  readonly warnings?: readonly Misnamed[];
  /** Files of the project that it depends on, as its config names them. */
  readonly state?: readonly string[];
  readonly examples?: readonly Example[];
}

export interface Subject {
  /** The name that listings show. */
  readonly name: string;
  /** The file it is from, as a person would type it. */
  readonly path: string;
  readonly kind: HookKind;
  readonly target: Target;
  /** In whose form a command is asked and answers. */
  readonly host: HostName;
  /** The host that asks a hook file of ours by `crochet hook`, which translates its answer. */
  readonly servedTo?: HostName;
  /** The project whose `.claude`, `.codex`, `.gemini` and `.agent` folders are copied into the scratch project. */
  readonly project: string;
  /** Absent if only loading the hook can say: the child process reports it. */
  readonly loaded?: Loaded;
  /** The hook's own file, if it has one to itself. */
  readonly file?: string;
  readonly event?: string;
  /** The permission rule in the `if` of a settings hook. */
  readonly rule?: { readonly text: string; readonly isAbout: (call: Parameters<typeof matchesIf>[1]) => boolean };
  /** The shell line that runs it with an event's JSON on stdin. Absent if it is not a command. */
  readonly runs?: string;
  readonly env: { readonly [name: string]: string };
  readonly copies: readonly Copy[];
  readonly visible: readonly string[];
  readonly seen: readonly Violation[];
  readonly skip?: string;
}

export interface FoundSubjects {
  readonly subjects: readonly Subject[];
  /** What should be a hook and is not, one sentence each. */
  readonly problems: readonly string[];
}

/** What a record, or what stands for one, and its config say of a hook. */
export function loadedOf(
  { on, mode, timeout, onError, ...named }: Pick<HookRecord, "name" | "on" | "mode"> & Partial<HookRecord>,
  { nondeterministic = false, state }: HookConfig = {},
): Loaded {
  return {
    moments: on.map((name: ResolvedName & { readonly pattern?: string }) => {
      return { event: narrowestName(name), ...(name.pattern !== undefined && { matcher: name.pattern }) };
    }),
    warnings: misnamed({ on, ...named }),
    mode,
    nondeterministic,
    ...present({ state: state === undefined ? undefined : [state].flat(), timeout, onError }),
  };
}

export type Target =
  /** A command line of a host's settings; with `args`, a program and its arguments. */
  | { readonly type: "command"; readonly command: string; readonly args?: readonly string[] }
  /** A hook file that our own front ends load. */
  | { readonly type: "file"; readonly path: string; readonly event?: string }
  /** One hook of a hooks.yaml, or of `.agent/hook.toml`. */
  | { readonly type: "definition"; readonly path: string; readonly name: string };

export interface Question {
  /** A host's wire object, or an event of ours. */
  readonly event: { readonly [field: string]: unknown };
  /** Milliseconds until it counts as timed out. */
  readonly limit: number;
  readonly says?: string;
  /** Whether files that the hook writes stay for the next question. @default false */
  readonly keep?: boolean;
  /** Events that further copies are asked about at the same time. */
  readonly beside?: readonly Question["event"][];
}

export type RanCommand = Pick<ProcessResult, "code" | "signal" | "stdout" | "stderr">;

export interface Probed {
  readonly ms: number;
  /** Of a command: what a host would read. */
  readonly ran?: RanCommand;
  readonly opinion?: Omit<Opinion, "later">;
  readonly inputs?: readonly string[];
  /** Why there is no answer, and at which step. */
  readonly failure?: { readonly at: "start" | "run" | "read" | "exit"; readonly message: string };
  readonly timedOut?: boolean;
  readonly skipped?: string;
  readonly survivors?: readonly string[];
  /** Files it changed, relative to the root of its place. */
  readonly changed?: readonly string[];
  /** What the copies beside it answered. */
  readonly beside?: readonly Probed[];
  /** What a module keeps in `ctx.values`, if anything. */
  readonly values?: string;
  /** What a module printed, or the command of a definition. */
  readonly printed?: string;
}

/** The first line that the child process is sent. */
export interface Setup {
  /** Every line of an answer begins with this, which is also the CROCHET_CHECK of every process that a hook starts. */
  readonly token: string;
  readonly target: Target;
  readonly place: ScratchFolders;
  readonly host: HostName;
  readonly env: { readonly [name: string]: string };
  /** Whether it has a process namespace of its own. */
  readonly alone: boolean;
}

export interface Answering {
  readonly probed?: Probed;
  /** Of the first answer: what the hook says about itself. */
  readonly loaded?: Loaded;
  /** Why the child itself could not do it. */
  readonly broken?: string;
}
