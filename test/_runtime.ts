/**
 * The command that runs a script on the runtime these tests run on. Not by its name: what npm installs as `deno` is a
 * script for Node, whose death Deno survives.
 */
export const RUNTIME: readonly [program: string, ...args: string[]] = "Deno" in globalThis
  ? [process.execPath, "run", "-A", "--no-check", "--quiet"]
  : [process.execPath, "run"];
