import { basename, resolve } from "node:path";
import { isFolder, logsDir, stateFiles, writtenAt } from "../../files/state.ts";
import type { Environment } from "../../hooks/file/user-places.ts";
import type { Flags } from "./flags.ts";
import { type Io, UsageError } from "./io.ts";

/** The directory a command is about: `--cwd`, or the current directory. */
export function projectOf({ cwd = "." }: Flags["flags"], io: Pick<Io, "cwd">): string {
  const path = resolve(io.cwd, String(cwd));
  if (isFolder(path)) return path;
  throw new UsageError(`Cannot work in '${path}' as there is no such directory`);
}

const ENDING = ".jsonl";

/** The id of a run by the path of its log. */
export function runId(path: string): string {
  return basename(path, ENDING);
}

export function logsOf(cwd: string, env: Environment): string[] {
  return stateFiles(logsDir(cwd, env), ENDING).map(({ path }) => path);
}

/** The least of an id that must be typed: otherwise a short word would be taken for a run. */
const LEAST_OF_ID = 4;

/** The log that a person means by 'last', an id or the beginning of one. @throws {UsageError} if several runs begin so */
export function logMeant(
  given: string,
  cwd: string,
  env: Environment,
  all: readonly string[] = logsOf(cwd, env),
): string | undefined {
  if (given === "last") return newestFirst(all)[0];
  const whole = all.find((path) => runId(path) === given);
  if (whole !== undefined || given.length < LEAST_OF_ID) return whole;
  const found = all.filter((path) => runId(path).startsWith(given));
  if (found.length <= 1) return found[0];
  const few = found.slice(0, 5).map(runId).join(", ");
  throw new UsageError(`Several runs begin with '${given}': ${few}`);
}

/** The same. @throws {UsageError} if there is none */
export function expectRun(
  given: string,
  verb: string,
  cwd: string,
  env: Environment,
  all?: readonly string[],
): string {
  const found = logMeant(given, cwd, env, all);
  if (found !== undefined) return found;
  throw new UsageError(
    given === "last"
      ? `Cannot ${verb} the last run as there is none here: run one first`
      : `Cannot ${verb} '${given}' as there is no such run: 'crochet runs' lists them`,
  );
}

/** The files that exist, last written first. */
export function newestFirst(paths: readonly string[]): string[] {
  return paths
    .map((path) => ({ path, at: writtenAt(path) ?? -1 }))
    .filter(({ at }) => at >= 0)
    .sort((a, b) => b.at - a.at)
    .map(({ path }) => path);
}
