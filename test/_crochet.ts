import { spawn } from "node:child_process";
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
  readonly cwd: string;
  /** On top of `bareEnv()`; undefined takes one away. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly stdin?: string;
}

/** Runs the command line as a user would, in a process of its own. */
export function crochet(args: readonly string[], given: Given): Promise<Exit> {
  return ended([...CROCHET, ...args], given);
}

/** Runs a program to its end. */
export function ended([program, ...args]: readonly [string, ...string[]], { cwd, env, stdin }: Given): Promise<Exit> {
  return new Promise((resolve, reject) => {
    const set = Object.entries({ ...bareEnv(), ...env }).filter(([, value]) => value !== undefined);
    const child = spawn(program, args, { cwd, env: Object.fromEntries(set) });
    let out = "";
    let err = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => out += text);
    child.stderr.setEncoding("utf8").on("data", (text: string) => err += text);
    child.on("error", reject);
    child.on("close", (code) => resolve({ code, out, err }));
    child.stdin.on("error", () => {});
    child.stdin.end(stdin ?? "");
  });
}

/** The environment of somebody who has set nothing of ours, has no key, and does not work in CI. */
export function bareEnv(): NodeJS.ProcessEnv {
  const ours = /^(?:CI|ANTHROPIC_|OPENAI_|CROCHET_(?!TEST))/;
  return { ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !ours.test(name))), NO_COLOR: "1" };
}
