import type { Usage } from "./flags.ts";

/** Where a command reads and writes: the process's own streams, or a test's. */
export interface Io {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  /** As `out`, but written as it is: for what draws and has itself made plain what came from elsewhere. @default `out` */
  readonly draw?: (text: string) => void;
  /** Absent in tests that run a command in their own process. */
  readonly stdin?: { readonly isPiped: boolean; readonly stream: NodeJS.ReadStream };
  /** Whether a person watches the output. */
  readonly tty: boolean;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** Does something once all is written, before the process ends. @default it is done at once */
  readonly whenWritten?: (work: () => void) => void;
  /** Aborted by Ctrl-C. */
  readonly signal: AbortSignal;
  /** Whether runs that have a process of their own are made in this one: tests alone say so. */
  readonly runsHere?: boolean;
}

/** A command of the CLI: its own arguments in, an exit code out. */
export interface Command {
  (args: readonly string[], io: Io): Promise<number>;
  /** The table it reads its flags by: shells complete by it. */
  readonly usage?: Usage;
  /** Whether it judges, by one table of words and codes. */
  readonly judges?: true;
}

/** Exit codes of every command; `notEnough`: nothing was found wrong, but too little was tried to say so. */
export const EXIT = { ok: 0, failed: 1, usage: 2, notEnough: 3, interrupted: 130 } as const;

/** A mistake in how a command was called: one line, exit code 2. */
export class UsageError extends Error {
  override name = "UsageError";
}

/** Says that what was thrown is such a mistake. */
export function asUsage(error: Error): never {
  throw new UsageError(error.message);
}
