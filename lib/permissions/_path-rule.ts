import { existsSync, readlinkSync, realpathSync } from "node:fs";
import { homedir } from "node:os";
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { parseIgnoreLine } from "../tools/search/ignore.ts";

/** The text between the brackets of a file rule, as a test on absolute paths. */
export type PathRule = (path: string, root: string) => boolean;

/**
 * Reads a pattern as a line of .gitignore: `src/**`, `*.env` (at any depth), `build/`; `//etc/x` is a path of the
 * machine, `~/x` of the home folder, anything else of the workspace. What matches a folder matches what it holds.
 */
export function compilePath(pattern: string): PathRule {
  const [base, line] = pattern.startsWith("//")
    ? ["/", pattern.slice(1)]
    : pattern === "~" || pattern.startsWith("~/")
    ? [homedir(), `/${pattern.slice(2)}`]
    : [undefined, pattern.replace(/^\.\//, "/")];
  if (line === "/" || line === "") return (path, root) => inside(path, base ?? root);
  const rule = parseIgnoreLine(line);
  if (rule === undefined || rule.keep) throw new TypeError("Cannot use a glob as it is not a path");
  return (path, root) => {
    const from = path.length > LONGEST_PATH ? "" : relative(base ?? root, path);
    if (from === "" || from === ".." || from.startsWith(`..${sep}`) || isAbsolute(from)) return false;
    for (let end = from.indexOf("/"); end >= 0; end = from.indexOf("/", end + 1)) {
      if (rule.matches(from.slice(0, end))) return true;
    }
    return !rule.onlyDirectories && rule.matches(from);
  };
}

export function inside(path: string, root: string): boolean {
  const from = relative(root, path);
  return from === "" || (from !== ".." && !from.startsWith(`..${sep}`) && !isAbsolute(from));
}

/** In characters: no system opens a longer path. */
export const LONGEST_PATH = 4096;

/** Where a path really leads: links resolved, also dangling ones and those above a file that is not there yet. */
export function realPath(path: string): string {
  let [head, tail] = [resolve(path), ""];
  if (head.length > LONGEST_PATH) return head;
  for (let links = 0; links < 40;) {
    try {
      return join(realpathSync(head), tail);
    } catch {
      const target = linkTarget(head);
      if (target !== undefined) {
        links++;
        head = resolve(dirname(head), target);
      } else if (dirname(head) === head) break;
      else [head, tail] = [dirname(head), join(basename(head), tail)];
    }
  }
  return join(head, tail);
}

function linkTarget(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined;
  }
}

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
