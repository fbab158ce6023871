import { ENV_FILE } from "../../tools/tool-state.ts";

/** The file through which SessionStart hooks set variables for the shell of a session. */
interface EnvFile {
  /** Its path; the folder is made when it is first asked for, and the shell then knows of it. */
  readonly path: () => string;
  readonly remove: () => void;
}

/** Keeps the file of one session; Bash finds it in its state. */
export function sessionEnvFile(toolState: Map<string, unknown>): EnvFile {
  // Asked for when needed: every session begins here, and few have such a hook.
  const disk = () => process.getBuiltinModule("node:fs");
  let folder: string | undefined;
  return {
    path: () => {
      folder ??= disk().mkdtempSync(`${process.getBuiltinModule("node:os").tmpdir()}/crochet-env-`);
      const path = `${folder}/sessionstart-hook-0.sh`;
      toolState.set(ENV_FILE, path);
      return path;
    },
    remove: () => {
      if (folder !== undefined) disk().rmSync(folder, { recursive: true, force: true });
    },
  };
}
