import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

const at = (path: string) => fileURLToPath(new URL(`../${path}`, import.meta.url));

/** The commands that run a script on Bun and on Deno, for what must come to the same on both. */
export const BOTH_RUNTIMES: readonly (readonly [program: string, ...args: string[]])[] = [
  [at("node_modules/.bin/bun"), "run"],
  [at("node_modules/.bin/deno"), "run", "-A", "--no-check", "--quiet", `--config=${at("deno.json")}`],
];

/** Why a test of both cannot run; false where it can. */
export const oneIsMissing: string | false = BOTH_RUNTIMES.some(([program]) => !existsSync(program)) &&
  "only one runtime is installed";
