import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { decide, type IgnoreDecision, parseIgnore } from "./ignore.ts";

/** Folders of version control: never searched, listed or descended into, not even when hidden files are. */
export const VERSION_CONTROL = [".git", ".hg", ".jj", ".svn"];

/** Ignore files, the strongest first. */
const IGNORE_FILES = [".rgignore", ".ignore", ".gitignore"] as const;

interface Level {
  readonly directory: string;
  /** Where this folder lies seen from the one below: what its rules are relative to. */
  readonly parent: Level | undefined;
  readonly rules: readonly (ReturnType<typeof parseIgnore>)[];
  readonly isRepository: boolean;
  /** Whether it or a folder above it is a repository. */
  readonly isInside: boolean;
}

export interface WalkOptions {
  /** Whether .gitignore counts only inside a git repository, up to its top. */
  readonly requireGit: boolean;
  readonly signal?: AbortSignal | undefined;
  /** Folders for which this is false are not entered. */
  readonly enters?: (path: string) => boolean;
}

/**
 * The files below a folder that ignore files leave, as '/'-separated paths relative to it, sorted: hidden files too,
 * links never followed. The same list `rg --files --hidden` gives.
 */
export async function* walk(root: string, options: WalkOptions): AsyncGenerator<string> {
  const level = await readLevel(root, await parentLevels(root, options), options);
  yield* walkLevel(level, "", options);
}

async function* walkLevel(level: Level, prefix: string, options: WalkOptions): AsyncGenerator<string> {
  options.signal?.throwIfAborted();
  const entries = await readdir(level.directory, { withFileTypes: true }).catch(() => []);
  entries.sort((a, b) => comparePaths(a.name, b.name));
  for (const entry of entries) {
    if (VERSION_CONTROL.includes(entry.name)) continue;
    const isDirectory = entry.isDirectory();
    if (!isDirectory && !entry.isFile()) continue;
    if (ignored(level, entry.name, isDirectory, options)) continue;
    const path = prefix + entry.name;
    if (!isDirectory) yield path;
    else if (options.enters?.(path) ?? true) {
      yield* walkLevel(await readLevel(join(level.directory, entry.name), level, options), `${path}/`, options);
    }
  }
}

/** Each kind of ignore file is asked from the nearest folder upwards; the strongest kind with an opinion wins. */
function ignored(level: Level, name: string, isDirectory: boolean, options: WalkOptions): boolean {
  const inRepository = !options.requireGit || level.isInside;
  const decisions: IgnoreDecision[] = IGNORE_FILES.map(() => undefined);
  let path = name;
  let leftRepository = false;
  for (let at: Level | undefined = level; at; at = at.parent) {
    for (const [kind, rules] of at.rules.entries()) {
      if (decisions[kind] !== undefined) continue;
      if (IGNORE_FILES[kind] === ".gitignore" && (!inRepository || leftRepository)) continue;
      decisions[kind] = decide(rules, path, isDirectory);
    }
    leftRepository ||= options.requireGit && at.isRepository;
    path = `${at.directory.slice(at.directory.lastIndexOf("/") + 1)}/${path}`;
  }
  return decisions.find((decision) => decision !== undefined) === "ignore";
}

async function readLevel(directory: string, parent: Level | undefined, options: WalkOptions): Promise<Level> {
  const rules = await Promise.all(IGNORE_FILES.map(async (name) => {
    const text = await readFile(join(directory, name), "utf8").catch(() => "");
    return text === "" ? [] : parseIgnore(text);
  }));
  const isTop = options.requireGit && isRepository(directory);
  return { directory, parent, rules, isRepository: isTop, isInside: isTop || parent?.isInside === true };
}

async function parentLevels(root: string, options: WalkOptions): Promise<Level | undefined> {
  const above = dirname(root);
  return above === root ? undefined : readLevel(above, await parentLevels(above, options), options);
}

function isRepository(directory: string): boolean {
  return existsSync(join(directory, ".git"));
}

/** Whether a folder lies in a git repository: it or a folder above it holds `.git`. */
export function insideRepository(directory: string): boolean {
  for (let at = directory;; at = dirname(at)) {
    if (isRepository(at)) return true;
    if (dirname(at) === at) return false;
  }
}

/** Orders paths as ripgrep's `--sort path` does: name by name, by the bytes of UTF-8. */
export function comparePaths(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const x = a.charCodeAt(i);
    const y = b.charCodeAt(i);
    if (x !== y) return rank(x) - rank(y);
  }
  return a.length - b.length;
}

/** A name ends before any other character, and surrogates are the highest characters of all. */
function rank(unit: number): number {
  return unit === 0x2f ? -1 : (unit & 0xf800) === 0xd800 ? unit + 0x10000 : unit;
}
