import { type Dirent, existsSync, lstatSync, readdirSync, readlinkSync, type Stats } from "node:fs";
import { homedir } from "node:os";
import { isAbsolute, join, relative, resolve, sep } from "node:path";
import { parseIgnoreLine } from "../files/ignore.ts";
import { quietly } from "../core/json.ts";

/** The text between the brackets of a file rule, as a test on absolute paths. */
export interface PathRule {
  (path: string, root: string): boolean;
  /** What its plain words begin with, in or above which all of its paths are. */
  readonly start: (root: string) => string;
}

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
  const words = /^\/.|.\/./s.test(line) ? line.replace(/[^/]*[*?[\\].*$/s, "") : "";
  const start = (root: string) => resolve(base ?? root, `./${words}`);
  if (line === "/" || line === "") {
    return Object.assign((path: string, root: string) => inside(path, base ?? root), { start });
  }
  const rule = parseIgnoreLine(line);
  if (rule === undefined || rule.keep) throw new TypeError("Cannot use a glob as it is not a path");
  const matches = (path: string, root: string) => {
    const from = path.length > LONGEST_PATH ? "" : relative(base ?? root, path);
    if (from === "" || from === ".." || from.startsWith(`..${sep}`) || isAbsolute(from)) return false;
    for (let end = from.indexOf("/"); end >= 0; end = from.indexOf("/", end + 1)) {
      if (rule.matches(from.slice(0, end))) return true;
    }
    return !rule.onlyDirectories && rule.matches(from);
  };
  return Object.assign(matches, { start });
}

/** Names that are looked at in folders. */
const MOST_NAMES = 20_000;

/** Whether folders hold a path that matches, or too many to know. Not looked into: links, what is installed, git's own. */
export function hold(folders: readonly string[], matches: (path: string) => boolean): boolean {
  const open = [...folders];
  let seen = 0;
  for (const folder of open) {
    for (const entry of entriesIn(folder)) {
      const path = join(folder, entry.name);
      if (++seen > MOST_NAMES || matches(path)) return true;
      if (entry.isDirectory() && !["node_modules", ".git"].includes(entry.name)) open.push(path);
    }
  }
  return false;
}

/** Whether a file has another name in a folder, by a hard link, that matches; what is installed is full of them. */
export function hasNameIn(file: string, folder: string, matches: (path: string) => boolean): boolean {
  const entry = entryAt(file);
  if (!entry?.isFile() || entry.nlink < 2 || file.includes("/node_modules/")) return false;
  return hold([folder], (path) => {
    const other = matches(path) ? entryAt(path) : undefined;
    return other !== undefined && other.ino === entry.ino && other.dev === entry.dev;
  });
}

/** What a folder holds; nothing if it cannot be read. */
export function entriesIn(folder: string): readonly Dirent[] {
  return quietly(() => readdirSync(folder, { withFileTypes: true })) ?? [];
}

export function inside(path: string, root: string): boolean {
  const from = relative(root, path);
  return from === "" || (from !== ".." && !from.startsWith(`..${sep}`) && !isAbsolute(from));
}

/** In characters: no system opens a longer path. */
export const LONGEST_PATH = 4096;

/** Where a process looks at itself: the same path leads elsewhere for the next one. */
const OF_PROCESS = /^\/(?:proc|dev\/(?:fd|std(?:in|out|err)))(?:\/|$)/;

/** Whether a real path leads elsewhere for each process that opens it. */
export function isOfProcess(path: string): boolean {
  return OF_PROCESS.test(path);
}

/**
 * Where a path really leads: links resolved, also dangling ones and those above a file that is not there yet. What is of a
 * process is not looked up, as this process is not the one that opens it.
 */
export function realPath(path: string): string {
  const full = resolve(path);
  if (full.length > LONGEST_PATH) return full;
  const rest = full.split("/").reverse();
  let done = "/";
  for (let links = 0; rest.length > 0 && !isOfProcess(done);) {
    const next = join(done, rest.pop()!);
    const target = links < 40 && entryAt(next)?.isSymbolicLink() ? quietly(() => readlinkSync(next)) : undefined;
    if (target === undefined) done = next;
    else {
      links++;
      rest.push(...target.split("/").reverse());
      if (isAbsolute(target)) done = "/";
    }
  }
  return join(done, ...rest.reverse());
}

/** What is at a path, a link as itself; undefined if nothing is, or it cannot be known. */
export function entryAt(path: string): Stats | undefined {
  return quietly(() => lstatSync(path, { throwIfNoEntry: false }));
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
