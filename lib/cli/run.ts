import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Agent, RunOptions } from "../agent.ts";
import type { Stop } from "../core/events.ts";
import type { Limits } from "../core/limits.ts";
import type { Result, RunEvent } from "../core/run-events.ts";
import type { PermissionMode } from "../permissions/rules.ts";
import { readConfig } from "./_config.ts";
import { type Flags, helpText, readFlags, type Usage } from "./_flags.ts";
import { findHooks, tellUnloaded } from "./_found.ts";
import { type Command, EXIT, type Io, UsageError } from "./_io.ts";
import { guarded, processIo } from "./_process.ts";
import { builtIn, loadAgent, scriptAndPrompt } from "./_script.ts";
import { summary, terminalView } from "./_show.ts";
import { privateDir, projectStore, runsDir } from "./_state.ts";
import { lastId } from "./transcripts.ts";

const USAGE: Usage = {
  name: "run",
  words: "[agent.ts] <prompt…>",
  about: "Runs an agent: the script's default export, or the built-in coding agent.",
  flags: [
    ["--model <name>", "the model to use"],
    ["--cwd <dir>", "where the tools work"],
    ["--settings <file>", "hooks and permissions in Claude Code's form"],
    ["--hooks <dir>", "a folder of hook files"],
    ["--trust", "trust what the working directory brings along, for this call"],
    ["--permission-mode <mode>", "default, acceptEdits, plan or bypassPermissions"],
    ["--max-iterations <n>", "model calls at most"],
    ["--budget <usd>", "dollars at most"],
    ["--resume <id>", "go on with a stored session or checkpoint; 'last' is the newest"],
    ["--rollout <file>", "where to log everything that happens"],
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
  const { script, prompt } = scriptAndPrompt(words, args, io);
  const agent = script === undefined ? await builtIn() : await loadAgent(script);
  return await runPrompt(agent, prompt, { flags, io, script: script !== undefined });
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
    return await runPrompt(agent, words.join(" "), { flags, io, script: true });
  });
}

interface Call {
  readonly flags: Flags["flags"];
  readonly io: Io;
  /** Whether the agent is a script: it names its own hooks folder. */
  readonly script: boolean;
}

async function runPrompt(agent: Agent, prompt: string, call: Call): Promise<number> {
  const { flags, io } = call;
  if (prompt.trim() === "") throw new UsageError(`Cannot run an agent as there is no prompt: ${USAGE.example}`);
  const output = outputForm(flags.output);
  const options = await runOptions(call);
  const result = await agent.run(prompt, { ...options, on: shower(output, io) });
  report(result, output, io);
  return exitCode(result.stop);
}

type OutputForm = "text" | "json" | "stream-json";

function outputForm(given: string | boolean | undefined): OutputForm {
  const form = given ?? "text";
  if (form === "text" || form === "json" || form === "stream-json") return form;
  throw new UsageError(`Cannot print '${form}' as it is no form of output: expected text, json or stream-json`);
}

function shower(output: OutputForm, io: Io): (event: RunEvent) => void {
  if (output === "stream-json") return (event) => io.out(`${JSON.stringify(event)}\n`);
  if (output === "text" && io.tty) return terminalView(io.out);
  return (event) => {
    if (event.type === "warning") io.err(`crochet: ${event.message}\n`);
  };
}

function report(result: Result, output: OutputForm, io: Io): void {
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

/** What flags, the project's settings and its hooks make of a run: stored, logged, and asking by default. */
export async function runOptions({ flags, io, script }: Call): Promise<RunOptions> {
  const cwd = flags.cwd === undefined ? io.cwd : directory(resolve(io.cwd, String(flags.cwd)));
  const config = await readConfig(cwd, io, flags.trust === true);
  const found = await findHooks(cwd, flags, config, io, !script);
  tellUnloaded(found.first, io);
  const runs = privateDir(runsDir(cwd, io.env));
  const store = projectStore(cwd, io.env, (warning) => io.err(`crochet: ${warning}\n`));
  const resume = flags.resume === "last" ? await lastId(store) : flags.resume as string | undefined;
  const model = flags.model ?? (io.env.CROCHET_MODEL || config.model);
  return {
    signal: io.signal,
    cwd,
    store,
    hooks: found.hooks,
    memory: config.memory ?? true,
    limits: limitsFrom(flags, config.limits, io),
    permissions: permissionsFrom(flags, config.permissions, found.first.permissions),
    rollout: flags.rollout === undefined
      ? (id) => join(runs, `${id}.rollout.jsonl`)
      : resolve(io.cwd, String(flags.rollout)),
    ...(model !== undefined && { model: String(model) }),
    ...(resume !== undefined && pastFrom(resume)),
  };
}

/** A session by its id; one of its checkpoints (`id@messages`) is gone on from under a new id. */
function pastFrom(resume: string): Pick<RunOptions, "resume" | "fork"> {
  const at = resume.lastIndexOf("@");
  return at < 0 ? { resume } : { resume: resume.slice(0, at), fork: resume };
}

function limitsFrom(flags: Flags["flags"], config: Partial<Limits> | undefined, io: Io): Partial<Limits> {
  const cap = io.env.CLAUDE_CODE_STOP_HOOK_BLOCK_CAP;
  return {
    ...config,
    ...(cap !== undefined && /^-?\d+$/.test(cap) && { stalls: Math.max(0, Number(cap)) }),
    ...(flags.maxIterations !== undefined && { iterations: numberOf("--max-iterations", flags.maxIterations) }),
    ...(flags.budget !== undefined && { dollars: numberOf("--budget", flags.budget) }),
  };
}

type Rules = NonNullable<RunOptions["permissions"]>;

function permissionsFrom(flags: Flags["flags"], ...given: readonly (Rules | undefined)[]): Rules {
  const all = (kind: "allow" | "ask" | "deny") => given.flatMap((rules) => rules?.[kind] ?? []);
  const mode = flags.permissionMode ?? given.find((rules) => rules?.mode !== undefined)?.mode ?? "default";
  return { mode: mode as PermissionMode, allow: all("allow"), ask: all("ask"), deny: all("deny") };
}

function numberOf(flag: string, value: string | boolean): number {
  const number = Number(value);
  if (Number.isFinite(number) && number >= 0) return number;
  throw new UsageError(`Cannot use ${flag} ${value} as it is not a number of 0 or more`);
}

function directory(path: string): string {
  if (existsSync(path)) return path;
  throw new UsageError(`Cannot work in '${path}' as there is no such directory`);
}
