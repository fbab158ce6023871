import { thrownWords } from "../core/shown.ts";
import { faultText, readFault } from "../replay/fault/fault.ts";
import { FaultRun, type KeptRun } from "../replay/fault/fault-run.ts";
import { INVARIANTS } from "../replay/fault/invariants.ts";
import { invariantsOf, judge, type Judgement } from "../replay/fault/judge-fault.ts";
import type { UsedPlace } from "../replay/fault/seam-faults.ts";
import { type FaultTrial, live, type Lived, NOT_JUDGED, observedIn, usedBy } from "../replay/fault/under-faults.ts";
import { type Fixture, inScratch } from "../replay/fixture.ts";
import { doTask, FreshProcesses } from "../replay/fresh.ts";
import { readTape } from "../replay/read-tape.ts";
import { withRootNamed } from "../replay/seen.ts";
import type { Tape } from "../replay/tape.ts";
import { fixtureAgent } from "./_fixtures.ts";
import type { Io } from "./_io.ts";
import { wordsOf } from "./_process.ts";
import { outliveStrays } from "./_runtime.ts";

/** A process of a run under faults: the first, or one that goes on with a session whose process was killed. */
interface FaultTask {
  readonly fixture: Fixture;
  readonly faults: readonly string[];
  /** The workspace. */
  readonly cwd: string;
  readonly wire: boolean;
  readonly before?: Before;
}

interface Before {
  readonly run: KeptRun;
  readonly lived: Pick<Lived, "events" | "results" | "killed">;
}

interface Came {
  /** Why the agent or its invariants could not be loaded. */
  readonly error?: string;
  /** It was killed. */
  readonly before?: Before;
  readonly judged?: readonly Judgement[];
  readonly used?: readonly UsedPlace[];
}

/** Tries schedules on the agent of a fixture, each in a process of its own, and after a kill in another: `using trials = …`. */
export class FreshTrials implements Disposable {
  readonly #processes: FreshProcesses<FaultTask>;
  readonly #cwd: string;

  constructor(io: Pick<Io, "cwd" | "signal" | "runsHere">) {
    this.#cwd = io.cwd;
    this.#processes = new FreshProcesses("cli/_fault-process", runTask, io);
  }

  /** `note` learns how each run was judged. */
  of(fixture: Fixture, tape: Tape, wire: boolean, note: (judged: readonly Judgement[]) => void): FaultTrial {
    return async (faults) => {
      new FaultRun(tape, faults); // throws where one is out of place
      return await inScratch(fixture.files, async (cwd) => {
        const { judged, used } = await this.#run({ fixture, faults: faults.map(faultText), cwd, wire });
        note(judged!);
        const broken = judged!.flatMap(({ invariant, seen }) => seen === undefined ? [] : [{ invariant, seen }]);
        return { broken, used: used! };
      }, tape.files);
    };
  }

  async #run(task: FaultTask): Promise<Came> {
    let came: Came | undefined;
    try {
      came = await this.#processes.run<Came>(task, this.#cwd);
    } catch (error) {
      // It ended its own process, and with it a run that had not ended.
      return { judged: [{ invariant: "the run ends", reached: true, seen: thrownWords(error) }], used: [] };
    }
    if (!came) throw new Error(NOT_JUDGED);
    if (came.error !== undefined) throw new Error(came.error);
    return came.before ? await this.#run({ ...task, before: came.before }) : came;
  }

  [Symbol.dispose](): void {
    this.#processes[Symbol.dispose]();
  }
}

/** What such a process does. */
async function runTask({ fixture, faults, cwd, wire, before }: FaultTask): Promise<Came> {
  let given: Awaited<ReturnType<typeof loaded>>;
  try {
    given = await loaded(fixture);
  } catch (error) {
    return { error: wordsOf(error) };
  }
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
  await import("../index.ts"); // what agents import, while there is no task yet
  await doTask(runTask);
}
