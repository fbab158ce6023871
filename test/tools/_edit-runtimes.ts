import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** A command that runs a script: its program and the arguments before the script. */
export type Runtime = readonly [program: string, ...args: string[]];

const installed = (name: string) => fileURLToPath(new URL(`../../node_modules/.bin/${name}`, import.meta.url));

/** The runtime these tests run on. */
export const thisRuntime: Runtime = "Deno" in globalThis ? [process.execPath, "run", "-A"] : [process.execPath];

/** Both runtimes, or fewer where one is not installed. */
export const bothRuntimes: readonly Runtime[] = [[installed("bun")] as const, [installed("deno"), "run", "-A"] as const]
  .filter(([program]) => existsSync(program));

export const script = (name: string): string => fileURLToPath(new URL(`./${name}`, import.meta.url));
