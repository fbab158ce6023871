import type { RunOptions } from "../../../agent/options.ts";
import type { RunGifts } from "../../../cli/kit/run-gifts.ts";
import type { Result, RunEvent } from "../../../core/run-events.ts";
import type { Io } from "../../../cli/kit/io.ts";
import { permissionAsker, questionAsker } from "./ask-person.ts";
import { hasPerson } from "./keys.ts";
import { Stage } from "./stage.ts";
import { closing } from "./tally.ts";
import { coloursFor, plainText, wrap } from "../../../cli/show/text.ts";
import { terminalView } from "./terminal-view.ts";

/** Shows one run on the terminal while it happens, asks the user if there is one, and ends with what it cost. */
async function watch(
  start: (options: RunOptions) => Promise<Result>,
  { io, cwd }: { io: Io; cwd: string },
): Promise<Result> {
  const began = performance.now();
  const colours = coloursFor(true, io.env);
  const result = io.env.TERM === "dumb"
    ? await start({ on: terminalView(io.out, colours) })
    : await onStage(start, { io, cwd });
  const end = closing(result.stop, { ...result, calls: result.modelCalls }, colours, performance.now() - began);
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
      ...(hasPerson(io.tty, io.env) &&
        { permissionAsker: permissionAsker(stage, { io, cwd }), questionAsker: questionAsker(stage) }),
    });
  } finally {
    stage.close();
  }
}

const OF_HOOKS: readonly RunEvent["type"][] = ["exec", "hook_output", "hook_end", "hook_input", "system_message"];

function hooks(io: Io): (event: RunEvent) => void {
  const see = terminalView(io.err, coloursFor(false, io.env));
  return (event) => void (OF_HOOKS.includes(event.type) && see(event));
}

export default { watch, hooks } satisfies RunGifts["terminal"];
