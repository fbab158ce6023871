import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Group, startGroup } from "../../../hooks/process/group.ts";
import type { Answering, Order, Setup } from "./_child-protocol.ts";
import { eachLine } from "./_lines.ts";
import type { Place, Target } from "./probe.ts";
import { randomHex } from "./_random-hex.ts";
import type { Confine } from "./sandbox.ts";
import { hookEnv } from "./scratch.ts";

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

const START_MS = 20_000;

type Waiting = (answer: Answering | "late" | "gone") => void;

/** The process of a lane, seen from here: what it is sent, and what comes back. */
export class Child {
  readonly #group: Group;
  readonly #setup: Setup;
  readonly #waiting = new Map<number, Waiting>();
  /** Answers nobody has asked for yet. */
  readonly #early = new Map<number, Answering>();
  #next = 1;
  #stderr = "";
  begun = false;
  over = false;
  ended = "it ended its own process";

  constructor({ target, place, host, env, more, confine, visible }: LaneOptions) {
    const token = randomHex(9);
    const mark = `CROCHET_CHECK=${token}`;
    const own = hookEnv(place, env, { ...more, CROCHET_CHECK: token });
    this.#setup = { token, target, place, host, env: own, alone: confine !== undefined, mark };
    const argv = [...runtime(), fileURLToPath(new URL("./_child.ts", import.meta.url)), target.type];
    const [command, ...args] = confine ? confine(argv, place, visible) : argv;
    this.#group = startGroup({
      command: command!,
      args,
      cwd: place.project,
      env: { ...env, CROCHET_CHECK: undefined, DENO_DIR: process.env.DENO_DIR ?? join(homedir(), ".cache", "deno") },
    });
    const { child } = this.#group;
    const gone = (how: string) => {
      if (this.over) return;
      this.ended = how;
      this.#leave();
    };
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
  }

  /** Has it load the hook. */
  begin(): ReturnType<Child["wait"]> {
    this.begun = true;
    this.#group.child.stdin.write(`${JSON.stringify(this.#setup)}\n`);
    return this.wait(0, START_MS);
  }

  /** The numbers under which they are answered. */
  send(orders: readonly Omit<Order, "id">[]): number[] {
    const numbered: Order[] = orders.map((order) => ({ id: this.#next++, ...order }));
    if (!this.over) this.#group.child.stdin.write(numbered.map((order) => `${JSON.stringify(order)}\n`).join(""));
    return numbered.map(({ id }) => id);
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
    this.#leave();
    this.#group.child.stdin.destroy();
    // The sandbox is two processes, and while it starts, the inner one does not end with the other.
    this.#group.kill();
  }

  /** Whoever waits for an answer gets none. */
  #leave(): void {
    this.over = true;
    for (const settle of [...this.#waiting.values()]) settle("gone");
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
