import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

const MAIN = fileURLToPath(new URL("../lib/cli/main.ts", import.meta.url));
const CONFIG = fileURLToPath(new URL("../deno.json", import.meta.url));

export interface Exit {
  readonly stdout: string;
  readonly stderr: string;
  readonly code: number | null;
}

/** Runs the command line as a user would: a process of its own, on the runtime the test runs on. */
export function crochet(
  args: readonly string[],
  options: { cwd: string; env?: Record<string, string | undefined>; stdin?: string },
): Promise<Exit> {
  const flags = "Deno" in globalThis ? ["run", "-A", "--quiet", `--config=${CONFIG}`] : [];
  const { ANTHROPIC_API_KEY: _key, CROCHET_HOME: _home, ...rest } = process.env;
  const env = { ...rest, NO_COLOR: "1", ...options.env } as NodeJS.ProcessEnv;
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [...flags, MAIN, ...args], { cwd: options.cwd, env });
    let stdout = "";
    let stderr = "";
    child.stdout.on("data", (chunk) => stdout += chunk);
    child.stderr.on("data", (chunk) => stderr += chunk);
    child.on("error", reject);
    child.on("close", (code) => resolve({ stdout, stderr, code }));
    child.stdin.on("error", () => {});
    child.stdin.end(options.stdin ?? "");
  });
}
