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

/** The transcripts of a project, as `crochet run` keeps them. */
export function projectStore(cwd: string, env: Environment, warn: (message: string) => void): TranscriptStore {
  return jsonlStore(runsDir(cwd, env), {
    onTorn: (id, bytes) => warn(`The last line of session ${id} was torn by a crash: ${bytes} bytes are left out`),
  });
}
