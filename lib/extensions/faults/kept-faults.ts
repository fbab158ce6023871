import { existsSync, readFileSync } from "node:fs";
import { shellWord } from "../../core/shown.ts";
import { type Fault, faultText, readFault } from "./fault.ts";
import { FaultRun } from "./fault-run.ts";
import type { Fixture } from "../../replay/fixture.ts";
import { readTape } from "../../replay/read-tape.ts";
import { expectUsed } from "./seam-faults.ts";
import type { Tape } from "../../log/tape.ts";
import type { InvariantTally } from "../../replay/invariants.ts";
import type { TrialOf } from "./fault-process.ts";
import type { FaultTrial } from "./under-faults.ts";

/**
 * Tries again the faults that a search has kept beside a tape. What an agent still does not survive, in a sentence;
 * undefined if it survives all of them.
 *
 * @throws {TypeError} if the file is broken, or names a place that is not on the tape
 */
export async function brokenAgain(
  fixture: Fixture,
  tally: InvariantTally,
  trialOf: TrialOf,
): Promise<string | undefined> {
  const tape = await readTape(fixture.tape);
  const still = await stillBroken(fixture, tape, trialOf(fixture, tape, tally));
  return still && notSurvived(fixture.name, still, fixture.faults);
}

/** The first of the kept faults that an agent still does not survive, and what it breaks now. */
export async function stillBroken(fixture: Fixture, tape: Tape, tried: FaultTrial): Promise<SavedFaults | undefined> {
  const kept = readFaultFile(fixture.faults);
  for (const { faults } of kept) refuseMisplaced(fixture, () => new FaultRun(tape, faults));
  for (const { faults } of kept) {
    const { broken: [first], used } = await tried(faults);
    if (first) return { broke: `${first.invariant}: ${first.seen}`, faults };
    refuseMisplaced(fixture, () => expectUsed(faults, used));
  }
  return undefined;
}

export function notSurvived(name: string, { broke, faults }: SavedFaults, file: string): string {
  const schedule = faults.map(faultText).join("', '");
  return `Cannot accept the agent of '${name}' as it does not survive '${schedule}' (${file}): ${broke}`;
}

/** A tape that was recorded again may not have what was hit. */
function refuseMisplaced(fixture: Fixture, place: () => unknown): void {
  try {
    place();
  } catch (error) {
    throw new TypeError(
      `Cannot try the faults of ${fixture.faults} again as one does not fit the tape (${(error as Error).message}): ` +
        `take the entry out, and search again with 'crochet replay ${shellWord(fixture.name)} --faults'`,
    );
  }
}

/** Faults that an agent once did not survive, kept beside its tape and tried again with every replay. */
export interface SavedFaults {
  /** Which invariant did not hold, and what was seen. */
  readonly broke: string;
  readonly faults: readonly Fault[];
}

/** The faults that were kept for a tape; none if there is no file. @throws {TypeError} if the file cannot be read, naming it */
export function readFaultFile(path: string): SavedFaults[] {
  if (!existsSync(path)) return [];
  try {
    const list: unknown = JSON.parse(readFileSync(path, "utf8"));
    if (!Array.isArray(list)) throw new TypeError("It is not a list");
    return list.map(savedFaults);
  } catch (error) {
    throw new TypeError(
      `Cannot read ${path} as it is not what a search for faults writes: ${
        (error as Error).message
      }; fix it, or delete it and search again`,
    );
  }
}

function savedFaults(entry: unknown, i: number): SavedFaults {
  const { broke, faults } = (entry ?? {}) as { broke?: unknown; faults?: unknown };
  if (typeof broke !== "string") throw new TypeError(`Entry ${i + 1} has no text 'broke'`);
  if (!Array.isArray(faults) || faults.length === 0 || faults.some((fault) => typeof fault !== "string")) {
    throw new TypeError(`Entry ${i + 1} has no list 'faults' of texts as 'call 2, tool_use:Edit, delta 3: cut'`);
  }
  return { broke, faults: faults.map(readFault) };
}

/** Adds faults to a file, the same ones once. @throws {Error} with the faults if it cannot be written, as finding them took long */
export async function saveFaults(path: string, found: SavedFaults): Promise<void> {
  const text = (faults: readonly Fault[]) => faults.map(faultText);
  const kept = readFaultFile(path).filter(({ faults }) => text(faults).join() !== text(found.faults).join());
  const list = [...kept, found].map(({ broke, faults }) => ({ broke, faults: text(faults) }));
  const { writeWhole } = await import("../../files/drafts.ts");
  try {
    writeWhole(path, `${JSON.stringify(list, null, 2)}\n`);
  } catch (error) {
    throw new Error(`${(error as Error).message}; found was '${text(found.faults).join("', '")}': ${found.broke}`);
  }
}
