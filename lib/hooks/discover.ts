import { type Dirent, readdirSync, readFileSync, realpathSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { kebab } from "../core/names.ts";
import {
  BadFileName,
  DEFAULT_PRIORITY,
  extensionOf,
  type FileName,
  formatFileName,
  isSkipped,
  parseFileName,
  parseMoment,
} from "./_file-name.ts";
import { isExecutable } from "./_program.ts";

/** A hook file as it was found: named and read, nothing of it run. */
export interface HookFile extends FileName {
  /** The file's name: the hook's stable id. */
  readonly name: string;
  /** The real path: two names of one file are one hook. */
  readonly path: string;
  readonly text: string;
  /** Whether the file may be run as a program. */
  readonly executable: boolean;
}

/** A file that should be a hook and is not. */
export interface Problem {
  readonly file: string;
  /** The whole sentence: what, why, the mend. */
  readonly message: string;
}

export interface Discovery {
  /** In the order they run: priority, then name. */
  readonly files: readonly HookFile[];
  readonly problems: readonly Problem[];
}

/**
 * Reads a hooks folder. Every file in it is a hook, is one of the few that are passed over, or is a problem.
 * Nothing is imported or run.
 */
export function discover(folder: string): Discovery {
  const files: HookFile[] = [];
  const problems: Problem[] = [];
  const byPath = new Map<string, string>();
  const root = realpathSync(folder);
  for (const entry of entries(root)) {
    const file = entry.name;
    if (isSkipped(file)) continue;
    try {
      const found = readHook(root, entry);
      const first = byPath.get(found.path);
      if (first !== undefined) {
        problems.push({ file, message: `Cannot load hook '${file}' as it is the same file as '${first}'` });
        continue;
      }
      byPath.set(found.path, file);
      files.push(found);
    } catch (error) {
      problems.push({ file, message: loadMessage(file, error) });
    }
  }
  return { files: files.sort(inOrder), problems };
}

/** By name, in code units: the same on every machine and in every language. */
function entries(root: string): Dirent[] {
  return readdirSync(root, { withFileTypes: true }).sort((a, b) => a.name < b.name ? -1 : 1);
}

function inOrder(a: HookFile, b: HookFile): number {
  return (a.priority ?? DEFAULT_PRIORITY) - (b.priority ?? DEFAULT_PRIORITY) || (a.name < b.name ? -1 : 1);
}

function readHook(root: string, entry: Dirent): HookFile {
  const file = entry.name;
  const given = join(root, file);
  const path = entry.isSymbolicLink() ? realpathSync(given) : given;
  if (entry.isSymbolicLink() ? !statSync(path).isFile() : !entry.isFile()) {
    throw new BadFileName(file, "it is not a file", `put what hooks share into '_${file}'`);
  }
  return fileAt(file, path);
}

/** Reads one hook file, wherever it lies; `event` (`stop`, `pre-tool-use@Bash`) stands in for what its name does not say. */
export function readHookFile(given: string, event?: string): HookFile {
  const path = realpathSync(given);
  const name = basename(path);
  if (event === undefined) return fileAt(name, path);
  const moment = parseMoment(event.replace(/^[^@]+/, kebab));
  const named = fileAt(`${formatFileName(moment)}${extensionOf(name)}`, path);
  return { ...named, name };
}

function fileAt(file: string, path: string): HookFile {
  const text = readFileSync(path, "utf8");
  const named = nameOf(file, text, path);
  const executable = named.kind === "command" && isExecutable(path);
  return { ...named, name: file, path, text, executable };
}

/** An executable of another extension is asked for only when no known one fits. */
function nameOf(file: string, text: string, path: string): FileName {
  try {
    return parseFileName(file);
  } catch (error) {
    if (text.startsWith("#!") && isExecutable(path)) return parseFileName(file, { executable: true });
    throw error;
  }
}

/** The sentence for a file that cannot be loaded; one that is a sentence already is kept. */
export function loadMessage(file: string, error: unknown): string {
  const said = error instanceof Error ? error.message || error.name : String(error);
  return said.startsWith("Cannot load ") ? said : `Cannot load hook '${file}' as ${decapitalized(said)}`;
}

function decapitalized(text: string): string {
  return text.startsWith("Cannot ") ? `it has a mistake: ${text}` : text;
}
