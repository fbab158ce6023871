import { existsSync, mkdtempSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { thrownWords } from "../core/shown.ts";
import { ownArgv, type OwnScript } from "../hooks/own-command.ts";
import { type ProcessResult, runProcess } from "../process/process.ts";
import { flushSpans } from "../telemetry/export-spans.ts";
import { removeTree } from "../files/tree.ts";

interface Waiting {
  readonly give: (task: string) => void;
  /** The file that it leaves what came of the task in. */
  readonly came: string;
  readonly ran: Promise<ProcessResult>;
}

/**
 * Processes of a script of ours, each of which does one task and ends: what it loads has no state of a task before. The
 * next one is started ahead. `using processes = …` ends the one that is left.
 */
export class FreshProcesses<Task extends object> {
  readonly #script: OwnScript;
  readonly #work: (task: Task) => Promise<unknown>;
  readonly #given: { readonly signal: AbortSignal; readonly runsHere?: boolean };
  readonly #folder = mkdtempSync(join(tmpdir(), "crochet-fresh-"));
  /** By where they run. */
  readonly #waiting = new Map<string, Waiting>();
  #started = 0;

  /** `work` is what the script does with its task: where runs are made here, it is called in this process. */
  constructor(
    script: OwnScript,
    work: (task: Task) => Promise<unknown>,
    given: { readonly signal: AbortSignal; readonly runsHere?: boolean },
  ) {
    this.#script = script;
    this.#work = work;
    this.#given = given;
  }

  /** Has a fresh process do a task; undefined if it was interrupted. @throws {Error} if it ends without saying what came of it */
  async run<T>(task: Task, cwd: string): Promise<T | undefined> {
    const { signal, runsHere } = this.#given;
    if (runsHere) {
      const ended = JSON.stringify(await this.#work(JSON.parse(JSON.stringify(task))));
      return signal.aborted ? undefined : JSON.parse(ended);
    }
    const { give, came, ran } = this.#waiting.get(cwd) ?? this.#start(cwd);
    this.#waiting.set(cwd, this.#start(cwd));
    give(JSON.stringify(task));
    const { stderr } = await ran;
    if (signal.aborted) return undefined;
    if (!existsSync(came)) throw new Error(stderr.trim().split("\n").at(-1) || "its process ended");
    return JSON.parse(readFileSync(came, "utf8"));
  }

  #start(cwd: string): Waiting {
    const came = join(this.#folder, `${++this.#started}.json`);
    const [command, ...args] = ownArgv(this.#script, came);
    const { promise: input, resolve: give } = Promise.withResolvers<string>();
    const ran = runProcess({ command, args, cwd, env: process.env, input, signal: this.#given.signal });
    ran.catch(() => {}); // reported once it has a task
    return { give, came, ran };
  }

  [Symbol.dispose](): void {
    for (const { give } of this.#waiting.values()) give("");
    removeTree(this.#folder);
  }
}

/** What such a process does: it takes its task, and ends with it, whatever is left running. */
export async function doTask<T>(work: (task: T) => Promise<unknown>): Promise<never> {
  const parent = process.ppid;
  setInterval(() => process.ppid === parent || process.exit(1), 50).unref(); // who is killed leaves nothing
  process.on("SIGTERM", () => process.exit(143)); // so that what its tools have started ends too
  try {
    let task = "";
    for await (const chunk of process.stdin.setEncoding("utf8")) task += chunk;
    const came = process.argv[2]!;
    if (task !== "") {
      writeFileSync(`${came}.new`, JSON.stringify(await work(JSON.parse(task))));
      renameSync(`${came}.new`, came);
    }
  } catch (error) {
    console.error(thrownWords(error));
    process.exit(1);
  }
  await flushSpans();
  process.exit(0);
}
