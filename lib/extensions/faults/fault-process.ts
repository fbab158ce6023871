import { thrownWords } from "../../core/shown.ts";
import { faultText, readFault } from "./fault.ts";
import { FaultRun, type KeptRun } from "./fault-run.ts";
import { INVARIANTS } from "./invariants.ts";
import { invariantsOf, type InvariantTally, judge, type Judgement } from "../../replay/invariants.ts";
import type { UsedPlace } from "./seam-faults.ts";
import { brokenIn, type FaultTrial, live, NOT_JUDGED, observedIn, type RunEnd, usedBy } from "./under-faults.ts";
import { type Fixture, inScratch } from "../../replay/fixture.ts";
import { doTask, FreshProcesses } from "../../replay/fresh.ts";
import { readTape } from "../../replay/read-tape.ts";
import { withRootNamed } from "../../replay/seen.ts";
import type { Tape } from "../../log/tape.ts";
import { fixtureAgent } from "../../cli/kit/known-fixtures.ts";
import type { Io } from "../../cli/kit/io.ts";
import { wordsOf } from "../../files/drafts.ts";
import { outliveStrays } from "../../cli/kit/runtime.ts";

/** A process of a run under faults: the first, or one that goes on with a session whose process was killed. */
interface FaultTask {
  readonly fixture: Fixture;
  readonly faults: readonly string[];
  /** The workspace. */
  readonly cwd: string;
  readonly wire: boolean;
  readonly before?: KilledRun;
}

interface KilledRun {
  readonly run: KeptRun;
  readonly lived: Pick<RunEnd, "events" | "results" | "killed">;
}

interface TrialAnswer {
  /** Why the agent or its invariants could not be loaded. */
  readonly error?: string;
  /** It was killed. */
  readonly before?: KilledRun;
  readonly judged?: readonly Judgement[];
  readonly used?: readonly UsedPlace[];
}

/** How schedules are tried on what a fixture recorded. */
export type TrialOf = (fixture: Fixture, tape: Tape, tally: InvariantTally) => FaultTrial;

/** Where they are tried, one process each: `using processes = faultProcesses(io)`. */
export function faultProcesses(io: Pick<Io, "signal" | "runsHere">): FreshProcesses<FaultTask> {
  return new FreshProcesses("extensions/faults/fault-process", runTask, io);
}

/** Tries schedules on the agent of a fixture, each in a process of its own, and after a kill in another. */
export function apart(processes: FreshProcesses<FaultTask>, from: string, wire: boolean): TrialOf {
  const run = async (task: FaultTask): Promise<TrialAnswer> => {
    const came = await processes.run<TrialAnswer>(task, from).catch((error): TrialAnswer => ({
      // It ended its own process, and with it a run that had not ended.
      judged: [{ invariant: "the run ends", reached: true, seen: thrownWords(error) }],
    }));
    if (!came) throw new Error(NOT_JUDGED);
    if (came.error !== undefined) throw new Error(came.error);
    return came.before ? await run({ ...task, before: came.before }) : came;
  };
  return (fixture, tape, tally) => async (faults) => {
    new FaultRun(tape, faults); // throws where one is out of place
    return await inScratch(fixture.files, async (cwd) => {
      const { judged = [], used = [] } = await run({ fixture, faults: faults.map(faultText), cwd, wire });
      tally.note(judged);
      return { broken: brokenIn(judged), used };
    }, tape.files);
  };
}

/** What such a process does. */
async function runTask({ fixture, faults, cwd, wire, before }: FaultTask): Promise<TrialAnswer> {
  const given = await loaded(fixture).catch((error): TrialAnswer => ({ error: wordsOf(error) }));
  if (!("agent" in given)) return given;
  const { agent, tape, invariants } = given;
  const run = new FaultRun(tape, faults.map(readFault), before?.run);
  const { events, results, killed, thrown } = await live(agent, tape, run, cwd, { wire }, before?.lived);
  if (killed !== undefined) return { before: { run: run.kept!, lived: { events, results, killed } } };
  const observed = observedIn(tape, run, cwd, { events, results, thrown });
  const named = withRootNamed(cwd);
  try {
    return { judged: named(judge([...INVARIANTS, ...invariants], observed)), used: usedBy(observed) };
  } catch (error) {
    return { error: wordsOf(error) };
  }
}

async function loaded(fixture: Fixture) {
  const { own, shared } = await invariantsOf(fixture);
  const agent = await fixtureAgent(fixture, new AbortController().signal);
  return { agent, tape: await readTape(fixture.tape), invariants: [...own, ...shared] };
}

if (import.meta.main) {
  outliveStrays();
  await import("../../index.ts"); // what agents import, while there is no task yet
  await doTask(runTask);
}
