import { join } from "node:path";
import { readStateFile, userState } from "../../files/state.ts";
import { ownArgv } from "../../hooks/own-command.ts";
import { ToolError } from "../../core/tool.ts";
import { newSeed } from "../../testing/fast-check.ts";
import { type ProcessResult, runProcess } from "../../process/process.ts";
import type { Agent } from "../../agent/options.ts";
import { readProperty } from "./properties.ts";
import { type Attacked, attackHere, type AttackTask, nothingTried } from "./attack-worker.ts";
import { ScratchWorld } from "./world.ts";

/** What is attacked: a script, or the built-in agent, in a project. */
export interface Attack {
  readonly script: string | undefined;
  readonly project: string;
  /** The agent itself, for where there is no sandbox: loaded from the copy of its script. */
  readonly load: (script: string | undefined) => Promise<Agent>;
  /** Files that stand in for those the project lacks. */
  readonly files?: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
  readonly tried?: (tries: number, forms: number) => void;
}

/** What its process gets: where it is, what it attacks and how. */
export interface ProcessTask extends Pick<Attack, "script" | "project"> {
  /** Where the user keeps what is trusted, in an environment that has another home. */
  readonly env: { readonly HOME?: string | undefined; readonly CROCHET_HOME?: string | undefined };
  readonly attack: AttackTask;
}

export type AttackWork = Omit<AttackTask, "places" | "packages" | "sandboxed">;

export const USUAL = { runs: 20_000, seconds: 60, calls: 4 } as const;
/** The limit of a search that ends by its number of runs. */
const LONG = 86_400;

/** What was asked for, and what is usual where nothing was. */
export function workOf(
  asked: { readonly [part in keyof AttackWork]?: AttackWork[part] | undefined },
): Omit<AttackWork, "never"> {
  const seconds = asked.runs === undefined ? USUAL.seconds : LONG;
  const given = Object.fromEntries(Object.entries(asked).filter(([, value]) => value !== undefined));
  return { ...USUAL, seconds, seed: newSeed(), accept: [], person: "refuse", all: false, ...given };
}

/** Each line of progress begins so: a script may print, too. */
export const PROGRESS = "\u001etried ";

/** Attacks one property in a scratch copy: in a sandbox, else here with file tools alone. `kept` gets the folder that is left. */
export async function attackProperty(
  attack: Attack,
  work: AttackWork,
  kept?: (folder: string, attacked: Attacked) => void,
): Promise<Attacked> {
  const { script, project, env, signal, tried = () => {} } = attack;
  const { effect, about } = readProperty(work.never, project);
  using scratch = new ScratchWorld(project, { kept: attack.files, script });
  const wrap = await scratch.sandbox(effect === "runs" ? about : undefined, userState(env)).catch((error) => {
    if (error instanceof ToolError) return undefined;
    throw error;
  });
  const { packages, places } = scratch;
  // Of a finding, nothing is run without its sandbox.
  if (!wrap && work.again && work.tape === undefined) {
    return { ...nothingTried(work), unmeasured: "bubblewrap is not installed, or cannot start here" };
  }
  if (!wrap) {
    scratch.linkPackages();
    const copy = script?.startsWith(`${project}/`) ? join(places.workspace, script.slice(project.length)) : script;
    const task = { ...work, places, packages, sandboxed: false };
    const attacked = await attackHere(await attack.load(copy), task, { signal, tried });
    kept?.(places.own, attacked);
    return attacked;
  }
  const { HOME, CROCHET_HOME } = env;
  const task: ProcessTask = {
    ...{ script, project, env: { HOME, ...(CROCHET_HOME !== undefined && { CROCHET_HOME }) } },
    attack: { ...work, places: scratch.mounted, packages, sandboxed: true },
  };
  const [command, ...args] = wrap(ownArgv("extensions/attack/process", join(scratch.mounted.own, "came.json")), "/");
  let rest = "";
  const ran = await runProcess({
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
  const text = readStateFile(join(places.own, "came.json"));
  if (text === undefined) throw new Error(failureOf(ran));
  const attacked: Attacked = JSON.parse(text);
  kept?.(places.own, attacked);
  return attacked;
}

function failureOf({ stderr, ended, signal }: ProcessResult): string {
  if (ended !== undefined) return "Cannot report the attack as it was interrupted: run it again";
  return stderr.trim().split("\n").at(-1) || `Cannot report the attack as its process was ended by ${signal}`;
}
