import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Answering, Order, Setup } from "./_child-protocol.ts";
import { eachLine } from "./_lines.ts";
import type { Confine } from "./sandbox.ts";
import type { Place, Probed, Question, Target } from "./probe.ts";
import { hookEnv } from "./scratch.ts";
import type { Loaded } from "../subject.ts";
import { Tree } from "./_tree.ts";

export interface LaneOptions {
  readonly target: Target;
  readonly place: Place;
  readonly host: Setup["host"];
  /** The environment of the person who checks. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** What the hook finds in its environment beside that. */
  readonly more: { readonly [name: string]: string };
  readonly confine: Confine | undefined;
  /** Folders the hook must be able to read, wherever they lie. */
  readonly visible: readonly string[];
}

/** How long after its limit a hook that blocks its whole process is given. */
const PATIENCE_MS = 400;
/** A command is ended by the child itself, which takes as long as a process that ignores being asked to end. */
const COMMAND_PATIENCE_MS = 6000;
const START_MS = 20_000;

/** Thrown where a check is interrupted while it asks. */
export class Interrupted extends Error {
  override name = "Interrupted";
}

/** One hook in a process of its own, asked one question after the other. A process that does not answer is replaced. */
export class Lane {
  readonly options: LaneOptions;
  readonly place: Place;
  readonly #tree: Tree;
  #child: Child | undefined;
  #loaded: Loaded | undefined;
  #adopted = false;
  #shut = false;

  constructor(options: LaneOptions) {
    this.options = options;
    this.place = options.place;
    this.#tree = new Tree(options.place.root);
  }

  /** @throws {Error} where the hook cannot be loaded, in the words of its front end */
  async open(): Promise<Loaded | undefined> {
    await this.#started();
    return this.#loaded;
  }

  async ask(question: Question): Promise<Probed> {
    const child = await this.#started();
    return (await this.#answer(child, child.send(question), question))!;
  }

  /**
   * Asks several in a row without a pause between them, each in the same workspace. Gives the answers to those that
   * could be asked, which is at least the first: the rest comes after what was written has been put back.
   */
  async askRow(questions: readonly Question[]): Promise<Probed[]> {
    const child = await this.#started();
    const ids = questions.map((question, i) => child.send(question, i === 0 ? "first" : "next"));
    const answers: Probed[] = [];
    for (const [i, question] of questions.entries()) {
      const probed = child.over && i > 0 ? undefined : await this.#answer(child, ids[i]!, question);
      if (!probed) break;
      answers.push(probed);
      if (this.#child !== child) break;
    }
    return answers;
  }

  /** What became of a question; undefined where it was not asked. */
  async #answer(child: Child, id: number, question: Question): Promise<Probed | undefined> {
    const command = this.options.target.type === "command";
    const start = performance.now();
    const answer = await child.wait(id, question.limit + (command ? COMMAND_PATIENCE_MS : PATIENCE_MS));
    const ms = performance.now() - start;
    if (answer !== "late" && answer !== "gone" && answer.held) return undefined;
    const probed: Probed | undefined = answer === "late"
      ? { ms, timedOut: true }
      : answer === "gone"
      ? { ms, failure: { at: "exit", message: child.ended } }
      : answer.probed;
    if (!probed) throw new Error(`Cannot go on with the check as its process failed: ${(answer as Answering).broken}`);
    // A module that took too long may still be at it.
    if (answer === "late" || answer === "gone" || (probed.timedOut && !command)) this.close();
    if (typeof answer === "object" && answer.dirty === false) return probed;
    const changed = this.#tree.changes();
    if (!question.keep && changed.length > 0) this.#tree.restore(changed);
    return changed.length > 0 ? { ...probed, changed } : probed;
  }

  /** Takes the workspace as it is now for the one to go back to. */
  adopt(): void {
    this.#adopted = true;
    this.#tree.adopt();
  }

  restore(): void {
    this.#tree.restore(this.#tree.changes());
  }

  /** Begins anew: nothing a module remembers is left. */
  restart(): void {
    this.close();
    this.restore();
  }

  close(): void {
    this.#child?.end();
    this.#child = undefined;
  }

  /** Closes it for good: whoever still asks gets an error. */
  shut(): void {
    this.#shut = true;
    this.close();
  }

  async #started(): Promise<Child> {
    if (this.#shut) throw new Interrupted("Cannot ask the hook as the check was interrupted");
    if (this.#child && !this.#child.over) return this.#child;
    const child = this.#child = new Child(this.options);
    const answer = await child.ready;
    if (answer === "late" || answer === "gone") {
      throw new Error(answer === "late" ? "it did not load in time" : `it ended while it was loaded: ${child.ended}`);
    }
    if (answer.broken !== undefined) throw new Error(answer.broken);
    this.#loaded = answer.loaded;
    // Only now: the sandbox leaves folders behind where it mounts something.
    if (!this.#adopted) this.adopt();
    return child;
  }
}

type Waiting = (answer: Answering | "late" | "gone") => void;

class Child {
  readonly #process: ChildProcessWithoutNullStreams;
  readonly #waiting = new Map<number, Waiting>();
  /** Answers nobody has asked for yet. */
  readonly #early = new Map<number, Answering>();
  readonly ready: Promise<Answering | "late" | "gone">;
  #next = 1;
  #stderr = "";
  over = false;
  ended = "it ended its own process";

  constructor({ target, place, host, env, more, confine, visible }: LaneOptions) {
    const token = randomBytes(9).toString("hex");
    const mark = `CROCHET_CHECK=${token}`;
    const own = hookEnv(place, env, { ...more, CROCHET_CHECK: token });
    const setup: Setup = { token, target, place, host, env: own, alone: confine !== undefined, mark };
    const argv = [...runtime(), fileURLToPath(new URL("./_child.ts", import.meta.url)), JSON.stringify(setup)];
    const [command, ...args] = confine ? confine(argv, place, visible) : argv;
    const child = this.#process = spawn(command!, args, {
      cwd: place.project,
      env: { ...env, CROCHET_CHECK: undefined, DENO_DIR: process.env.DENO_DIR ?? join(homedir(), ".cache", "deno") },
      stdio: ["pipe", "pipe", "pipe"],
    });
    const gone = (how: string) => {
      if (this.over) return;
      this.over = true;
      this.ended = how;
      for (const settle of this.#waiting.values()) settle("gone");
      this.#waiting.clear();
    };
    child.stdin.on("error", () => {});
    child.stderr.on("data", (data) => this.#stderr = `${this.#stderr}${data}`.slice(-4000));
    child.once("error", (error) => gone(error.message));
    child.once("close", (code, signal) => {
      const said = this.#stderr.trim().split("\n").at(-1) ?? "";
      gone(`it ended its own process ${signal === null ? `with code ${code}` : `by ${signal}`}${said && `: ${said}`}`);
    });
    eachLine(child.stdout, (line) => {
      if (!line.startsWith(token)) return;
      const answer = JSON.parse(line.slice(token.length)) as Answering;
      const waiting = this.#waiting.get(answer.id);
      if (waiting) waiting(answer);
      else this.#early.set(answer.id, answer);
    });
    this.ready = this.wait(0, START_MS);
  }

  /** The number under which it is answered. */
  send(question: Question, row?: Order["row"]): number {
    const id = this.#next++;
    const order: Order = { id, question, ...(row && { row }) };
    if (!this.over) this.#process.stdin.write(`${JSON.stringify(order)}\n`);
    return id;
  }

  wait(id: number, patience: number): Promise<Answering | "late" | "gone"> {
    const early = this.#early.get(id);
    this.#early.delete(id);
    if (early) return Promise.resolve(early);
    return new Promise((resolve) => {
      if (this.over) return resolve("gone");
      const timer = setTimeout(() => settle("late"), patience);
      const settle: Waiting = (answer) => {
        clearTimeout(timer);
        this.#waiting.delete(id);
        resolve(answer);
      };
      this.#waiting.set(id, settle);
    });
  }

  end(): void {
    this.over = true;
    this.#process.stdin.destroy();
    this.#process.kill("SIGKILL");
  }
}

/** The runtime this process runs on, and how it is told to run a file. */
function runtime(): string[] {
  if (!("Deno" in globalThis)) return [process.execPath];
  const config = fileURLToPath(new URL("../../../../deno.json", import.meta.url));
  // The package has none: there Deno goes by the settings of the project.
  const by = existsSync(config) ? ["--config", config] : [];
  return [process.execPath, "run", "-A", "--quiet", "--no-lock", "--no-code-cache", ...by];
}
