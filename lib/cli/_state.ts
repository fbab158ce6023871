import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { jsonlStore } from "../transcript/jsonl.ts";
import type { TranscriptStore } from "../transcript/store.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** Where a project's state lives: `.crochet` in it, or `CROCHET_HOME`. */
export function stateDir(cwd: string, env: Environment): string {
  return env.CROCHET_HOME ? resolve(cwd, env.CROCHET_HOME) : join(cwd, ".crochet");
}

/** The runs of a project. */
export function runsDir(cwd: string, env: Environment): string {
  return join(stateDir(cwd, env), "runs");
}

/** Makes a folder for what is nobody's source: git leaves it out, and so do the agent's own searches. */
export function privateDir(path: string): string {
  mkdirSync(path, { recursive: true });
  const ignore = join(path, ".gitignore");
  if (!existsSync(ignore)) writeFileSync(ignore, "*\n");
  return path;
}

/** The transcripts of a project, as `crochet run` keeps them. */
export function projectStore(cwd: string, env: Environment, warn: (message: string) => void): TranscriptStore {
  return jsonlStore(runsDir(cwd, env), {
    onTorn: (id, bytes) => warn(`The last line of session ${id} was torn by a crash: ${bytes} bytes are left out`),
  });
}
