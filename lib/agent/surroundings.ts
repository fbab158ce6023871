import { readFile, stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";

/** When and where the built-in agent works, for its system prompt. The day is that of UTC: a tape has no time zone. */
export function surroundings(now: number, git: string): string {
  return [`Today is ${new Date(now).toISOString().slice(0, 10)} (UTC).`, git].filter((line) => line !== "").join("\n");
}

/**
 * The repository that a folder is in, in a line for the model; "" if it is in none. It is read, not asked for: git
 * would run what the configuration of a checkout names, which the user may not have trusted.
 */
export async function gitLine(cwd: string): Promise<string> {
  for (let folder = resolve(cwd);; folder = dirname(folder)) {
    const head = await headOf(join(folder, ".git"));
    if (head !== undefined) return `The working directory is in a git repository, ${head}.`;
    if (dirname(folder) === folder) return "";
  }
}

async function headOf(git: string): Promise<string | undefined> {
  try {
    const found = await stat(git);
    // In a worktree or a submodule it is a file with the path of the real folder.
    const folder = found.isFile()
      ? resolve(dirname(git), (await readFile(git, "utf8")).slice("gitdir: ".length).trim())
      : git;
    const head = (await readFile(join(folder, "HEAD"), "utf8")).trim();
    const [, branch] = /^ref: refs\/heads\/(\S{1,200})$/.exec(head) ?? [];
    if (branch !== undefined) return `on branch ${branch}`;
    return /^[0-9a-f]{40,64}$/.test(head) ? `at commit ${head.slice(0, 10)}, on no branch` : undefined;
  } catch {
    return undefined;
  }
}
