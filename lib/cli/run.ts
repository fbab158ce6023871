import type { Agent, RunOptions } from "../agent.ts";
import type { Stop } from "../core/events.ts";
import type { Result } from "../core/run-events.ts";
import { consoleAside } from "./_aside.ts";
import { command, type Usage } from "./_flags.ts";
import { EXIT, type Io, UsageError } from "./_io.ts";
import { guarded, processIo } from "./_process.ts";
import { ASKING, type Call, RUN_FLAGS, runOptions } from "./_run-options.ts";
import { builtIn, loadAgent, scriptAndPrompt } from "./_script.ts";
import { plainText } from "./show/text.ts";

const USAGE: Usage = {
  name: "run",
  words: "[agent.ts] <prompt…>",
  about: `Runs an agent: the script's default export, or the built-in coding agent. ${ASKING}`,
  flags: [
    ...RUN_FLAGS,
    ["--on <url>", "run on a durable engine, by its ingress, and follow; with --resume and no prompt: follow again"],
    ["--durable", "survive a crash: the same command with --resume goes on where it was, and questions wait"],
    ["--output <form>", "text, json or stream-json"],
    ["--debug", "show where an error came from"],
  ],
  example: `crochet run "say hello"`,
};

export default command(USAGE, async ({ words, flags, args }, io) => {
  const { script, prompt } = scriptAndPrompt(words, args, io);
  const agent = script === undefined ? await builtIn() : await loadAgent(script, io);
  return await runPrompt(agent, prompt, { flags, io, script: script !== undefined });
});

/** What `agent.main()` does: the same as `crochet run` with the script already loaded. */
export async function runAsScript(agent: Agent, args: readonly string[]): Promise<void> {
  const io = processIo();
  const run = command(USAGE, ({ words, flags }) => runPrompt(agent, words.join(" "), { flags, io, script: true }));
  process.exitCode = await guarded(args, io, () => run(args, io));
}

async function runPrompt(agent: Agent, prompt: string, call: Call): Promise<number> {
  const { flags, io } = call;
  const goesOn = (flags.durable === true || flags.on !== undefined) && flags.resume !== undefined;
  if (prompt.trim() === "" && !goesOn) {
    throw new UsageError(`Cannot run an agent as there is no prompt: ${USAGE.example}`);
  }
  const output = outputForm(flags.output);
  const seen = output === "text" && io.tty;
  const restore = seen ? undefined : consoleAside();
  try {
    const { start, cwd = io.cwd } = flags.on === undefined
      ? await startHere(agent, prompt, call)
      : { start: (await import("./_run-on.ts")).runOn(agent.name, prompt, flags, io) };
    const result = seen
      ? await (await import("./show/watch.ts")).watchRun(start, { io, cwd })
      : await unseen(start, output, io);
    return exitCode(result.stop);
  } finally {
    restore?.();
  }
}

type OutputForm = "text" | "json" | "stream-json";

function outputForm(given: string | boolean | undefined): OutputForm {
  const form = given ?? "text";
  if (form === "text" || form === "json" || form === "stream-json") return form;
  throw new UsageError(`Cannot print '${form}' as it is no form of output: expected text, json or stream-json`);
}

/** How a run of this machine is started, and where it works. */
async function startHere(agent: Agent, prompt: string, call: Call) {
  const { options, watched } = await runOptions(call, agent);
  const start = call.flags.durable
    ? (await import("./_durable.ts")).durably(watched, prompt, { ...options, io: call.io })
    : (more: RunOptions) => watched.run(prompt, { ...options, ...more });
  return { start, cwd: options.cwd };
}

/** A run whose output another program reads: plain, and only what was asked for. */
async function unseen(start: (options: RunOptions) => Promise<Result>, output: OutputForm, io: Io): Promise<Result> {
  if (output === "stream-json") {
    const result = await start({ on: (event) => io.out(`${JSON.stringify(event)}\n`) });
    io.out(`${JSON.stringify({ type: "result", ...result })}\n`);
    return result;
  }
  const status = process.stderr.isTTY ? (await import("./show/watch.ts")).statusLine(io) : undefined;
  const warn = (words: string) => status ? status.print(`crochet: ${words}`) : io.err(`crochet: ${words}\n`);
  const result = await start({
    on: (event) => {
      if (event.type === "warning") warn(plainText(event.message));
      status?.see(event);
    },
  }).finally(() => status?.close());
  if (output === "json") io.out(`${JSON.stringify(result)}\n`);
  else if (result.text !== "") io.out(`${plainText(result.text)}\n`);
  if (result.error) io.err(`crochet: ${plainText(result.error.message)}\n`);
  return result;
}

/** Quiet ends and refusals are no failures; a limit that was hit is. */
export function exitCode(stop: Stop): number {
  switch (stop) {
    case "done":
    case "halted":
    case "denied":
    case "waiting":
      return EXIT.ok;
    case "aborted":
      return EXIT.interrupted;
    default:
      return EXIT.failed;
  }
}
