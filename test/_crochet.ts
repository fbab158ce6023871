import { type ChildProcess, spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { OUR_RUNTIME } from "./_runtime.ts";

/** The words that run the command line, on the runtime the test runs on. */
export const CROCHET: readonly [program: string, ...args: string[]] = [
  ...OUR_RUNTIME,
  fileURLToPath(new URL("../lib/cli/main.ts", import.meta.url)),
];

export interface Exit {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

export interface Given {
  readonly cwd?: string;
  /** On top of `bareEnv()`; undefined takes one away. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** null leaves it open and silent. @default "" */
  readonly stdin?: string | null;
}

/** A program that runs. */
export interface Started {
  readonly child: ChildProcess;
  /** What it has printed until now. */
  readonly said: { out: string; err: string };
  readonly done: Promise<Exit>;
  /** Kills it as a power cut would, unless another signal is named, and waits until it is gone. */
  kill(signal?: NodeJS.Signals): Promise<Exit>;
}

/** Runs the command line as a user would, in a process of its own. */
export function crochet(args: readonly string[], given: Given): Promise<Exit> {
  return ended([...CROCHET, ...args], given);
}

/** Runs a program to its end. */
export function ended(words: readonly [string, ...string[]], given: Given): Promise<Exit> {
  return start(words, given).done;
}

/** Starts a program. */
export function start(words: readonly string[], { cwd, env, stdin = "" }: Given = {}): Started {
  const [program, ...args] = words as readonly [string, ...string[]];
  const set = Object.entries({ ...bareEnv(), ...env }).filter(([, value]) => value !== undefined);
  const child = spawn(program, args, { ...(cwd !== undefined && { cwd }), env: Object.fromEntries(set) });
  const said = { out: "", err: "" };
  child.stdout.setEncoding("utf8").on("data", (text: string) => said.out += text);
  child.stderr.setEncoding("utf8").on("data", (text: string) => said.err += text);
  child.stdin.on("error", () => {});
  if (stdin !== null) child.stdin.end(stdin);
  child.on("exit", () => child.stdin.destroy());
  const done = new Promise<Exit>((resolve, reject) => {
    child.on("error", reject);
    // Deno ends by the signal itself, which a shell shows as 130 too.
    child.on("close", (code, signal) => resolve({ ...said, code: code ?? (signal === "SIGINT" ? 130 : null) }));
  });
  return { child, said, done, kill: (signal = "SIGKILL") => (child.kill(signal), done) };
}

/** The environment of somebody who has set nothing of ours, has no key, and does not work in CI. */
export function bareEnv(): NodeJS.ProcessEnv {
  const ours = /^(?:CI|ANTHROPIC_|OPENAI_|CROCHET_(?!TEST))/;
  return { ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !ours.test(name))), NO_COLOR: "1" };
}
