import { type Tool, type ToolContext, ToolError, type ToolOutput } from "../core/tool.ts";
import { tool } from "./make-tool.ts";
import {
  type BackgroundTask,
  CWD,
  ENV_FILE,
  HAD_SHELL,
  listTasks,
  SANDBOX,
  SHELL,
  shellCwd,
  workspaceOf,
} from "./tool-state.ts";
import type { Sandbox } from "../permissions/sandbox.ts";
import type { AgentShell, BackgroundRun } from "./shell/agent-shell.ts";
import { standaloneContext, type StandaloneOptions } from "./standalone.ts";

/** What a call of Bash says. */
export interface BashInput {
  readonly command: string;
  readonly description?: string;
  /** In milliseconds. @default 120000 */
  readonly timeout?: number;
  readonly run_in_background?: boolean;
}

/** What hooks read as `tool_response`. */
export interface BashResponse {
  readonly stdout: string;
  readonly stderr: string;
  readonly interrupted: boolean;
  readonly isImage: boolean;
  readonly noOutputExpected: boolean;
  /** Output that is too long is cut above; this file has all of it. */
  readonly persistedOutputPath?: string;
  readonly persistedOutputSize?: number;
  /** Of a run in the background: what BashOutput and KillShell ask for. */
  readonly backgroundTaskId?: string;
  /** What a reader would not expect, such as a new shell. */
  readonly notice?: string;
}

const DEFAULT_MS = 120_000;
const MAX_MS = 600_000;

const DESCRIPTION =
  "Runs a command in bash. The shell stays open: its working directory, variables and functions last from call to call, " +
  "and the file tools resolve relative paths against that directory. " +
  "Commands have no input and no terminal. A command that takes longer than `timeout` (default 120000 ms, at most 600000) " +
  "is ended with everything it started. Set `run_in_background` for servers and long work: there is no time limit, " +
  "BashOutput reads the output, and the command ends with the session at the latest. " +
  "Output over 30000 characters is cut in the middle; the whole output is saved to a file.";

/** What the model reads: in a sandbox also what commands cannot do there, as their own errors do not say why. */
function descriptionIn(sandbox: Sandbox | undefined): string {
  if (!sandbox) return DESCRIPTION;
  const network = sandbox.network ? "" : ", and there is no network";
  const git = sandbox.git ? ".git/hooks and .git/config" : ".git";
  return `${DESCRIPTION} Commands run in a sandbox: only the workspace can be written, but not its ${git}, hooks, agents and ` +
    `settings; /tmp is their own and empty at first${network}.`;
}

function sandboxOf(state: ReadonlyMap<string, unknown>): Sandbox | undefined {
  return state.get(SANDBOX) as Sandbox | undefined;
}

/** Runs commands in the agent's shell. */
export const Bash: Tool<BashInput> = tool<BashInput>({
  name: "Bash",
  description: DESCRIPTION,
  describe: async ({ state }) => descriptionIn(sandboxOf(state)),
  input: {
    type: "object",
    properties: {
      command: { type: "string", description: "The command to run" },
      description: { type: "string", description: "What it does, in five to ten words" },
      timeout: { type: "number", minimum: 1, maximum: MAX_MS, description: "Time limit in milliseconds" },
      run_in_background: { type: "boolean", description: "Return without waiting for it" },
    },
    required: ["command"],
    additionalProperties: false,
  },
  effect: "write",
  run: async (input, context) => {
    if (input.command.includes("\0")) {
      throw new ToolError("Cannot run the command as it holds a NUL character: leave it out");
    }
    const { agentShell } = await import("./shell/agent-shell.ts");
    const shell = shellOf(context, agentShell);
    return await (input.run_in_background
      ? start(shell, input, context)
      : run(shell, input, context, sandboxOf(context.state)));
  },
  render,
});

/**
 * The Bash tool as a function: no agent, no hooks. Throws a ToolError if the command fails. Calls that share a
 * `state` share a shell, which is then yours to end with `closeShell(state)`.
 *
 * @example
 * ```ts
 * import { bash } from "crochet/tools";
 *
 * const { stdout } = await bash({ command: "ls -a" }, { cwd: "." });
 * console.log(stdout);
 * ```
 */
export async function bash(input: BashInput, options: StandaloneOptions = {}): Promise<BashResponse> {
  const context = standaloneContext("Bash", input, options);
  if (input.run_in_background && options.state === undefined) {
    throw new ToolError("Cannot run in the background as nothing could read or end it: pass 'state'");
  }
  try {
    return (await Bash.run(await Bash.parse(input), context) as ToolOutput).response as BashResponse;
  } finally {
    if (options.state === undefined) await closeShell(context.state);
  }
}

/**
 * Ends an agent's shell with everything it started; call it when the session ends.
 *
 * @example
 * ```ts
 * import { backgroundTasks, bash, closeShell, shellCwd } from "crochet/tools";
 *
 * const state = new Map<string, unknown>();
 * await bash({ command: "cd /usr" }, { state });
 * await bash({ command: "sleep 60", run_in_background: true }, { state });
 * console.log(shellCwd(state), backgroundTasks(state).length); // /usr 1
 * await closeShell(state);
 * console.log(shellCwd(state), backgroundTasks(state).length); // undefined 0
 * ```
 */
export async function closeShell(state: Map<string, unknown>): Promise<void> {
  const entry = state.get(SHELL) as Entry | undefined;
  state.delete(SHELL);
  state.delete(CWD);
  listTasks(state, SHELL);
  await entry?.shell[Symbol.asyncDispose]();
}

type OpensShell = typeof import("./shell/agent-shell.ts")["agentShell"];

/** The shell of the agent, opened by its first command. */
interface Entry {
  readonly shell: AgentShell;
  readonly confined: string;
}

/** The background runs and the folder of the agent whose `state` this is. */
export function openedShell(state: ReadonlyMap<string, unknown>): AgentShell | undefined {
  return (state.get(SHELL) as Entry | undefined)?.shell;
}

/** The agent's shell: as there is no await in here, calls at once share one. */
function shellOf({ state, cwd }: ToolContext, agentShell: OpensShell): AgentShell {
  const sandbox = sandboxOf(state);
  const confined = JSON.stringify(sandbox) ?? "";
  const entry = state.get(SHELL) as Entry | undefined;
  if (entry?.confined === confined) return entry.shell;
  // A shell that was opened under other rules must not serve under these; one that is gone already is as good.
  entry?.shell[Symbol.asyncDispose]().catch(() => {});
  // The state knows the directory of an earlier process whose run continues here.
  const left = entry?.shell.cwd() ?? shellCwd(state);
  const shell = agentShell({
    cwd: left === undefined ? cwd : workspaceOf({ state, cwd }),
    place: left,
    again: state.get(HAD_SHELL) === true,
    sandbox,
    envFile: state.get(ENV_FILE) as string | undefined,
  });
  state.set(SHELL, { shell, confined } satisfies Entry);
  state.set(CWD, shell.cwd);
  listTasks(state, SHELL, () => [...shell.background.values()].map(taskOf));
  return shell;
}

function taskOf({ id, command, description, end }: BackgroundRun): BackgroundTask {
  const status = end() === undefined ? "running" : "ended";
  return { id, type: "shell", status, description: description ?? command, command };
}

const NOTHING = { stdout: "", stderr: "", interrupted: false, isImage: false, noOutputExpected: false };

async function run(
  shell: AgentShell,
  input: BashInput,
  context: ToolContext,
  confined: Sandbox | undefined,
): Promise<ToolOutput> {
  const { capture } = await import("./shell/shell-output.ts");
  // Wherever the shell goes, output is kept where Read may look.
  const output = capture({ cwd: workspaceOf(context), name: context.toolUseId, show: context.progress });
  const timeout = input.timeout ?? DEFAULT_MS;
  const end = await shell.run(input.command, { timeout, signal: context.signal, onOutput: output.hear });
  const { stdout, stderr, ...persisted } = output.end();
  const notice = [end.notice, gitNotice(stderr, confined)].filter(Boolean).join("\n");
  const response: BashResponse = {
    ...NOTHING,
    stdout: stdout.trimEnd(),
    stderr: stderr.trimEnd(),
    interrupted: end.how === "aborted",
    ...persisted,
    ...(notice !== "" && { notice }),
  };
  if (end.how === "done" && end.status === 0) return { content: render(response), response };
  const why = end.how === "timeout"
    ? `Command timed out after ${timeout} ms and was ended with everything it started: raise 'timeout', or set run_in_background`
    : end.how === "aborted"
    ? "Command was interrupted and ended with everything it started"
    : `Exit code ${end.status}`;
  throw new ToolError([why, response.stdout, response.stderr, response.notice].filter(Boolean).join("\n"), {
    code: end.how,
    response,
  });
}

/** Git itself only says that the file system is read-only. */
function gitNotice(stderr: string, sandbox: Sandbox | undefined): string | undefined {
  if (!sandbox || sandbox.git || !/\.git\b.*Read-only file system/.test(stderr)) return undefined;
  return ".git is read-only in the sandbox: only the user can change that, with sandbox: { git: true }";
}

async function start(shell: AgentShell, input: BashInput, context: ToolContext): Promise<ToolOutput> {
  const { id } = await shell.start(input.command, {
    output: { cwd: workspaceOf(context), name: context.toolUseId },
    description: input.description,
  });
  const response: BashResponse = { ...NOTHING, backgroundTaskId: id };
  return { content: render(response), response };
}

function render({ stdout, stderr, notice, backgroundTaskId }: BashResponse): string {
  if (backgroundTaskId !== undefined) {
    return `Command running in background with ID: ${backgroundTaskId}. Read its output with BashOutput, end it with KillShell.`;
  }
  return [notice, stdout, stderr].filter(Boolean).join("\n") || "(Bash completed with no output)";
}
