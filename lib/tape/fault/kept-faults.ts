import { existsSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { readFaultFile } from "./fault-file.ts";
import { faultText } from "./fault.ts";
import type { Fixture } from "../fixture.ts";
import { type Invariant, INVARIANTS } from "./invariants.ts";
import { readTape } from "../read.ts";
import { type Faultable, underFaults, type UnderFaultsOptions } from "./under-faults.ts";

/**
 * What must hold in every run of a fixture: the default invariants, and those its own `invariants.ts` exports.
 *
 * @throws {TypeError} where that file exports something else
 */
export async function invariantsOf({ folder }: Fixture): Promise<readonly Invariant[]> {
  const path = join(folder, "invariants.ts");
  if (!existsSync(path)) return INVARIANTS;
  const { default: own } = await import(pathToFileURL(path).href) as { default?: readonly Invariant[] };
  if (Array.isArray(own) && own.every((one) => typeof one?.name === "string" && typeof one.broken === "function")) {
    return [...INVARIANTS, ...own];
  }
  throw new TypeError(
    `Cannot use ${path} as it exports no list of invariants: export default [{ name, broken: (observed) => ... }]`,
  );
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
  options: Pick<UnderFaultsOptions, "wire"> = {},
): Promise<string | undefined> {
  const kept = readFaultFile(fixture.faults);
  if (kept.length === 0) return undefined;
  const { name, files } = fixture;
  const tape = await readTape(fixture.tape);
  const invariants = await invariantsOf(fixture);
  for (const { faults } of kept) {
    const { broken: [first] } = await underFaults(agent, tape, faults, { ...options, files, invariants });
    if (!first) continue;
    const schedule = faults.map(faultText).join("', '");
    return `Cannot accept the agent of '${name}' as it does not survive '${schedule}' (${fixture.faults}): ` +
      `${first.invariant}: ${first.seen}`;
  }
  return undefined;
}
