import { expectGiven, runGift } from "./kit/run-gifts.ts";
import { relative } from "node:path";
import type { Agent, RunOptions } from "../agent/options.ts";
import type { Stop } from "../core/events.ts";
import { isToolUse } from "../core/messages.ts";
import type { Result, RunEvent } from "../core/run-events.ts";
import { callSubject } from "./show/call-subject.ts";
import { command, helpText, type Usage } from "./kit/flags.ts";
import { EXIT, type Io, UsageError } from "./kit/io.ts";
import { endAtSecondInterrupt, guarded, processIo } from "./kit/process.ts";
import { ASKING, promptOf, RUN_FLAGS, type RunCommand, runOptions } from "./kit/run-options.ts";
import { consoleAside } from "./kit/runtime.ts";
import { cut, oneLine, plainText } from "./show/text.ts";

const PIPED =
  "Piped input is added to the prompt; use - as the prompt for piped input alone. @shot.png and @paper.pdf attach these files.";

const LOGGED =
  "Every run is logged in .crochet/runs: 'crochet replay last' runs it again offline, 'crochet fixtures add last' keeps it.";

/** How `crochet run` is called; a script with `agent.main()` takes the same flags. */
export const USAGE: Usage = {
  name: "run",
  words: "[agent.ts] <prompt…>",
  about: `Runs an agent: the script's default export, or the built-in coding agent. ${PIPED} ${ASKING} ${LOGGED}`,
  flags: [
    ...RUN_FLAGS,
    ["--on <url>", "run on a durable engine at this ingress, and follow; with --resume and no prompt, follow again"],
    [
      "--durable",
      "have each step on the disk before the next: --resume runs a call that was cut off again, and questions wait for an answer",
    ],
    ["--output <form>", "text, json or stream-json"],
    ["--verbose", "show on stderr what hooks do, even if the output goes to a file or program"],
  ],
  excludes: [["on", ["settings", "hooks", "trust", "durable"], "a worker runs the agent"]],
  example: `crochet run "say hello"`,
  passes: true,
};

/** What `agent.main()` does: the same as `crochet run` with the script already loaded. Takes the agent, so that `agent.ts` and the CLI do not import each other. */
export async function runAsScript(agent: Agent, args: readonly string[]): Promise<void> {
  const io = processIo();
  const usage = scriptUsage(agent);
  const run = command(usage, async ({ words, flags }) => {
    const call = { flags, io, script: true };
    const prompt = await promptFor(words, call);
    if (prompt !== undefined) return await runPrompt(agent, prompt, call);
    io.err(helpText(usage));
    return EXIT.usage;
  });
  process.exitCode = await guarded(args, io, () => run(args, io));
}

function scriptUsage(agent: Agent): Usage {
  const script = relative(process.cwd(), process.argv[1] ?? "agent.ts");
  const program = "Bun" in globalThis ? "bun run" : "Deno" in globalThis ? "deno run -A" : "node";
  // What a binary was compiled of only pretends to be a file.
  const typed = script.includes("$bunfs/") ? relative(process.cwd(), process.execPath) : `${program} ${script}`;
  return {
    ...USAGE,
    typed,
    words: "<prompt…>",
    about: `Runs the agent '${agent.name}'. ${PIPED} ${ASKING} ${LOGGED}`,
    example: `${typed} "say hello"`,
  };
}

export async function promptFor(words: readonly string[], { flags, io }: RunCommand): Promise<string | undefined> {
  const goesOn = (flags.durable === true || flags.on !== undefined) && flags.resume !== undefined;
  if (goesOn && words.length === 0) return "";
  const prompt = await promptOf(words, io);
  return prompt.trim() === "" && (flags.resume ?? flags.from) === undefined ? undefined : prompt;
}

export async function runPrompt(agent: Agent, prompt: string, call: RunCommand): Promise<number> {
  const { flags, io } = call;
  const output = outputForm(flags.output);
  const seen = output === "text" && io.tty;
  const restore = seen ? undefined : consoleAside();
  const unwatch = endAtSecondInterrupt();
  try {
    const { start, cwd = io.cwd } = flags.on === undefined
      ? await startHere(agent, prompt, call)
      : { start: expectGiven(await runGift("elsewhere"), "--on")(agent.name, prompt, flags, io) };
    const terminal = seen || flags.verbose ? await runGift("terminal") : undefined;
    const result = seen && terminal
      ? await terminal.watch(start, { io, cwd })
      : await unseen(start, output, io, flags.verbose === true ? terminal?.hooks(io) : undefined);
    return exitCode(result.stop);
  } finally {
    restore?.();
    unwatch();
  }
}

type OutputForm = "text" | "json" | "stream-json";

function outputForm(given: string | boolean | undefined): OutputForm {
  const form = given ?? "text";
  if (form === "text" || form === "json" || form === "stream-json") return form;
  throw new UsageError(`Cannot print '${form}' as there is no such output form: expected text, json or stream-json`);
}

async function startHere(agent: Agent, prompt: string, call: RunCommand) {
  const { options, watched } = await runOptions(call, agent);
  const asked = prompt.includes("@")
    ? await (await import("./kit/attach.ts")).withAttached(prompt, call.io.cwd)
    : prompt;
  const start = call.flags.durable
    ? (await import("./kit/durable-run.ts")).durably(watched, asked, { ...options, io: call.io })
    : (more: RunOptions) => watched.run(asked, { ...options, ...more });
  return { start, cwd: options.cwd };
}

/** A run whose output another program reads: plain, and only what was asked for. */
async function unseen(
  start: (options: RunOptions) => Promise<Result>,
  output: OutputForm,
  io: Io,
  hooks: ((event: RunEvent) => void) | undefined,
): Promise<Result> {
  const streams = output === "stream-json";
  const refused = new RefusedCalls(io.cwd);
  const warn = (words: string) => io.err(`crochet: ${words}\n`);
  const failures: string[] = [];
  const ended = await start({
    on: (event) => {
      hooks?.(event);
      if (hooks && event.type === "hook_end" && event.failure !== undefined) failures.push(event.failure);
      if (streams) io.out(`${inJson(event)}\n`);
      else if (event.type === "warning" && !failures.some((words) => event.message.includes(words))) {
        warn(plainText(event.message));
      }
      const line = refused.see(event);
      if (line !== undefined) warn(line);
    },
  });
  const result = refused.in(ended);
  if (streams) {
    io.out(`${inJson({ type: "result", ...result })}\n`);
    return result;
  }
  if (output === "json") io.out(`${inJson(result)}\n`);
  else if (result.text !== "") io.out(`${result.text}\n`);
  if (result.error) warn(plainText(result.error.message));
  return result;
}

/** An unknown cost is null, as a missing field could be read as 0. */
function inJson(value: object): string {
  return JSON.stringify("cost" in value && value.cost === undefined ? { ...value, cost: null } : value);
}

/** Quiet ends and refusals are not failures; reaching a limit is. */
export function exitCode(stop: Stop): number {
  if (stop === "aborted") return EXIT.interrupted;
  return ["done", "halted", "denied", "waiting"].includes(stop) ? EXIT.ok : EXIT.failed;
}

/** The refused calls of a run and its sub-agents: without a terminal nothing else shows them. */
export class RefusedCalls {
  readonly #cwd: string;
  readonly #inputs = new Map<string, unknown>();
  readonly #denials: Result["denials"][number][] = [];

  constructor(cwd: string) {
    this.#cwd = cwd;
  }

  /** The line for a call that was refused: tool, rule or hook, and what would allow it. */
  see(event: RunEvent): string | undefined {
    if (event.type === "message") {
      for (const block of event.message.content) if (isToolUse(block)) this.#inputs.set(block.id, block.input);
    }
    if (event.type !== "tool_end" || !event.refused) return undefined;
    const { id, name, refused: { by, reason, note } } = event;
    this.#denials.push({ tool_name: name, tool_use_id: id, reason, by });
    const call = `${name} ${callSubject(name, this.#inputs.get(id), this.#cwd)}`.trim();
    return `refused ${cut(oneLine(call), MOST_COLUMNS)}: ${oneLine(note ?? reason)}`;
  }

  /** The result with the denials of sub-agents beside its own. */
  in(result: Result): Result {
    const own = new Set(result.denials.map(({ tool_use_id }) => tool_use_id));
    return { ...result, denials: [...result.denials, ...this.#denials.filter((one) => !own.has(one.tool_use_id))] };
  }
}

const MOST_COLUMNS = 100;
