import { readdirSync, readFileSync } from "node:fs";

/** A process that outlived the hook that started it. */
interface Survivor {
  readonly pid: number;
  readonly command: string;
}

/**
 * Finds what a hook left running. In a sandbox with processes of its own it is whoever is there; elsewhere those that
 * carry the mark in their environment. Where /proc is not to be had nothing is found.
 */
export class Survivors {
  readonly #alone: boolean;
  readonly #mark: string;
  /** What is spared: this process, and what was there before any hook. */
  readonly #spared: ReadonlySet<number>;
  #asked = 0;

  constructor({ alone, mark }: { readonly alone: boolean; readonly mark: string }) {
    this.#alone = alone;
    this.#mark = mark;
    this.#spared = new Set(alone ? pids() : [process.pid, process.ppid]);
  }

  /** Looks, waits for those that are about to end, ends the rest and gives their command lines. */
  async take(patience: number): Promise<string[]> {
    // To look through all processes of a machine takes longer than most hooks.
    if (!this.#alone && ++this.#asked > 3 && this.#asked % 25 !== 0) return [];
    let found = this.#find();
    for (const until = Date.now() + patience; found.length > 0 && Date.now() < until; found = this.#find()) {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    for (const { pid } of found) kill(pid);
    return found.map(({ command }) => command);
  }

  #find(): Survivor[] {
    return pids().filter((pid) => !this.#spared.has(pid)).flatMap((pid) => {
      if (!this.#alone && !read(pid, "environ").includes(this.#mark)) return [];
      const state = /\) (\w)/.exec(read(pid, "stat"))?.[1];
      const command = read(pid, "cmdline").replaceAll("\0", " ").trim();
      // One that is just ending has no command line any more.
      return state === undefined || state === "Z" || command === "" ? [] : [{ pid, command }];
    });
  }
}

function pids(): number[] {
  try {
    return readdirSync("/proc").filter((name) => /^\d+$/.test(name)).map(Number);
  } catch {
    return [];
  }
}

function read(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "utf8");
  } catch {
    return "";
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended meanwhile.
  }
}
