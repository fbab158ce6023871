import { existsSync } from "node:fs";
import { resolve } from "node:path";
import type { Agent } from "../agent.ts";
import { fileUrl } from "../files/file-url.ts";
import { loadingScript } from "../files/loading-script.ts";
import { type Io, UsageError } from "./_io.ts";

/** Splits the words of a command: the first is a script if it is named like one and is there, unless `--` is before it. */
export function scriptAndPrompt(
  words: readonly string[],
  args: readonly string[],
  io: Io,
): { script: string | undefined; prompt: string } {
  const [first = ""] = words;
  const path = resolve(io.cwd, first);
  const named = /\.(ts|js|mjs)$/.test(first) && args[0] !== "--";
  const isScript = named && existsSync(path);
  // With blanks in it, it is rather a sentence that ends with the name of a file.
  if (named && !isScript && !/\s/.test(first)) {
    io.err(`crochet: there is no script ${path}, so '${first}' is a part of the prompt\n`);
  }
  return isScript ? { script: path, prompt: words.slice(1).join(" ") } : { script: undefined, prompt: words.join(" ") };
}

/** The agent a script exports. */
export async function loadAgent(path: string): Promise<Agent> {
  const { default: found } = await imported(path);
  if (typeof found?.run === "function" && typeof found?.open === "function") return found;
  throw new UsageError(`Cannot run '${path}' as its default export is no agent: export default agent({ ... })`);
}

async function imported(path: string): Promise<{ default?: Agent }> {
  try {
    return await loadingScript(path, () => import(fileUrl(path)));
  } catch (error) {
    const { importProblem } = await import("../files/import-problem.ts");
    const { words, place } = importProblem(error);
    // The runtime knows the place of a mistake that keeps a script from being read; a stack has that of one it threw.
    const at = place ?? placeIn((error as Partial<Error>)?.stack ?? "", path);
    throw new Error(`Cannot load '${path}' as ${words}${at === undefined || words.includes(at) ? "" : `: ${at}`}`, {
      cause: error,
    });
  }
}

function placeIn(stack: string, path: string): string | undefined {
  const at = stack.indexOf(`${path}:`);
  return at < 0 ? undefined : path + /^[^\s)]+/.exec(stack.slice(at + path.length))![0];
}

/** The agent of a command that names no script. */
export async function builtIn(): Promise<Agent> {
  return (await import("./_coding-agent.ts")).codingAgent();
}
