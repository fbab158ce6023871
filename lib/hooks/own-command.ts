import { existsSync, readFileSync } from "node:fs";
import { shellWord } from "../core/shown.ts";
import { CODE, CODE_ENDING, denoFlags, needOwnFiles, PACKAGE } from "../runtime/own-copy.ts";

export type OwnScript = "cli/main" | "cli/hook" | `extensions/${string}`;

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
  const file = `${CODE}/${script}${CODE_ENDING}`;
  if (!existsSync(file)) {
    throw new Error(`Cannot start '${script}' as this program was bundled without it: run the script itself`);
  }
  // Bun would run what .env, bunfig.toml and tsconfig.json of whatever project it is started in name.
  const alone = ["--no-env-file", "--config=/dev/null", `--tsconfig-override=${PACKAGE}/package.json`];
  if ("Bun" in globalThis) return [process.execPath, ...alone, file, ...args];
  if (!("Deno" in globalThis)) return [process.execPath, file, ...args];
  const run: [string, ...string[]] = [process.execPath, "run", "-A", "--quiet"];
  const words = WORDS[script];
  const flags = denoFlags();
  if (words === undefined || flags.length > 0) return [...run, ...flags, file, ...args];
  // In its cache Deno finds the packages that ours needs only if it is asked for ours by name.
  const { version } = JSON.parse(readFileSync(`${PACKAGE}/package.json`, "utf8"));
  return [...run, `npm:crochet@${version}`, ...words, ...args];
}

/** The same as one line for a shell. */
export function ownCommand(script: OwnScript, ...args: readonly string[]): string {
  return ownArgv(script, ...args).map(shellWord).join(" ");
}
