import type { DriftReport } from "../../replay/drift/drift-report.ts";
import type { Invariant } from "../../replay/invariants.ts";
import type { Fixture } from "../../replay/fixture.ts";
import type { Replayable } from "../../replay/run-on-tape.ts";
import type { Reviewable } from "../../replay/review.ts";
import type { OnDrift } from "../../replay/tape-options.ts";
import type { Normaliser } from "../../log/entry.ts";
import type { Tape } from "../../log/tape.ts";
import type { Flags } from "./flags.ts";
import type { Io } from "./io.ts";
import type { Reporter } from "./report.ts";

/** What was typed behind `--`, and where. @default the command of the tape, in the fixture's project */
export type TypedCommand = { readonly command: readonly string[]; readonly cwd: string } | undefined;

export interface RecordAsked extends Pick<Flags, "flags"> {
  readonly folder: string;
  readonly command: readonly string[];
  readonly normalise: readonly Normaliser[];
}

/** What is said before a recording is run again to prove it. */
export const runsAgain = (where: string): string =>
  `runs it once more, offline for the model, to see that it replays; what it does${where} happens again (--once leaves it out)`;

/** What is said of a recording: that it was run again, and as it was. */
export const PROOF = {
  held: "replays",
  open: "not proven",
  broken: "but it does not replay unchanged: declare what differs with --normalise",
};

/** What records other programs, and runs their commands again. The caller has seen to it that a fixture is trusted. */
export interface Programs {
  /** Records a command into a new folder, and gives the exit code. */
  readonly record: (asked: RecordAsked, io: Reporter) => Promise<number>;
  readonly search: (
    fixture: Fixture,
    io: Pick<Io, "env" | "signal">,
    typed: TypedCommand,
  ) => Promise<{
    readonly agent: Pick<Replayable, "open">;
    /** What must hold of it besides what holds for every run. */
    readonly invariants: readonly Invariant[];
    /** Gives the fixture with the workspace that each run works in a copy of. */
    readonly within: <T>(work: (fixture: Fixture) => Promise<T>, note?: (line: string) => void) => Promise<T>;
  }>;
  readonly replay: (
    fixture: Fixture,
    io: Pick<Io, "env" | "signal">,
    typed: TypedCommand,
    onDrift?: OnDrift,
  ) => Promise<{ readonly report: DriftReport; readonly broke?: string }>;
  readonly renew: (fixture: Fixture, was: DriftReport, io: Io) => Promise<DriftReport>;
  readonly review: (fixture: Fixture, tape: Tape, io: Io) => Reviewable;
}
