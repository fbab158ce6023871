import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { shellWord } from "../core/shown.ts";
import { denoFlags, needOwnFiles } from "../runtime/own-copy.ts";

/** A script of ours that is started in a process of its own. */
export type OwnScript =
  | ("cli/main" | "cli/hook" | "cli/_attack-process" | "cli/_eval-variants" | "cli/_fault-process")
  | ("monitor/note" | "lab/host-session");

/** The scripts that need packages, as words of the package's command. */
const WORDS: { readonly [script in OwnScript]?: readonly string[] } = { "cli/main": [], "cli/hook": ["hook"] };

/**
 * The command that starts a script of ours: runtime and script by their absolute paths, so that no PATH has a say.
 *
 * @throws {Error} in a program that was bundled: its runtime is the program itself, which would start itself without end;
 * and where this package was loaded from an address
 */
export function ownArgv(script: OwnScript, ...args: readonly string[]): [runtime: string, ...args: string[]] {
  needOwnFiles(`start '${script}'`);
  const self = fileURLToPath(import.meta.url);
  const lib = dirname(dirname(self));
  const root = dirname(lib);
  const file = join(lib, `${script}${self.endsWith(".ts") ? ".ts" : ".js"}`);
  if (!existsSync(file)) {
    throw new Error(`Cannot start '${script}' as this program was bundled without it: run the script itself`);
  }
  if ("Bun" in globalThis) return [process.execPath, ...alone(root), file, ...args];
  if (!("Deno" in globalThis)) return [process.execPath, file, ...args];
  const run: [string, ...string[]] = [process.execPath, "run", "-A", "--quiet"];
  const words = WORDS[script];
  const flags = denoFlags();
  if (words === undefined || flags.length > 0) return [...run, ...flags, file, ...args];
  // In its cache Deno finds the packages that ours needs only if it is asked for ours by name.
  const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  return [...run, `npm:crochet@${version}`, ...words, ...args];
}

/** Bun would run what .env, bunfig.toml and tsconfig.json of whatever project it is started in name. */
function alone(root: string): string[] {
  return ["--no-env-file", "--config=/dev/null", `--tsconfig-override=${join(root, "package.json")}`];
}

/** The same as one line for a shell. */
export function ownCommand(script: OwnScript, ...args: readonly string[]): string {
  return ownArgv(script, ...args).map(shellWord).join(" ");
}
