import { readdirSync, readFileSync, statSync } from "node:fs";
import { basename, dirname, extname, join } from "node:path";

/** Scripts beside a hook are read for what they look for, up to so many characters. */
const MOST_TEXT = 300_000;
const MOST_FILES = 400;
const MOST_PATHS = 6;

/** The text of a hook with those of the scripts around it that it names, and that those name. */
export function textAround(text: string, folder: string): string {
  const left = new Map(scriptsUnder(folder).map((path) => [path, basename(path).replace(/\.\w+$/, "")]));
  let all = text;
  for (let found = true; found && all.length < MOST_TEXT;) {
    found = false;
    const words = new Set(all.match(NAMES_SCRIPTS)?.join("\n").match(/[\w-]+/g));
    for (const [path, name] of left) {
      if (!words.has(name) || name.length < 3) continue;
      left.delete(path);
      all += `\n${readFileSync(path, "utf8")}`;
      found = true;
    }
  }
  return all.slice(0, MOST_TEXT);
}

/** Lines in which scripts name others. */
const NAMES_SCRIPTS = /^.*\b(?:import|require|from|source|bash|sh|node|python3?)\b.*$|^\s*\. .*$/gm;

function scriptsUnder(root: string): string[] {
  const found: string[] = [];
  const enter = (folder: string, depth: number) => {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      const path = join(folder, entry.name);
      if (found.length >= MOST_FILES || /^(?:\.|node_modules$|tests?$|__)/.test(entry.name)) continue;
      if (entry.isDirectory() && depth < 4) enter(path, depth + 1);
      else if (/\.(?:sh|bash|py|[cm]?[jt]s|rb)$/.test(entry.name) && statSync(path).size < 60_000) found.push(path);
    }
  };
  try {
    enter(root, 0);
  } catch {
    // A folder that cannot be read tells nothing.
  }
  return found;
}

/** What is no state of a hook: the host's own files, scripts and what is only ever written. */
const OTHER =
  /(?:^|\/)(?:settings(?:\.local)?\.json|hooks?|projects|\.git|\.github|\.cache|\.venv|package\.json)(?:\/|$)|\.(?:sh|bash|py|[cm]?[jt]s|rb|log|jsonl|tmp|bak|lock|png|git)$/;

/** What only looks like a path: lists of extensions, fields of objects. */
const NO_PATH = /^\.(?:[jt]sx?|json|md|py|length|key|value|state|bin)\/|\/\.|\/-|\w\.\w+\//;

/**
 * Files that a script looks for, as far as its text shows them, relative to a scratch place: `project/.claude/loop.md`.
 * Where the id of the session is part of a name, the given one is put there.
 */
export function pathsIn(source: string, session: string): string[] {
  const found = new Set<string>();
  const add = (path: string, root: "project" | "home" | "outside") => {
    const clean = path.replaceAll("*", "check").replace(/^\.\//, "");
    if (/[${}]/.test(clean) || clean.includes("..") || OTHER.test(clean) || NO_PATH.test(clean)) return;
    // A folder, not a file, where something else is said to lie in it.
    if (![...found].some((one) => one.startsWith(`${root}/${clean}/`))) found.add(`${root}/${clean}`);
  };
  const text = settled(joined(source.replaceAll(/\$\{?\w*session_?\w*\}?|\{\w*session_?\w*\}/gi, session)));
  for (const [, home, path] of text.matchAll(IN_DOT_FOLDER)) add(path!, home === undefined ? "project" : "home");
  for (const [, path] of text.matchAll(IN_TMP)) add(path!, "outside");
  for (const [, path] of text.matchAll(LOOKED_AT)) if (isFileName(path!)) add(path!, "project");
  for (const [, path] of text.matchAll(NAMED)) if (isFileName(path!)) add(path!, "project");
  const all = [...found];
  return all.filter((path) => !all.some((other) => other.startsWith(`${path}/`))).slice(0, MOST_PATHS);
}

const IN_DOT_FOLDER =
  /(~\/|\$\{?HOME\}?\/|home(?:dir)?\(\)\W{1,4})?(?<![\w.)\]}?])(\.[a-z][\w-]*\/(?:[\w.*${}-]+\/)*[\w.*-]*[\w*])/gi;
const IN_TMP = /(?<![\w.}])\/tmp\/([\w.*/-]*[\w*])/g;
const LOOKED_AT =
  /(?:-[efs] |existsSync\(|exists\(|isfile\(|open\(|readFileSync\(|readTextFile(?:Sync)?\(|Path\()\s*["'`]?([\w./-]+)/g;
const NAMED = /\b\w*(?:file|state|flag|marker)\w*\s*[:=]\s*["'`]([\w./-]+)["'`]/gi;

function isFileName(path: string): boolean {
  return !path.startsWith("/") && (/^\.[\w-]{3,}$/.test(path) || /^\.\w*$/.test(extname(path)) && extname(path) !== "");
}

/** `join(a, "b", "c")`, `a / "b"` and `a + "/b"` as one path. */
function joined(text: string): string {
  return text.replaceAll(/,\s*["'](?:utf-?8|[rwa]b?\+?)["']/gi, "").replaceAll(/["'`]\s*[,/+]\s*["'`]\/?/g, "/");
}

/** What is put into variables, where it is used. */
function settled(text: string): string {
  let all = text;
  for (let i = 0; i < 2; i++) {
    const known = new Map<string, string>();
    const given = all.matchAll(
      /\b([A-Za-z_]\w{2,})\s*=\s*[^\n;]*?["'`(\s/=]((?:~\/|\$\{?HOME\}?\/)?\.[a-z][\w-]*(?:\/[\w.-]+)*)["'`)\s;]/g,
    );
    for (const [, name, path] of given) if (known.size < 20) known.set(name!, path!);
    for (const [name, path] of known) {
      const used = new RegExp(
        `(?:\\$\\{?${name}\\}?|\\{${name}\\}|\\b${name}\\b)["'\`]?\\s*[,/+]\\s*["'\`]?/?(?=[\\w.*])`,
        "g",
      );
      all = all.replaceAll(used, () => `"${path}/`);
    }
  }
  return all;
}

/** A file that a hook could be given, and where it is looked for. */
interface Sample {
  readonly from: string;
  readonly to: string;
}

/** Where a person has such a file, or a plugin an example of it. Examples may lack the first part of the name. */
export function samplesOf(path: string, { project, plugin }: { project: string; plugin: string }): Sample[] {
  const folder = dirname(path);
  const [first, ...rest] = basename(path).split(".").map((part) => part.replaceAll(/[^\w-]/g, "."));
  const part = (text: string) => text.replaceAll("check", ".*");
  const own = new RegExp(`^${[first!, ...rest].map(part).join("\\.")}$`);
  const like = new RegExp(`^.*\\.${rest.filter((text) => text !== "check").map(part).join("\\.")}$`);
  const mine = path.startsWith("project/") ? filesIn(join(project, folder.slice("project/".length)), own) : [];
  const shown = ["examples", "templates"].flatMap((name) => filesIn(join(plugin, name), rest.length > 1 ? like : own));
  return [
    ...mine.map((from) => ({ from, to: join(folder, basename(from)) })),
    ...shown.map((from) => ({ from, to: path })),
  ];
}

function filesIn(folder: string, name: RegExp): string[] {
  try {
    return readdirSync(folder).filter((one) => name.test(one)).map((one) => join(folder, one))
      .filter((path) => statSync(path).isFile() && statSync(path).size < 20_000);
  } catch {
    return [];
  }
}
