import type { HookText } from "../core/verdict.ts";
import type { LateWords } from "../core/run.ts";

/** Decides which reports are taken at a moment: a recorder notes them, a replay waits for those that were noted. */
export interface Postman {
  /** Whose reports are taken the `n`-th time; undefined: whatever is there. */
  wanted(n: number): readonly string[] | undefined;
  took(n: number, from: readonly string[]): void;
  /** Called before agents are ended that are no longer waited for. */
  ending?(): void | Promise<void>;
}

interface Report<Words> {
  readonly from: string;
  readonly who: string;
  readonly words: Words;
}

/** What agents, or hooks, that work in the background have to say, until the agent that started them takes it. */
export class Inbox<Words = string> {
  readonly #postman: Postman | undefined;
  readonly #tasks = new Set<Promise<void>>();
  readonly #unheard = new Set<string>();
  #reports: Report<Words>[] = [];
  #taken: number;
  #awaited = 0;

  /** `taken`: how often a session that goes on has looked before. */
  constructor(postman?: Postman, taken = 0) {
    this.#postman = postman;
    this.#taken = taken;
  }

  /** How often reports were looked for. */
  get taken(): number {
    return this.#taken;
  }

  /** Waits for a report in the background; `from` is the tool call that started its agent, `who` that agent. */
  await(from: string, report: Promise<Words | undefined>, who = from): void {
    const task = report.then((words) => {
      if (words === undefined) this.#unheard.delete(who);
      else this.#reports.push({ from, who, words });
      this.#tasks.delete(task);
    });
    this.#tasks.add(task);
    this.#unheard.add(who);
  }

  /** Whether a report of this agent is still to come or to be taken: a replay knows when it is taken, not when it arrives. */
  awaits(who: string): boolean {
    return this.#unheard.has(who);
  }

  /** As `await`, for one that has no name among all others but its place. */
  awaitNext(who: string, report: Promise<Words | undefined>): void {
    this.await(`${who}#${++this.#awaited}`, report);
  }

  /** Lets agents that still work reach a point where they may be ended. */
  async ending(): Promise<void> {
    if (this.#tasks.size > 0) await this.#postman?.ending?.();
  }

  /** Whether there is no report, and no agent that could still send one. */
  get isEmpty(): boolean {
    return this.#tasks.size === 0 && this.#reports.length === 0;
  }

  /** The agents whose reports have arrived; with `wait`, at least one if an agent still works. */
  async senders(wait: boolean): Promise<readonly string[]> {
    if (wait && this.#reports.length === 0) await Promise.race(this.#tasks);
    return this.#reports.map(({ from }) => from);
  }

  /** The reports of these senders, in this order, once they are there. */
  takeFrom(senders: readonly string[]): Promise<readonly Words[]> {
    return this.#those(this.#taken++, senders);
  }

  /** The reports that have arrived; with `wait`, at least one if an agent still works. */
  take(wait: boolean): readonly Words[] | Promise<readonly Words[]> {
    const n = this.#taken++;
    const wanted = this.#postman?.wanted(n);
    if (wanted !== undefined) return wanted.length === 0 ? NONE : this.#those(n, wanted);
    const mustWait = wait && this.#reports.length === 0 && this.#tasks.size > 0;
    return mustWait ? Promise.race(this.#tasks).then(() => this.#all(n)) : this.#all(n);
  }

  #all(n: number): readonly Words[] {
    if (this.#reports.length === 0) return NONE;
    return this.#hear(n, this.#reports.splice(0));
  }

  async #those(n: number, wanted: readonly string[]): Promise<readonly Words[]> {
    const missing = () => wanted.some((from) => !this.#reports.some((report) => report.from === from));
    // One that was never started will not come.
    while (missing() && this.#tasks.size > 0) await Promise.race(this.#tasks);
    const taken = wanted.flatMap((from) => this.#reports.filter((report) => report.from === from));
    this.#reports = this.#reports.filter((report) => !taken.includes(report));
    return this.#hear(n, taken);
  }

  #hear(n: number, reports: readonly Report<Words>[]): readonly Words[] {
    this.#postman?.took(n, reports.map(({ from }) => from));
    for (const { who } of reports) this.#unheard.delete(who);
    return reports.map(({ words }) => words);
  }
}

const NONE: readonly never[] = [];

/** Words of hooks in the background that are taken as they arrive; a replay waits for those that were taken then. */
export function lateWords(inbox: Inbox<readonly HookText[]>): LateWords {
  return {
    add: (hook, said) => inbox.awaitNext(hook, said),
    take: (run) => {
      const taken = inbox.take(false);
      return taken instanceof Promise ? run.interruptible(taken).then((words) => words.flat()) : taken.flat();
    },
  };
}
