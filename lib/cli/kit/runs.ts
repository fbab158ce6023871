import { BUILT_IN } from "../../runtime/importing.ts";
import { statePath } from "../../files/state.ts";
import { readOwn } from "../../log/own.ts";
import { Log } from "../../log/read-log.ts";
import { promoted } from "../../replay/record/promote.ts";
import { type Fixture, fixtureAt, scriptOnTape } from "../../replay/fixture.ts";
import type { Flags } from "./flags.ts";
import { UsageError } from "./io.ts";
import { runId } from "./project.ts";

/** Reads the log of a run that was written here: what a stranger's log names is run, so a person must trust it. */
export function ownLog(path: string, verb: string, { trust }: Flags["flags"]): Log {
  const found = readOwn(path, verb, trust === true);
  if (!found) throw new UsageError(`Cannot ${verb} ${runId(path)} as its log is empty: run it again`);
  return new Log(found.entries, path);
}

/** @throws {UsageError} if a run of it was cut off, or a person ended it: there is nothing to compare with */
export function expectEnded(log: Log, verb: string): void {
  const { begins, ends, header: { id } } = log;
  const why = begins.length > ends.length
    ? "its last run was cut off"
    : ends.some(({ ending }) => ending.stop === "aborted")
    ? "it was interrupted"
    : undefined;
  if (why === undefined) return;
  const fix = begins.length > ends.length ? `crochet run --resume ${id} continues it` : "run it again";
  throw new UsageError(`Cannot ${verb} ${id} as ${why}: ${fix}`);
}

/** The script of a log's agent as a fixture in a folder names it. */
export function agentOnTape({ header: { agent, id } }: Log, folder: string): string {
  if (agent === BUILT_IN) return agent;
  if (agent !== undefined) return scriptOnTape(folder, agent);
  throw new UsageError(
    `Cannot run ${id} again as its log names no script: make the agent with 'from: import.meta.url'`,
  );
}

/** A run as a fixture whose tape is in memory: its tools are served from its log. */
export function asFixture(path: string, flags: Flags["flags"], verb: string): LoggedFixture {
  const log = ownLog(path, verb, flags);
  expectEnded(log, verb);
  const { id, cwd } = log.header;
  const fixture = fixtureAt(statePath(cwd, {}, id));
  const { tape: taped } = promoted(log, { agent: agentOnTape(log, fixture.folder) });
  return { ...fixture, tape: path, taped, name: id, cwd };
}

/** A fixture that is made of a log. */
export interface LoggedFixture extends Fixture {
  /** Where its agent worked. */
  readonly cwd: string;
}
