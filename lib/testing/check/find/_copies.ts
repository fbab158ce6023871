import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import type { Copy } from "../subject.ts";

/** More than this is no folder of scripts. */
const MOST_FILES = 400;
const MOST_BYTES = 5_000_000;

/** The files of a project or a home that a text names, with the folders they lie in: scripts have neighbours. */
export function copiesFor(text: string, { project, home }: { project: string; home: string }): Copy[] {
  const found = new Map<string, Copy>();
  const add = (from: string, root: string, into: "project" | "home") => {
    const path = relative(root, from);
    if (path !== "" && !path.startsWith("..")) found.set(from, { from, to: join(into, path) });
  };
  for (const path of namedIn(text, { project, home })) {
    const [root, into] = home !== "" && path.startsWith(`${home}/`) && !path.startsWith(`${project}/`)
      ? [home, "home"] as const
      : [project, "project"] as const;
    const folder = statSync(path).isDirectory() ? path : dirname(path);
    const whole = folder !== root && isSmall(folder);
    if (whole) add(folder, root, into);
    else if (statSync(path).isFile()) add(path, root, into);
  }
  const all = [...found.values()];
  return all.filter(({ from }) => !all.some((other) => from.startsWith(`${other.from}/`)));
}

/**
 * What a script finds in its project by the names in its text: scripts, programs and rules, and the folders it writes to.
 * What else lies there is the person's own.
 */
export function copiesNamed(text: string, project: string): Copy[] {
  const paths = [...text.matchAll(/(?<![\w/.-])\.?[\w-]+(?:\/[\w.-]+)+/g)].map(([path]) => path)
    .filter((path) => !/(?:^|\/)(?:\.git|node_modules|\.\.)(?:\/|$)/.test(path));
  const programs = paths.filter((path) => /\.(?:sh|py|rb|[cm]?[jt]s|json)$|(?:^|\/)bin\/[\w-]+$/.test(path))
    .filter((path) => !/local|state/.test(path));
  const folders = [...new Set(paths.map((path) => dirname(path)))].filter((path) => isFolder(join(project, path)));
  return [
    ...folders.map((path): Copy => ({ from: join(project, path), to: join("project", path), empty: true })),
    ...copiesFor(programs.join(" "), { project, home: "" }),
  ];
}

function isFolder(path: string): boolean {
  return existsSync(path) && statSync(path).isDirectory();
}

/** The texts of the scripts a command line names: what is looked for in events stands there. */
export function scriptTexts(command: string, where: { project: string; home: string }): string {
  return namedIn(command, where)
    .filter((path) => statSync(path).isFile() && statSync(path).size < 200_000 && /\.\w{1,5}$/.test(path))
    .map((path) => readFileSync(path, "utf8")).join("\n");
}

/** What exists of what a text could name, in the project or in the home. */
function namedIn(text: string, { project, home }: { project: string; home: string }): string[] {
  const plain = text
    .replaceAll(/\$\{?(?:CLAUDE|GEMINI)_PROJECT_DIR\}?|\$\(git rev-parse --show-toplevel\)/g, project)
    .replaceAll(/(?<![\w/])~(?=\/)|\$\{?HOME\}?/g, home);
  const words = [...plain.split(/[\s"'`;|&()<>=,]+/), ...plain.replaceAll(/["'`]/g, "").split(/[\s;|&()<>=,]+/)];
  return [...new Set(words)]
    .filter((word) => /[\w-]/.test(word) && word.length <= 400)
    .map((word) => resolve(project, word))
    .filter((path) => existsSync(path));
}

function isSmall(folder: string): boolean {
  let files = 0;
  let bytes = 0;
  const enter = (path: string): boolean => {
    for (const entry of readdirSync(path, { withFileTypes: true })) {
      if (entry.name === ".git" || entry.name === "node_modules") return false;
      const full = join(path, entry.name);
      if (entry.isDirectory() ? !enter(full) : false) return false;
      if (entry.isFile()) bytes += statSync(full).size;
      if (++files > MOST_FILES || bytes > MOST_BYTES) return false;
    }
    return true;
  };
  return enter(folder);
}
