import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { Agent, RunOptions } from "../agent.ts";
import type { Stop } from "../core/events.ts";
import type { Limits } from "../core/limits.ts";
import type { Result } from "../core/run-events.ts";
import { type Flags, helpText, readFlags, type Usage } from "./_flags.ts";
import { type Command, EXIT, type Io, UsageError } from "./_io.ts";
import { guarded, processIo } from "./_process.ts";
import { summary, terminalView } from "./_show.ts";

const USAGE: Usage = {
  name: "run",
  words: "[agent.ts] <prompt…>",
  about: "Runs an agent: the script's default export, or the built-in coding agent.",
  flags: [
    ["--model <name>", "the model to use"],
    ["--cwd <dir>", "where the tools work"],
    ["--max-iterations <n>", "model calls at most"],
    ["--budget <usd>", "dollars at most"],
    ["--output <form>", "text, json or stream-json"],
    ["--debug", "show where an error came from"],
    ["--help", "this text"],
  ],
  example: `crochet run "say hello"`,
};

const run: Command = async (args, io) => {
  const { words, flags } = readFlags(USAGE, args);
  if (flags.help) {
    io.out(helpText(USAGE));
    return EXIT.ok;
  }
  const script = words[0] !== undefined && isScript(words[0], io) && args[0] !== "--" ? words[0] : undefined;
  const prompt = words.slice(script === undefined ? 0 : 1).join(" ");
  const agent = script === undefined ? await builtIn() : await loadAgent(resolve(io.cwd, script));
  return await runPrompt(agent, prompt, flags, io);
};
export default run;

/** What `agent.main()` does: the same as `crochet run` with the script already loaded. */
export async function runAsScript(agent: Agent, args: readonly string[]): Promise<void> {
  const io = processIo();
  process.exitCode = await guarded(args, io, async () => {
    const { words, flags } = readFlags(USAGE, args);
    if (flags.help) {
      io.out(helpText(USAGE));
      return EXIT.ok;
    }
    return await runPrompt(agent, words.join(" "), flags, io);
  });
}

async function runPrompt(agent: Agent, prompt: string, flags: Flags["flags"], io: Io): Promise<number> {
  if (prompt.trim() === "") throw new UsageError(`Cannot run an agent as there is no prompt: ${USAGE.example}`);
  const output = flags.output ?? "text";
  if (output !== "text" && output !== "json" && output !== "stream-json") {
    throw new UsageError(`Cannot print '${output}' as it is no form of output: expected text, json or stream-json`);
  }
  const show = output === "stream-json"
    ? (event: unknown) => io.out(`${JSON.stringify(event)}\n`)
    : output === "text" && io.tty
    ? terminalView(io.out)
    : (event: { type: string; message?: string }) => {
      if (event.type === "warning") io.err(`crochet: ${event.message}\n`);
    };
  const result = await agent.run(prompt, { ...runOptions(flags, io), on: show as NonNullable<RunOptions["on"]> });
  report(result, output, io);
  return exitCode(result.stop);
}

function report(result: Result, output: "text" | "json" | "stream-json", io: Io): void {
  if (output === "json") io.out(`${JSON.stringify(result)}\n`);
  else if (output === "stream-json") io.out(`${JSON.stringify({ type: "result", ...result })}\n`);
  else if (io.tty) io.out(`${summary(result)}\n`);
  else if (result.text !== "") io.out(`${result.text}\n`);
  if (result.error && output !== "stream-json") io.err(`crochet: ${result.error.message}\n`);
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

function runOptions(flags: Flags["flags"], io: Io): RunOptions {
  const limits: { -readonly [K in keyof Limits]?: Limits[K] } = {};
  if (flags.maxIterations !== undefined) limits.iterations = numberOf("--max-iterations", flags.maxIterations);
  if (flags.budget !== undefined) limits.dollars = numberOf("--budget", flags.budget);
  return {
    signal: io.signal,
    limits,
    ...(flags.model !== undefined && { model: String(flags.model) }),
    ...(flags.cwd !== undefined && { cwd: directory(resolve(io.cwd, String(flags.cwd))) }),
  };
}

function numberOf(flag: string, value: string | boolean): number {
  const number = Number(value);
  if (!Number.isFinite(number) || number < 0) {
    throw new UsageError(`Cannot use ${flag} ${value} as it is not a number of 0 or more`);
  }
  return number;
}

function directory(path: string): string {
  if (!existsSync(path)) throw new UsageError(`Cannot work in '${path}' as there is no such directory`);
  return path;
}

function isScript(word: string, io: Io): boolean {
  return /\.(ts|js|mjs)$/.test(word) && existsSync(resolve(io.cwd, word));
}

async function loadAgent(path: string): Promise<Agent> {
  const { default: found } = await import(pathToFileURL(path).href) as { default?: Agent };
  if (typeof found?.run === "function" && typeof found?.open === "function") return found;
  throw new UsageError(`Cannot run '${path}' as its default export is no agent: export default agent({ ... })`);
}

async function builtIn(): Promise<Agent> {
  return (await import("./_coding-agent.ts")).codingAgent();
}
