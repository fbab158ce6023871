import type { Readable } from "node:stream";
import type { Opinion } from "../../core/verdict.ts";
import type { HostName } from "../../hooks/hosts/index.ts";
import type { Place } from "./place.ts";
import type { Loaded } from "./subject.ts";

/** How a hook is run. */
export type Target =
  /** A command line of a host's settings; with `args`, a program and its arguments. */
  | { readonly type: "command"; readonly command: string; readonly args?: readonly string[] }
  /** A hook file that our own front ends load. */
  | { readonly type: "file"; readonly path: string; readonly event?: string }
  /** One definition of a hooks.yaml. */
  | { readonly type: "definition"; readonly path: string; readonly name: string }
  /** One command of `.agent/hook.toml`, which is copied into the project. */
  | { readonly type: "toml"; readonly name: string };

/** One event for a hook. */
export interface Question {
  /** A host's wire object, or an event of ours. */
  readonly event: { readonly [field: string]: unknown };
  /** Milliseconds until it counts as timed out. */
  readonly limit: number;
  /** What the model says that a prompt hook asks. */
  readonly says?: string;
  /** Whether files that the hook writes stay for the next question. @default false */
  readonly keep?: boolean;
}

/** How a process ended and what it printed. */
export interface RanCommand {
  readonly code: number | null;
  readonly signal: string | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** The answer to one question. */
export interface Probed {
  readonly ms: number;
  /** Of a command: what a host would read. */
  readonly ran?: RanCommand;
  /** What a host would make of it. */
  readonly opinion?: Omit<Opinion, "later">;
  /** Input it gave the agent. */
  readonly inputs?: readonly string[];
  /** Why there is no answer, and at which step. */
  readonly failure?: { readonly at: "start" | "run" | "read" | "exit"; readonly message: string };
  readonly timedOut?: boolean;
  /** Why the hook does not apply to the event. */
  readonly skipped?: string;
  /** Command lines of processes it left running. */
  readonly survivors?: readonly string[];
  /** Files it changed, relative to the root of its place. */
  readonly changed?: readonly string[];
  /** What a module printed, or the command of a definition. */
  readonly printed?: string;
}

/** The first line that the child process is sent. */
export interface Setup {
  /** Every line of an answer begins with this. */
  readonly token: string;
  readonly target: Target;
  readonly place: Place;
  readonly host: HostName;
  /** The whole environment of the hook. */
  readonly env: { readonly [name: string]: string };
  /** Whether it has a process namespace of its own. */
  readonly alone: boolean;
  /** An environment entry that marks every process a hook starts. */
  readonly mark: string;
}

/** Each line that the child process answers. */
export interface Answering {
  readonly probed?: Probed;
  /** Of the first answer: what the hook says about itself. */
  readonly loaded?: Loaded;
  /** Why the child itself could not do it. */
  readonly broken?: string;
}

/** Reads a stream line by line. Only a line feed ends a line: readline would also split at U+2028, which JSON may hold. */
export function eachLine(stream: Readable, take: (line: string) => void): Promise<void> {
  const decoder = new TextDecoder();
  let rest = "";
  return new Promise((resolve) => {
    stream.on("data", (chunk: Uint8Array) => {
      const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
      rest = lines.pop()!;
      for (const line of lines) take(line);
    });
    stream.once("close", resolve);
    stream.once("end", resolve);
  });
}
