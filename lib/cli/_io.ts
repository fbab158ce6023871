/** Where a command reads and writes: the process's own streams, or a test's. */
export interface Io {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  /** As `out` and `err`, for what draws on a terminal: what came from elsewhere in it was made plain before. @default these */
  readonly draw?: { readonly out: (text: string) => void; readonly err: (text: string) => void };
  /** Whether a person watches the output. */
  readonly tty: boolean;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** Aborted by Ctrl-C. */
  readonly signal: AbortSignal;
}

/** A command of the CLI: its own arguments in, an exit code out. */
export type Command = (args: readonly string[], io: Io) => Promise<number>;

/** Exit codes of every command. */
export const EXIT = { ok: 0, failed: 1, usage: 2, interrupted: 130 } as const;

/** A mistake in how a command was called: one line, exit code 2. */
export class UsageError extends Error {
  override name = "UsageError";
}
