import { EXIT, type Io, UsageError } from "./_io.ts";

/** The process as a command sees it; the first Ctrl-C interrupts, the second kills. */
export function processIo(): Io {
  const interrupt = new AbortController();
  process.once("SIGINT", () => interrupt.abort(new Error("Interrupted")));
  process.once("SIGTERM", () => interrupt.abort(new Error("Terminated")));
  return {
    // The streams of node take longer to load than most hooks take to run: a whole line needs none.
    out: (text) => text.endsWith("\n") ? console.log(text.slice(0, -1)) : void process.stdout.write(text),
    err: (text) => text.endsWith("\n") ? console.error(text.slice(0, -1)) : void process.stderr.write(text),
    get tty() {
      return process.stdout.isTTY === true;
    },
    env: process.env,
    cwd: process.cwd(),
    signal: interrupt.signal,
  };
}

/** Runs a command; what it throws becomes one line that says what, where and the mend, and an exit code. */
export async function guarded(args: readonly string[], io: Io, work: () => Promise<number>): Promise<number> {
  try {
    return await work();
  } catch (error) {
    const usage = error instanceof UsageError || error instanceof TypeError;
    const stack = args.includes("--debug") && error instanceof Error ? error.stack : undefined;
    io.err(`crochet: ${stack ?? (error instanceof Error ? error.message : String(error))}\n`);
    return io.signal.aborted ? EXIT.interrupted : usage ? EXIT.usage : EXIT.failed;
  }
}
