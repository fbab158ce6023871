import { existsSync } from "node:fs";
import { modelCalls } from "../../eval/command-run.ts";
import { type DriftReport, renewalText } from "../../replay/drift/drift-report.ts";
import { INVARIANTS } from "../../replay/fault/invariants.ts";
import { brokenAgain } from "../../replay/fault/kept-faults.ts";
import { underFaults } from "../../replay/fault/under-faults.ts";
import { type Fixture, fixtureProject } from "../../replay/fixture.ts";
import { programOf } from "../../replay/match-call.ts";
import { COMMAND_INVARIANTS, commandAgent } from "../../replay/server/faults.ts";
import { commandFor, recordAgain, recordedTape, replayCommand } from "../../replay/server/run-command.ts";
import { inWorkspace } from "../../replay/server/working-copy.ts";
import type { Io } from "../_io.ts";
import type { TrialOf } from "../_replay-faults.ts";
import { started } from "./_asked.ts";

/** A command in place of an agent, for a search for faults. */
export interface CommandSearch {
  readonly tried: TrialOf;
  /** Which of the kept faults it did not survive, in a sentence. */
  readonly brokenAgain: () => Promise<string | undefined>;
  /** Gives the fixture with the workspace that each run works in a copy of. */
  readonly within: <T>(work: (fixture: Fixture) => Promise<T>, note?: (line: string) => void) => Promise<T>;
}

/** What a search runs: the command that was typed in a directory, else the one of the tape in the fixture's project. */
export async function commandSearch(
  fixture: Fixture,
  { env, signal }: Pick<Io, "env" | "signal">,
  { cwd = fixtureProject(fixture.folder), command }: { readonly cwd?: string; readonly command?: readonly string[] } =
    {},
): Promise<CommandSearch> {
  const tape = await recordedTape(fixture);
  const copyOf = tape.header.input ? undefined : cwd;
  const subject = commandAgent(commandFor(tape, cwd, command), env, copyOf);
  const invariants = [...INVARIANTS, ...COMMAND_INVARIANTS];
  const within: CommandSearch["within"] = (work, note) =>
    inWorkspace(fixture, tape.header, { cwd, note }, (files) => work({ ...fixture, files }));
  return {
    tried: ({ files }, tape, tally) => (faults) =>
      underFaults(subject, tape, faults, { files, invariants: [...invariants, ...tally.all], signal }),
    brokenAgain: async () =>
      existsSync(fixture.faults)
        ? await within((copy) => brokenAgain(copy, subject, { invariants, signal }))
        : undefined,
    within,
  };
}

/** Replays the command of a tape, in its project as it is now. The caller has seen to it that the fixture is trusted. */
export async function replayRecorded(
  fixture: Fixture,
  io: Pick<Io, "env" | "signal">,
  timeout?: number,
): Promise<{ readonly report: DriftReport; readonly broke?: string }> {
  const { header } = await recordedTape(fixture);
  const options = { cwd: fixtureProject(fixture.folder), env: io.env, signal: io.signal, quiet: true, timeout };
  const { report: { renew: _, ...report } } = await started(header.command!, () => replayCommand(fixture, options));
  const broke = report.ok ? await (await commandSearch(fixture, io)).brokenAgain() : undefined;
  return { report, ...(broke !== undefined && { broke }) };
}

/** Records the command of a tape again, in the workspace of a replay, in place of what was recorded. */
export async function renewRecorded(fixture: Fixture, was: DriftReport, io: Io): Promise<DriftReport> {
  const before = await recordedTape(fixture);
  const cwd = fixtureProject(fixture.folder);
  io.err(`recording ${fixture.name} again: ${renewalText(was)}\n`);
  const { tape, end } = await inWorkspace(
    fixture,
    before.header,
    { cwd },
    (root) =>
      recordAgain(root, fixture, before, fixture, {
        ...{ cwd, env: io.env, signal: io.signal, quiet: true, replace: true },
        redact: programOf(before).hasSecrets,
        onLeftOut: (path, why) => io.err(`${path} is not kept with the fixture: ${why}\n`),
      }),
  );
  const ending = `it ended with '${end.end}', but was recorded with '${before.end?.end}'`;
  return {
    ...was,
    ...{ ok: true, mode: "update", divergences: [], tools: [], files: [], unused: [] },
    calls: { recorded: was.calls.recorded, served: 0, live: modelCalls(tape).length },
    notes: before.end && before.end.end !== end.end ? [ending] : [],
  };
}
