import { existsSync } from "node:fs";
import { modelCalls } from "../../replay/requests/api.ts";
import { renewalText, renewed } from "../../replay/drift/drift-report.ts";
import { type Fixture, fixtureProject } from "../../replay/fixture.ts";
import { InvariantTally } from "../../replay/invariants.ts";
import { programOf } from "../../replay/match-call.ts";
import { COMMAND_INVARIANTS, commandAgent } from "./faults.ts";
import { commandFor, recordAgain, recordedTape, replayCommand } from "./run-command.ts";
import { inWorkspace, worksHere } from "../../replay/working-copy.ts";
import { giftFor } from "../../cli/kit/extension.ts";
import type { Io } from "../../cli/kit/io.ts";
import { type Programs, PROOF, type TypedCommand } from "../../cli/kit/programs.ts";
import { proveRecording, unprovable } from "./prove-recording.ts";
import { commandReview } from "./review.ts";
import { recordProgram } from "./record-program.ts";
import { started } from "./started.ts";

/** What a search runs. */
const commandSearch: Programs["search"] = async (fixture, { env }, typed) => {
  const { cwd, command } = placed(fixture, typed);
  const tape = await recordedTape(fixture);
  const copyOf = tape.header.input ? undefined : cwd;
  return {
    agent: commandAgent(commandFor(tape, cwd, command), env, copyOf),
    invariants: COMMAND_INVARIANTS,
    within: (work, note) => inWorkspace(fixture, tape.header, { cwd, note }, (files) => work({ ...fixture, files })),
  };
};

const placed = ({ folder }: Fixture, typed: TypedCommand): { readonly cwd: string; command?: readonly string[] } =>
  typed ?? { cwd: fixtureProject(folder) };

/** Which of the kept faults a command did not survive, in a sentence. */
async function brokenAgain(
  fixture: Fixture,
  io: Pick<Io, "env" | "signal">,
  typed: TypedCommand,
): Promise<string | undefined> {
  if (!existsSync(fixture.faults)) return undefined;
  const { again } = await giftFor("faults", fixture);
  const { agent, invariants, within } = await commandSearch(fixture, io, typed);
  const tally = new InvariantTally({ own: invariants, shared: [] });
  return await within((copy) => again(copy, agent, { tally, signal: io.signal }));
}

/** Replays a command, in its project as it is now. The caller has seen to it that the fixture is trusted. */
const replayRecorded: Programs["replay"] = async (fixture, io, typed, onDrift) => {
  const { header } = await recordedTape(fixture);
  const options = { ...placed(fixture, typed), env: io.env, signal: io.signal, quiet: true, onDrift };
  const { command = header.command! } = options;
  const { report: { renew, ...report } } = await started(command, () => replayCommand(fixture, options));
  const broke = report.ok ? await brokenAgain(fixture, io, typed) : undefined;
  return { report: { ...report, ...(typed && { renew }) }, ...(broke !== undefined && { broke }) };
};

/** Records the command of a tape again, in the workspace of a replay, in place of what was recorded. */
const renewRecorded: Programs["renew"] = async (fixture, was, io) => {
  const before = await recordedTape(fixture);
  const cwd = fixtureProject(fixture.folder);
  const proves = before.end?.out !== undefined;
  io.err(`recording ${fixture.name} again: ${renewalText(was)}\n`);
  const again = (root: string) =>
    recordAgain(root, fixture, before, fixture, {
      ...{ cwd, env: io.env, signal: io.signal, quiet: true, replace: true },
      ...{ redact: programOf(before).hasSecrets, proves },
      onLeftOut: (path, why) => io.err(`${path} is not kept with the fixture: ${why}\n`),
    });
  const made = await inWorkspace(fixture, before.header, { cwd, here: worksHere(before.header) }, again);
  const { tape, end } = made;
  if (proves && unprovable(end) !== undefined) await made.settle({});
  else if (proves) {
    const report = await proveRecording(fixture, made, { cwd, env: io.env, signal: io.signal });
    if (!report.ok) return { ...report, notes: [...report.notes, `it was recorded again, ${PROOF.broken}`] };
  }
  const ending = `it ended with '${end.end}', but was recorded with '${before.end?.end}'`;
  const notes = before.end && before.end.end !== end.end ? [ending] : [];
  return { ...renewed(was, modelCalls(tape).length), notes };
};

export default {
  record: recordProgram,
  search: commandSearch,
  replay: replayRecorded,
  renew: renewRecorded,
  review: (fixture, tape, { env, signal, err }) =>
    commandReview(fixture, tape, {
      ...{ cwd: fixtureProject(fixture.folder), env, signal },
      note: (line) => err(`${fixture.name}: ${line}\n`),
    }),
} satisfies Programs;
