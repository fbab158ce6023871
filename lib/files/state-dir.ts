import { chmodSync, closeSync, existsSync, mkdirSync, openSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";

/** Where a project's state lives: `.crochet` in it, or `CROCHET_HOME`. */
export function stateDir(
  cwd: string,
  { CROCHET_HOME: home }: { readonly [name: string]: string | undefined } = process.env,
): string {
  return home ? resolve(cwd, home) : join(cwd, ".crochet");
}

/** Where the runs of a project are logged: a folder that `CROCHET_LOG` names, or one with its state, which can be made. */
export function logsDir(
  cwd: string,
  env: { readonly [name: string]: string | undefined } = process.env,
  make = false,
): string {
  const { CROCHET_LOG: named = "" } = env;
  if (named !== "" && named !== "off") return resolve(cwd, named);
  const own = join(stateDir(cwd, env), "runs");
  return make ? privateDir(own) : own;
}

/** Makes a folder for state: git ignores it, and so do the agent's own searches. */
export function privateDir(path: string): string {
  try {
    mkdirSync(path, { recursive: true });
    const ignore = join(path, ".gitignore");
    if (!existsSync(ignore)) writeFileSync(ignore, "*\n");
    return path;
  } catch (error) {
    if (!["EACCES", "EPERM", "EROFS"].includes((error as { code?: string }).code ?? "")) throw error;
    throw new Error(`Cannot write to ${path}: set CROCHET_HOME to a folder of yours`);
  }
}

/** Makes a file that only its owner may read, or makes it so; what SQLite puts beside its file gets the same rights. */
export function makePrivate(path: string): void {
  if (path === ":memory:") return;
  mkdirSync(dirname(path), { recursive: true });
  closeSync(openSync(path, "a", 0o600));
  chmodSync(path, 0o600);
}
