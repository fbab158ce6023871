import { realpathSync } from "node:fs";
import { homedir } from "node:os";
import { quietly } from "../../core/json.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

export function homeOf(env: Environment): string {
  return env.HOME || homedir();
}

/** Where a path really leads; one that leads nowhere is taken as it is written. */
export function realOr(path: string): string {
  return quietly(() => realpathSync(path)) ?? path;
}

/** A path as a person reads it: relative to the working directory, or to the home. */
export function shortPath(path: string, cwd: string, env: Environment): string {
  const home = homeOf(env);
  if (path === cwd) return ".";
  if (path.startsWith(`${cwd}/`)) return path.slice(cwd.length + 1);
  return path.startsWith(`${home}/`) ? `~/${path.slice(home.length + 1)}` : path;
}
