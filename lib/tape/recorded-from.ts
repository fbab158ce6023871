import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { fixtureAt } from "./fixture.ts";
import { keepFiles } from "./keep-files.ts";
import type { TapeOptions } from "./options.ts";
import { TapeError } from "./read.ts";

/** The script an agent was made in, as a path. */
export function scriptOf(from: string): string {
  return from.startsWith("file:") ? fileURLToPath(from) : from;
}

/**
 * What a recording that no command began needs so that `crochet replay` can run it again: the agent's script, unless
 * that is a test, and where only the environment asked for it the workspace as it is before the run.
 */
export function recordedFrom(
  options: TapeOptions,
  from: string | undefined,
  cwd: string,
  byEnvironment: boolean,
): TapeOptions {
  const { path, agent } = options;
  if (path === undefined || path.endsWith(".jsonl") || agent !== undefined || from === undefined) return options;
  const script = scriptOf(from);
  if (/[._](?:test|spec)\.\w+$/.test(script)) return options;
  if (byEnvironment && !options.tools && fixtureAt(path).files === undefined) {
    keptOrNot(() => keepFiles(cwd, path, [script, join(dirname(script), "hooks")]));
  }
  return { ...options, agent: relative(path, script) };
}

/** A workspace too large to be kept is still recorded: it can be replayed where it is. */
function keptOrNot(keep: () => unknown): void {
  try {
    keep();
  } catch (error) {
    if (!(error instanceof TapeError)) throw error;
  }
}
