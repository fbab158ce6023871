import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { RUNTIME } from "../_runtime.ts";

/** The path of a script that lies beside these tests. */
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
    await kill(child);
  }
}

/** Waits until all have ended well; where one does not, none of the others is left. */
export async function allEnd(children: readonly ChildProcess[]): Promise<void> {
  try {
    for (const child of children) if (!hasEnded(child)) await once(child, "exit");
    assert.deepEqual(children.map(({ exitCode }) => exitCode), children.map(() => 0));
  } finally {
    await Promise.all(children.map(kill));
  }
}

async function kill(child: ChildProcess): Promise<void> {
  child.kill("SIGKILL");
  if (!hasEnded(child)) await once(child, "exit");
}

function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null;
}
