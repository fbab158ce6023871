import { existsSync, statSync } from "node:fs";
import { delimiter, join } from "node:path";

/** Where a program is installed, by the absolute folders of the PATH. */
export function onPath(name: string, env: Readonly<Record<string, string | undefined>>): string | undefined {
  const folders = (env.PATH ?? "").split(delimiter).filter((dir) => dir.startsWith("/"));
  return folders.map((dir) => join(dir, name)).find((path) => existsSync(path));
}

export function isExecutable(path: string): boolean {
  return (statSync(path).mode & 0o111) !== 0;
}
