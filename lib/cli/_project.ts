import { basename, resolve } from "node:path";
import { isFolder, logsDir, stateFiles, writtenAt } from "../files/state.ts";
import type { Environment } from "../hooks/file/user-places.ts";
import type { Flags } from "./_flags.ts";
import { type Io, UsageError } from "./_io.ts";

/** The directory a command is about: `--cwd`, or the current directory. */
export function projectOf({ cwd = "." }: Flags["flags"], io: Pick<Io, "cwd">): string {
  const path = resolve(io.cwd, String(cwd));
  if (isFolder(path)) return path;
  throw new UsageError(`Cannot work in '${path}' as there is no such directory`);
}

const ENDING = ".jsonl";

/** The file that a run is logged in, by the run's id. */
export function rolloutName(id: string): string {
  return `${id}${ENDING}`;
}

/** The id of a run by the path of its log. */
export function rolloutId(path: string): string {
  return basename(path, ENDING);
}

/** The logs of a project's runs. */
export function rollouts(cwd: string, env: Environment): string[] {
  return stateFiles(logsDir(cwd, env), ENDING).map(({ path }) => path);
}

/** The least of an id that must be typed: otherwise a short word would be taken for a run. */
const LEAST_OF_ID = 4;

/**
 * Finds a run by its id or the beginning of it.
 *
 * @throws {UsageError} if several runs begin so
 */
export function runMeant(given: string, paths: readonly string[]): string | undefined {
  const whole = paths.find((path) => rolloutId(path) === given);
  if (whole !== undefined || given.length < LEAST_OF_ID) return whole;
  const found = paths.filter((path) => rolloutId(path).startsWith(given));
  if (found.length <= 1) return found[0];
  const few = found.slice(0, 5).map(rolloutId).join(", ");
  throw new UsageError(`Several runs begin with '${given}': ${few}`);
}

/** The files that exist, last written first. */
export function newestFirst(paths: readonly string[]): string[] {
  return paths
    .map((path) => ({ path, at: writtenAt(path) ?? -1 }))
    .filter(({ at }) => at >= 0)
    .sort((a, b) => b.at - a.at)
    .map(({ path }) => path);
}
