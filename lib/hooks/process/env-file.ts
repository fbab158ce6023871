import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

/** The file through which SessionStart hooks set variables for the shell of a session. */
interface EnvFile {
  /** Its path; the folder is made when it is first asked for, and the shell then knows of it. */
  readonly path: () => string;
  readonly remove: () => void;
}

/** Keeps the file of one session; Bash finds it in its `state` under "env-file". */
export function sessionEnvFile(toolState: Map<string, unknown>): EnvFile {
  let path: string | undefined;
  return {
    path: () => {
      path ??= join(mkdtempSync(join(tmpdir(), "crochet-env-")), "sessionstart-hook-0.sh");
      toolState.set("env-file", path);
      return path;
    },
    remove: () => {
      if (path !== undefined) rmSync(dirname(path), { recursive: true, force: true });
    },
  };
}
