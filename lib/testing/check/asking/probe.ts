import type { Opinion } from "../../../core/verdict.ts";

/** What is asked, and how: a line of a host's protocol, or a hook that our own front ends load. */
export type Target =
  | {
    readonly type: "command";
    /** A line for `/bin/sh -c`; with `args`, a program that is started as it is. */
    readonly command: string;
    readonly args?: readonly string[];
  }
  /** A module, rules or a prompt, or a command that is kept alive. */
  | { readonly type: "file"; readonly path: string; readonly event?: string }
  /** One of the definitions of a hooks.yaml. */
  | { readonly type: "definition"; readonly path: string; readonly name: string }
  /** One of the commands of `.agent/hook.toml`, copied into the workspace. */
  | { readonly type: "toml"; readonly name: string };

/** The folders of one scratch workspace. All that a hook may write is under `root`. */
export interface Place {
  readonly root: string;
  /** A git repository with a few files; hooks run in it. */
  readonly project: string;
  readonly home: string;
  readonly tmp: string;
  /** Stands in for /tmp in the sandbox: what is written here was meant for the machine. */
  readonly outside: string;
  /** Beside the root: for what a host would keep of long answers. */
  readonly kept: string;
  /** Of the conversation so far, as hosts write it. */
  readonly transcript: string;
  /** Where a hook that runs what it is given would leave its mark. */
  readonly canary: string;
}

/** One event for a hook. */
export interface Question {
  /** In the form the target reads: a host's wire object, or an event of ours. */
  readonly event: { readonly [field: string]: unknown };
  /** Milliseconds it has. */
  readonly limit: number;
  /** What a model that a prompt hook asks would say. */
  readonly says?: string;
  /** Leaves what the hook wrote for the next question. @default false: the workspace is put back */
  readonly keep?: boolean;
}

/** How a process ended and what it said. */
export interface RanCommand {
  readonly code: number | null;
  readonly signal: string | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** What became of one question. */
export interface Probed {
  readonly ms: number;
  /** Of a command: what a host would read. */
  readonly ran?: RanCommand;
  /** What a host would make of it. */
  readonly opinion?: Omit<Opinion, "later">;
  /** Input it gave the agent. */
  readonly inputs?: readonly string[];
  /** Why there is no answer: it threw, or what it answered cannot be read, or it could not be started. */
  readonly failure?: { readonly at: "start" | "run" | "read" | "exit"; readonly message: string };
  readonly timedOut?: boolean;
  /** Why the hook does not apply to the event. */
  readonly skipped?: string;
  /** Processes it left running, by their command lines. */
  readonly survivors?: readonly string[];
  /** What it changed, relative to the root of its place. */
  readonly changed?: readonly string[];
  /** What a module printed, or the command of a definition. */
  readonly printed?: string;
}
