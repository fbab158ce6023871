import { lstatSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { quietly } from "../core/json.ts";
import { ANYWHERE, IN_ROOT } from "./_path-rule.ts";

/** Names in any folder that decide what runs later outside of a sandbox, beyond those that are write-protected. */
const NAMES: ReadonlySet<string> = new Set([...ANYWHERE, ".envrc", "package.json"]);
/** Folders that change all the time: only these parts of them count. */
const PARTS: Readonly<Record<string, readonly string[]>> = {
  ".git": ["config", "commondir", "hooks"],
  ".crochet": ["config.yaml"],
};
/** How many folders of a workspace are searched. */
const MOST_FOLDERS = 2000;

/**
 * Watches for code that something outside the sandbox may run later: repositories and their hooks and settings, hooks and
 * settings of agents, `.envrc`, scripts of a package. Call the result to get the paths that are new or changed since.
 */
export function watchLaterCode(root: string): () => string[] {
  // The sandbox refuses the whole machine as a workspace.
  if (root === "/") return () => [];
  const before = laterCode(root);
  return () => [...laterCode(root)].filter(([path, print]) => before.get(path) !== print).map(([path]) => path).sort();
}

/** A fingerprint of each such file, by its path in the workspace. */
function laterCode(root: string): Map<string, string> {
  const prints = new Map<string, string>();
  const add = (path: string, name: string): void => {
    // Git never runs its samples.
    if (name.endsWith(".sample")) return;
    const below = PARTS[name] ?? entriesIn(join(root, path))?.map((entry) => entry.name);
    const isFolder = lstatSync(join(root, path), { throwIfNoEntry: false })?.isDirectory() === true;
    if (isFolder && below) { for (const part of below) add(join(path, part), part); }
    else {
      const print = printOf(join(root, path), name);
      if (print !== undefined) prints.set(path, print);
    }
  };
  const folders = [""];
  for (const folder of folders) {
    for (const entry of entriesIn(join(root, folder)) ?? []) {
      const path = join(folder, entry.name);
      if (NAMES.has(entry.name) || (folder === "" && IN_ROOT.includes(entry.name))) add(path, entry.name);
      else if (entry.isDirectory() && entry.name !== "node_modules" && folders.length < MOST_FOLDERS) {
        folders.push(path);
      }
    }
  }
  return prints;
}

function printOf(path: string, name: string): string | undefined {
  try {
    if (name === "package.json") return JSON.stringify(JSON.parse(readFileSync(path, "utf8")).scripts ?? {});
  } catch { /* not JSON: like any other file */ }
  // The time of change, unlike that of writing, cannot be set back.
  const stat = lstatSync(path, { throwIfNoEntry: false });
  return stat && `${stat.ino} ${stat.size} ${stat.mode} ${stat.ctimeMs}`;
}

function entriesIn(path: string) {
  return quietly(() => readdirSync(path, { withFileTypes: true }));
}
