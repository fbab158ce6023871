import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { Agent } from "../agent.ts";
import { type Io, UsageError } from "./_io.ts";

/** Parts the words of a command: the first is a script iff it is one by its name and is there; `--` ends that. */
export function scriptAndPrompt(
  words: readonly string[],
  args: readonly string[],
  io: Io,
): { script: string | undefined; prompt: string } {
  const [first = ""] = words;
  const path = resolve(io.cwd, first);
  const isScript = /\.(ts|js|mjs)$/.test(first) && args[0] !== "--" && existsSync(path);
  return isScript ? { script: path, prompt: words.slice(1).join(" ") } : { script: undefined, prompt: words.join(" ") };
}

/** The agent a script exports. */
export async function loadAgent(path: string): Promise<Agent> {
  const { default: found } = await import(pathToFileURL(path).href) as { default?: Agent };
  if (typeof found?.run === "function" && typeof found?.open === "function") return found;
  throw new UsageError(`Cannot run '${path}' as its default export is no agent: export default agent({ ... })`);
}

/** The agent of a command that names no script. */
export async function builtIn(): Promise<Agent> {
  return (await import("./_coding-agent.ts")).codingAgent();
}
