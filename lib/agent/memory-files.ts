import { existsSync } from "node:fs";
import { join, relative } from "node:path";
import { thrownWords } from "../core/shown.ts";
import { foldersUp, readBrought } from "../files/confine.ts";

/** What an agent reads about its project, by file name. */
export const MEMORY_FILES: readonly string[] = ["AGENTS.md", "CLAUDE.md"];

/** More than this is cut, with a notice: a system prompt is paid for at every call. */
const MAX_CHARS = 40_000;

interface MemoryFile {
  readonly path: string;
  readonly name: string;
  readonly text: string;
}

/**
 * Finds memory files from the root of the repository inwards, so that the nearest has the last word; without a
 * repository the project's alone. What the project has counts in place of what a workspace, which is a copy of it as it
 * was, has in the same place: what is gone there is gone; above the workspace nothing is looked for. `refused` gets why one is not read.
 */
export function findMemory(
  cwd: string,
  names: readonly string[],
  project = cwd,
  refused?: (why: string) => void,
): MemoryFile[] {
  return inRepository(project).flatMap((dir) =>
    names.flatMap((file): MemoryFile[] => {
      const isHere = dir === project;
      const text = textAt(dir, file, refused);
      const name = join(relative(project, dir), file);
      return text === undefined ? [] : [{ path: join(isHere ? cwd : dir, file), name, text }];
    })
  );
}

/** A project's folder and those above it in its repository, the root of that first. */
function inRepository(project: string): string[] {
  const above = foldersUp(project);
  const top = above.findIndex((dir) => existsSync(join(dir, ".git")));
  return above.slice(0, Math.max(top, 0) + 1).reverse();
}

/** The text of a memory file: a regular one that does not lead out of its folder. */
export function textAt(dir: string, name: string, refused?: (why: string) => void): string | undefined {
  try {
    const bytes = readBrought(dir, join(dir, name));
    return bytes && new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
  } catch (error) {
    refused?.(`Cannot use ${join(dir, name)} as memory: ${thrownWords(error)}`);
    return undefined;
  }
}

/** What memory made of a system prompt once, with the files that the project has now in their places. */
export function currentMemory(recorded: string, names: readonly string[], project: string): string {
  const parts = recorded === "" ? [] : recorded.split(/\n\n(?=# From )/);
  for (const name of names) {
    const text = textAt(project, name) ?? "";
    const at = parts.findIndex((one) => one.startsWith(`# From ${name}\n`));
    const part = text.trim() === "" ? [] : [memoryPrompt([{ path: join(project, name), name, text }])];
    parts.splice(at < 0 ? parts.length : at, at < 0 ? 0 : 1, ...part);
  }
  return parts.join("\n\n");
}

/** The part of the system prompt that memory makes. */
export function memoryPrompt(found: readonly MemoryFile[]): string {
  return found.map(({ name, text }) => {
    const cut = text.length > MAX_CHARS;
    const notice = cut
      ? `\n[The rest of this file, ${text.length - MAX_CHARS} characters, is left out: read it with a tool]`
      : "";
    return `# From ${name}\n\n${text.slice(0, MAX_CHARS).trim()}${notice}`;
  }).join("\n\n");
}
