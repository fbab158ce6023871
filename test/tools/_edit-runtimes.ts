import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { RUNTIME } from "../_runtime.ts";

/** A command that runs a script: its program and the arguments before the script. */
export type Runtime = readonly [program: string, ...args: string[]];

const installed = (name: string) => fileURLToPath(new URL(`../../node_modules/.bin/${name}`, import.meta.url));

/** Both runtimes, or fewer where one is not installed. */
export const bothRuntimes: readonly Runtime[] = [[installed("bun")] as const, [installed("deno"), "run", "-A"] as const]
  .filter(([program]) => existsSync(program));

export const script = (name: string): string => fileURLToPath(new URL(`./${name}`, import.meta.url));

/** Runs a script that says a word when it is ready and then goes on, and kills it after `work`, however that ends. */
export async function withScript<T>(
  name: string,
  args: readonly string[],
  work: (child: ChildProcess) => Promise<T>,
): Promise<T> {
  const [program, ...before] = RUNTIME;
  const child = spawn(program, [...before, script(name), ...args], { stdio: ["ignore", "pipe", "inherit"] });
  try {
    const gone = once(child, "exit").then(([code]) => Promise.reject(new Error(`${name} ended with ${code}`)));
    gone.catch(() => {});
    await Promise.race([once(child.stdout!, "data"), gone]);
    return await work(child);
  } finally {
    await end(child);
  }
}

export async function end(child: ChildProcess): Promise<void> {
  child.kill("SIGKILL");
  if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
}
