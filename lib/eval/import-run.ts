import { cpSync, existsSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import { fixtureAt, scriptFromTape, scriptOnTape } from "../replay/fixture.ts";
import { ImportRefused } from "../replay/import/exchange.ts";
import { readTape } from "../replay/read-tape.ts";
import { USER_FILE } from "../replay/run-on-tape.ts";
import type { Tape } from "../replay/tape.ts";
import { BUILT_IN } from "../runtime/importing.ts";
import { writeTape } from "../replay/write-tape.ts";
import { KEPT } from "./attempt.ts";

/** Whether a folder keeps a run of an eval. */
export function isRunFolder(folder: string): boolean {
  return existsSync(join(folder, KEPT)) && existsSync(fixtureAt(folder).tape);
}

/**
 * Makes a fixture of a run of an eval, with the files it began with; its tools then run for real in a replay. Without
 * files they cannot, and their results stay on the tape.
 *
 * @throws {ImportRefused} if its agent is not there any more
 */
export async function importRun(run: string, tapePath: string, { replace }: { replace: boolean }): Promise<Tape> {
  const folder = realpathSync(run); // the agent is named from where the run really is
  const { files, tape: path } = fixtureAt(folder);
  const { header, tools, ...rest } = await readTape(path);
  const { agent } = header;
  const script = agent === undefined || agent === BUILT_IN ? undefined : scriptFromTape(folder, agent);
  if (script !== undefined && !existsSync(script)) {
    throw new ImportRefused(
      `Cannot import '${run}' as its agent ${script} is not there: import a run of the agent here`,
    );
  }
  const kept = files === undefined && header.tools;
  const tape: Tape = {
    ...rest,
    tools: kept ? tools : [],
    header: {
      ...header,
      tools: kept,
      ...(script !== undefined && { agent: scriptOnTape(dirname(tapePath), script) }),
    },
  };
  await writeTape(tapePath, tape, { replace });
  if (files !== undefined) cpSync(realpathSync(files), join(dirname(tapePath), "files"), { recursive: true });
  const user = join(folder, USER_FILE);
  if (existsSync(user)) cpSync(user, join(dirname(tapePath), USER_FILE));
  return tape;
}
