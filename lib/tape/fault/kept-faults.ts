import { existsSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { shellWord } from "../../core/shown.ts";
import { importProblem } from "../../files/import-problem.ts";
import { readFaultFile, type SavedFaults } from "./fault-file.ts";
import { type Fault, faultText } from "./fault.ts";
import { FaultRun } from "./fault-run.ts";
import type { Fixture } from "../fixture.ts";
import { type Invariant, INVARIANTS } from "./invariants.ts";
import { readTape } from "../read.ts";
import type { Tape } from "../tape.ts";
import { type Faultable, underFaults, type UnderFaultsOptions } from "./under-faults.ts";

const OWN = ["ts", "js", "mjs"].map((kind) => `invariants.${kind}`);

/**
 * What must hold in every run of a fixture: the default invariants, and those its own `invariants.ts`, `.js` or `.mjs`
 * exports.
 *
 * @throws {TypeError} where that file cannot be loaded or exports something else
 */
export async function invariantsOf({ folder }: Fixture): Promise<readonly Invariant[]> {
  const path = OWN.map((name) => join(folder, name)).find((file) => existsSync(file));
  if (path === undefined) return INVARIANTS;
  const { default: own } = await load(path);
  if (Array.isArray(own) && own.every((one) => typeof one?.name === "string" && typeof one.broken === "function")) {
    return [...INVARIANTS, ...own];
  }
  throw new TypeError(
    `Cannot use ${path} as it exports no list of invariants: export default [{ name, broken: (observed) => ... }]`,
  );
}

async function load(path: string): Promise<{ default?: readonly Invariant[] }> {
  try {
    return await import(pathToFileURL(path).href);
  } catch (error) {
    const { words, place } = importProblem(error);
    throw new TypeError(`Cannot load '${path}' as ${words}${place === undefined ? "" : `: ${place}`}`);
  }
}

/**
 * Tries again the faults that a search has kept beside a tape. What an agent still does not survive, in a sentence;
 * undefined where it survives all of them.
 *
 * @throws {TypeError} where the file is broken, or names a place that the tape has not
 */
export async function brokenAgain(
  fixture: Fixture,
  agent: Faultable,
  options: Pick<UnderFaultsOptions, "wire" | "signal"> = {},
): Promise<string | undefined> {
  const still = await stillBroken(fixture, agent, options);
  return still && notSurvived(fixture.name, still, fixture.faults);
}

/** The first of the kept faults that an agent still does not survive, and what it breaks now. */
export async function stillBroken(
  fixture: Fixture,
  agent: Faultable,
  options: Pick<UnderFaultsOptions, "wire" | "signal"> = {},
): Promise<SavedFaults | undefined> {
  const kept = readFaultFile(fixture.faults);
  if (kept.length === 0) return undefined;
  const { files } = fixture;
  const tape = await readTape(fixture.tape);
  const invariants = await invariantsOf(fixture);
  for (const { faults } of kept) refuseMisplaced(fixture, tape, faults);
  for (const { faults } of kept) {
    const { broken: [first] } = await underFaults(agent, tape, faults, { ...options, files, invariants });
    if (first) return { broke: `${first.invariant}: ${first.seen}`, faults };
  }
  return undefined;
}

/** What an agent does not survive, in a sentence. */
export function notSurvived(name: string, { broke, faults }: SavedFaults, file: string): string {
  const schedule = faults.map(faultText).join("', '");
  return `Cannot accept the agent of '${name}' as it does not survive '${schedule}' (${file}): ${broke}`;
}

/** A tape that was recorded anew may not have what was hit. */
function refuseMisplaced(fixture: Fixture, tape: Tape, faults: readonly Fault[]): void {
  try {
    new FaultRun(tape, faults);
  } catch (error) {
    throw new TypeError(
      `Cannot try the faults of ${fixture.faults} again as one does not fit the tape (${(error as Error).message}): ` +
        `take the entry out, and search again with 'crochet replay ${shellWord(fixture.name)} --faults'`,
    );
  }
}
