import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

type Script = "cli/main" | "cli/hook" | "monitor/note";

/** The command that starts a script of ours: runtime and script by their absolute paths, so that no PATH has a say. */
export function ownArgv(script: Script, ...args: readonly string[]): [runtime: string, ...args: string[]] {
  const self = fileURLToPath(import.meta.url);
  const lib = dirname(dirname(dirname(self)));
  const file = join(lib, `${script}${self.endsWith(".ts") ? ".ts" : ".js"}`);
  // Deno would take the settings of whatever project it is started in.
  const config = join(dirname(lib), "deno.json");
  const flags = "Deno" in globalThis
    ? ["run", "-A", "--quiet", ...(existsSync(config) ? ["--config", config] : [])]
    : [];
  return [process.execPath, ...flags, file, ...args];
}

/** The same as one line for a shell. */
export function ownCommand(script: Script, ...args: readonly string[]): string {
  return ownArgv(script, ...args).map(quoted).join(" ");
}

function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
