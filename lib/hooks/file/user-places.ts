import { realpathSync } from "node:fs";
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import { sha256 } from "../../runtime/sha256.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

export function homeOf(env: Environment): string {
  return env.HOME || homedir();
}

/**
 * Where what a person decided is kept: which bytes they trust, which hooks they switched off. Never inside a
 * checkout, which could bring such decisions along: a relative `CROCHET_HOME` does not count here.
 */
export function userState(env: Environment): string {
  const given = env.CROCHET_HOME;
  return given && isAbsolute(given) ? given : join(homeOf(env), ".crochet");
}

/** The file in which a person's decisions of one kind about one path are kept: by its hash, as a path is not a file name. */
export function stateFile(
  kind: "trust" | "switches" | "installed" | "permissions" | "logs",
  path: string,
  env: Environment,
): string {
  return join(userState(env), kind, `${sha256().update(path).digest("hex").slice(0, 32)}.json`);
}

/** Where a path really leads; one that leads nowhere is taken as it is written. */
export function realOr(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

/** A path as a person reads it: relative to the working directory, or to the home. */
export function shortPath(path: string, cwd: string, env: Environment): string {
  const home = homeOf(env);
  if (path === cwd) return ".";
  if (path.startsWith(`${cwd}/`)) return path.slice(cwd.length + 1);
  return path.startsWith(`${home}/`) ? `~/${path.slice(home.length + 1)}` : path;
}
