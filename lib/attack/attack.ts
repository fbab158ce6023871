import { join } from "node:path";
import { readStateFile, userState } from "../files/state.ts";
import { ownArgv } from "../hooks/own-command.ts";
import { ToolError } from "../core/tool.ts";
import { type ProcessResult, runProcess, type Wrap } from "../process/process.ts";
import type { Attackable } from "./adversary.ts";
import { readProperty } from "./properties.ts";
import { type Attacked, attackHere, type AttackTask } from "./attack-worker.ts";
import { neededFiles, ScratchWorld } from "./world.ts";

/** What is attacked: a script, or the built-in agent, in a project. */
export interface Attack {
  readonly script: string | undefined;
  readonly project: string;
  /** The agent itself, for where there is no sandbox: loaded from the copy of its script. */
  readonly load: (script: string | undefined) => Promise<Attackable>;
  /** Files that stand in for those the project lacks. */
  readonly files?: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
  readonly tried?: (tries: number, forms: number) => void;
}

/** What its process gets: where it is, what it attacks and how. */
export interface ProcessTask {
  readonly script: string | undefined;
  readonly project: string;
  /** Where the user keeps what is trusted, in an environment that has another home. */
  readonly env: { readonly HOME?: string | undefined; readonly CROCHET_HOME?: string | undefined };
  readonly attack: AttackTask;
}

/** In seconds: the limit of a search that ends by its number of runs. */
export const LONG = 86_400;

export type AttackWork = Omit<AttackTask, "places" | "packages" | "sandboxed">;

/** Of a finding, nothing is run without its sandbox. */
const NOT_MEASURED = (never: string): Attacked => ({
  ...{ never, findings: [], tries: 0, forms: 0, left: 0, longest: 0, notTried: [] },
  unmeasured: "bubblewrap is not installed, or cannot start here",
});

/** Each line of progress begins so: a script may print, too. */
export const PROGRESS = "\u001etried ";

/**
 * Attacks one property of an agent in a scratch copy of its project: in a sandbox, or where there is none, in this process
 * with the file tools alone. `kept` gets the folder of what the process left behind, while it is there.
 */
export async function attackProperty(
  attack: Attack,
  work: AttackWork,
  kept?: (folder: string, attacked: Attacked) => void,
): Promise<Attacked> {
  const { script, project, env, signal, tried = () => {} } = attack;
  const { effect, about } = readProperty(work.never, project);
  using scratch = new ScratchWorld(project, { kept: attack.files, script });
  const needed = neededFiles(script, userState(env));
  const wrap = await scratch.sandbox(effect === "runs" ? about : undefined, needed).catch((error) => {
    if (error instanceof ToolError) return undefined;
    throw error;
  });
  const { packages } = scratch;
  if (!wrap && work.again && work.tape === undefined) return NOT_MEASURED(work.never);
  if (!wrap) {
    scratch.linkPackages();
    const copy = script?.startsWith(`${project}/`)
      ? join(scratch.places.workspace, script.slice(project.length))
      : script;
    const task = { ...work, places: scratch.places, packages, sandboxed: false };
    const attacked = await attackHere(await attack.load(copy), task, { signal, tried });
    kept?.(scratch.places.own, attacked);
    return attacked;
  }
  const { HOME, CROCHET_HOME } = env;
  const task: ProcessTask = {
    ...{ script, project, env: { HOME, ...(CROCHET_HOME !== undefined && { CROCHET_HOME }) } },
    attack: { ...work, places: scratch.mounted, packages, sandboxed: true },
  };
  const ran = await started(wrap, task, scratch, { env, signal, tried });
  const came = join(scratch.places.own, "came.json");
  const text = readStateFile(came);
  if (text === undefined) throw new Error(failureOf(ran));
  const attacked: Attacked = JSON.parse(text);
  kept?.(scratch.places.own, attacked);
  return attacked;
}

async function started(
  wrap: Wrap,
  task: ProcessTask,
  scratch: ScratchWorld,
  { env, signal, tried }: Required<Pick<Attack, "env" | "signal" | "tried">>,
): Promise<ProcessResult> {
  const argv = ownArgv("cli/_attack-process", join(scratch.mounted.own, "came.json"));
  const [command, ...args] = wrap(argv, "/");

  let rest = "";
  return await runProcess({
    ...{ command: command!, args, cwd: "/", env: scratch.env(env), input: JSON.stringify(task), signal },
    onOutput: (stream, text) => {
      if (stream !== "stdout") return;
      const lines = (rest + text).split("\n");
      rest = lines.pop()!;
      for (const line of lines.filter((line) => line.startsWith(PROGRESS))) {
        const [tries, forms] = line.slice(PROGRESS.length).split(" ").map(Number);
        tried(tries!, forms!);
      }
    },
  });
}

function failureOf({ stderr, ended, signal }: ProcessResult): string {
  if (ended !== undefined) return "Cannot report the attack as it was interrupted: run it again";
  return stderr.trim().split("\n").at(-1) || `Cannot report the attack as its process was ended by ${signal}`;
}
