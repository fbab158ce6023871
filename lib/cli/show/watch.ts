import type { RunOptions } from "../../agent/options.ts";
import type { Result } from "../../core/run-events.ts";
import type { Io } from "../_io.ts";
import { permissionAsker, personAsker } from "../chat/chat-asking.ts";
import { hasPerson } from "../chat/keys.ts";
import { Stage } from "../chat/stage.ts";
import { closing, takenBy } from "./tally.ts";
import { coloursFor, plainText, wrap } from "./text.ts";
import { terminalView } from "./terminal-view.ts";

/** Shows one run on the terminal while it happens, asks the user if there is one, and ends with what it cost. */
export async function watchRun(
  start: (options: RunOptions) => Promise<Result>,
  { io, cwd }: { io: Io; cwd: string },
): Promise<Result> {
  const began = performance.now();
  const colours = coloursFor(true, io.env);
  const result = io.env.TERM === "dumb"
    ? await start({ on: terminalView(io.out, colours) })
    : await onStage(start, { io, cwd });
  const end = closing(result.stop, { ...takenBy(result), ms: performance.now() - began }, colours);
  io.out(`\n${wrap(end, (process.stdout.columns || 80) - 1, 2).join("\n")}\n`);
  if (result.error) io.err(`crochet: ${plainText(result.error.message)}\n`);
  return result;
}

async function onStage(
  start: (options: RunOptions) => Promise<Result>,
  { io, cwd }: { io: Io; cwd: string },
): Promise<Result> {
  const interrupt = new AbortController();
  const stop = () => interrupt.abort(new Error("Interrupted"));
  const stage = new Stage({ io, cwd, onInterrupt: stop, onGone: stop });
  stage.open();
  try {
    return await start({
      signal: AbortSignal.any([io.signal, interrupt.signal]),
      on: (event) => stage.see(event),
      ...(hasPerson(io.tty, io.env) && { ask: permissionAsker(stage, { io, cwd }), asker: personAsker(stage) }),
    });
  } finally {
    stage.close();
  }
}
