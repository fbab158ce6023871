import { existsSync } from "node:fs";
import { join, relative, sep } from "node:path";

/** Files and folders that decide what runs later: hooks, settings, servers, agents, and git's own. */
export const ANYWHERE = [".git", ".crochet", ".claude", ".codex", ".gemini", ".agent", ".mcp.json"];
/** The same by names that mean something else in a folder below. */
export const IN_ROOT = ["hooks", "hooks.yaml", "agents"];

/** Whether a path inside a root is protected: no mode but bypass, and no rule for all edits, lets it be written unasked. */
export function isProtected(path: string, root: string): boolean {
  const parts = relative(root, path).split(sep);
  return parts.some((part) => ANYWHERE.includes(part)) || IN_ROOT.includes(parts[0]!);
}

/** What is read-only in a sandbox, of what there is in a root. With `git`, git may write its own files but for what it runs. */
export function protectedIn(root: string, git: boolean): string[] {
  const names = [...ANYWHERE.filter((name) => !git || name !== ".git"), ...IN_ROOT];
  return [...names, ...git ? [".git/hooks", ".git/config"] : []].map((name) => join(root, name))
    .filter((path) => existsSync(path));
}
