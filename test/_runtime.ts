import { fileURLToPath } from "node:url";

/** The project, with a slash at its end, and in it what scripts of tests import. */
export const ROOT: string = fileURLToPath(new URL("..", import.meta.url));
export const LIB = `${ROOT}lib`;

// One cache for every Deno that tests start: with a new HOME, each would compile everything again.
process.env.DENO_DIR ??= fileURLToPath(new URL("../node_modules/.cache/deno", import.meta.url));

/**
 * The command that runs a script on the runtime these tests run on. Not by its name: what npm installs as `deno` is a
 * script for Node, whose death Deno survives.
 */
export const RUNTIME: readonly [program: string, ...args: string[]] = "Deno" in globalThis
  ? [process.execPath, "run", "-A", "--no-check", "--quiet"]
  : [process.execPath, "run"];

/** The same for a script that stands or is called elsewhere: with the settings of this project. */
export const OUR_RUNTIME: typeof RUNTIME = "Deno" in globalThis
  ? [...RUNTIME, `--config=${fileURLToPath(new URL("../deno.json", import.meta.url))}`]
  : RUNTIME;
